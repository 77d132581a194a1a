"""The command line of `mesh-run`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ..ir.usage_error import UsageError
from .ranks import default_backend
from .remarks import REMARKS_HELP, check_categories

BACKENDS = ("interpreter", "numba", "mpi")
"""What programs can be run with."""

DESCRIPTION = """\
Run a function of an MLIR program on the CPU. A program with a `shard` grid that has been
partitioned runs on all devices of the grid: its inputs and results are the whole tensors."""

EPILOG = """\
inputs:
  --input=2x3xf32=1,2,3,4,5,6   elements, separated by blanks, commas or brackets
  --input=3x5xf32=1             one element stands for all
  --input=2x3xf32               zeros
  --input=f32=2, --input=2      scalars
  --input=@file.npy             one input for every array in the file
  --input=@file.npz             its arrays in0, in1, ... (or arr_0, ..., or in stored order)
  --input=@file.npz:key         one of its arrays
  --input=@file.safetensors:key one of its tensors, which is mapped; also .irpa
  --input=2x3xf32=@file.bin     raw bytes

examples:
  mesh-run mlp.mlir --random-inputs=0
  mesh-run mlp.mlir --pass-pipeline=spmd --random-inputs=0 --check
  mesh-opt mlp.mlir --spmd | mesh-run - --random-inputs=0 --check=mlp.mlir
  mesh-run two_devices.mlir --random-inputs=0 --device=local-task --device=local-task --check
  mpiexec -n 4 mesh-run mlp.mlir --pass-pipeline=spmd --backend=mpi --random-inputs=0 --check"""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `mesh-run` was asked to do."""

    file: str
    function: str | None
    inputs: tuple[str, ...]
    random_inputs: int | None
    random_extent: int
    outputs: tuple[str, ...]
    expected_outputs: tuple[str, ...]
    maximal_elements: int
    pipeline: str
    check: str | None
    """`None` if nothing is to be checked, a file, or "" for the program itself."""
    tolerance: float | None
    backend: str
    grid_shape: tuple[int, ...] | None
    per_device: bool
    devices: tuple[str, ...]
    parameters: tuple[str, ...]
    steps: int | None
    checkpoint: str | None
    every: int
    statistics: bool
    guard: bool
    require_native: bool
    workers: int | None
    trace: str | None
    trace_host: bool
    remarks: tuple[str, ...]
    inputs_per_rank: bool
    measure_machine: bool
    simulate: bool
    machine: str | None
    simulated_trace: str | None
    debug: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (--help lists the options)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mesh-run",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    _add_values(parser)
    _add_execution(parser)
    _add_native(parser)
    return parser


def _add_values(parser: argparse.ArgumentParser) -> None:
    """Add what goes in, what comes out, and what that is compared with."""
    add = parser.add_argument
    add("file", nargs="?", default="-", help="the program; - or nothing: standard input")
    add("-h", "--help", action="store_true", help="show this text")
    add("--function", metavar="NAME", help="the function to run; the only public one by default")
    add("--input", metavar="VALUE", action="append", default=[], help="an input, in order")
    add(
        "--random-inputs",
        metavar="SEED",
        type=int,
        help="random numbers for the inputs that are not given: floats from the normal"
        " distribution, integers from -8 to 7",
    )
    add(
        "--random-extent",
        metavar="N",
        type=int,
        default=4,
        help="the extent of dynamic dimensions of random inputs (default 4)",
    )
    add(
        "--output",
        metavar="@FILE.npy",
        action="append",
        default=[],
        help="what to do with a result, in order: @file.npy, +file.npy (append), @file.npz"
        " (all results), - (print), or nothing",
    )
    add(
        "--expected_output",
        "--expected-output",
        metavar="VALUE",
        action="append",
        default=[],
        help="what a result must be, in the syntax of --input with its files, or (ignored)",
    )
    add(
        "--output_max_element_count",
        "--output-max-element-count",
        metavar="N",
        type=int,
        default=1024,
        help="print at most so many elements of a result (default 1024)",
    )
    add("--pass-pipeline", metavar="PIPELINE", help="passes to run first, as for mesh-opt")
    add("-p", "--passes", metavar="PASSES", help="the same")
    add(
        "--check",
        metavar="FILE",
        help="compare with the reference interpreter on the program in FILE, or without FILE on"
        " the program before the passes; exit with 1 if they disagree",
    )
    add(
        "--tolerance",
        metavar="X",
        type=float,
        help="the absolute and relative difference to allow for floats, in place of the one that"
        " goes with their type",
    )


def _add_execution(parser: argparse.ArgumentParser) -> None:
    """Add how and on what the program runs, and what is reported."""
    add = parser.add_argument
    add(
        "--backend",
        metavar="NAME",
        default=default_backend(),
        help="numba: native code; mpi: native code, one of the ranks of mpiexec -n N mesh-run ...;"
        " interpreter: the reference, in NumPy (default: mpi among several ranks, else numba)",
    )
    add(
        "--device",
        metavar="KIND",
        action="append",
        default=[],
        help="a device at hand (local-task, local-sync, ...), once for each, in order, for the"
        " devices that the program names; then data-tile runs first unless passes are given."
        " list: show the program's devices and stop",
    )
    add(
        "--parameters",
        metavar="[SCOPE=]FILE",
        action="append",
        default=[],
        help="the parameters of a scope of the program: an .irpa, .safetensors or .npz file",
    )
    add(
        "--grid-shape",
        metavar="2x4",
        help="the shape of the grid, where the program leaves extents open",
    )
    add(
        "--per-device",
        action="store_true",
        help="print the local results of every device in place of the whole tensors",
    )
    add(
        "--measure-machine",
        action="store_true",
        help="print a description of this machine, as --machine reads it, and run no program",
    )
    add(
        "--simulate",
        action="store_true",
        help="run nothing: say how long the function would take on --machine, on all devices",
    )
    add(
        "--machine",
        metavar="NAME",
        help="what is simulated: gpu-host, tpu-torus, cpu-cluster, or a file m.toml",
    )
    add(
        "--simulated-trace",
        metavar="FILE.json",
        help="write what is simulated as a trace for ui.perfetto.dev",
    )
    add("--remarks", metavar="A,B", action="append", default=[], help=REMARKS_HELP)
    add("--debug", action="store_true", help="show Python's traceback with an error")


def _add_native(parser: argparse.ArgumentParser) -> None:
    """Add what concerns native code, and the ranks of MPI."""
    add = parser.add_argument
    add(
        "--statistics",
        action="store_true",
        help="print what each device held and did (with --backend=numba or mpi)",
    )
    add(
        "--steps",
        metavar="N",
        type=int,
        default=None,
        help="call the function N times: the results take the places of the first arguments, which"
        " have their types, at the next call",
    )
    add(
        "--checkpoint",
        metavar="DIR",
        default=None,
        help="write the state to this folder, and go on from the last one there (with --steps)",
    )
    add(
        "--every",
        metavar="N",
        type=int,
        default=1,
        help="write a checkpoint every N steps (default 1), and after the last one",
    )
    add(
        "--guard",
        action="store_true",
        help="run slowly, each buffer by itself between guard bytes, so that a kernel that writes"
        " outside of its buffers is an error (with --backend=numba or mpi)",
    )
    add(
        "--require-native",
        action="store_true",
        help="fail if the interpreter has to carry out an operation (with --backend=numba or mpi)",
    )
    add(
        "--trace",
        metavar="FILE.json",
        default=None,
        help="write when each device ran kernels, met others and waited, for Perfetto or Chrome"
        " (with --backend=numba)",
    )
    add(
        "--trace-host",
        action="store_true",
        help="print each instruction of host code that a device has carried out, with what it has"
        " written, on standard error (with --backend=numba)",
    )
    add(
        "--workers",
        metavar="N",
        type=int,
        default=None,
        help="threads that share the work of each device (with --backend=numba or mpi; default: the"
        " cores at hand, shared out over the devices)",
    )
    add(
        "--inputs-per-rank",
        action="store_true",
        help="every rank takes its part of its own inputs, whole tensors of the same shapes; else"
        " it is an error if they are not the same on all ranks (with --backend=mpi)",
    )


def help_text() -> str:
    """What `--help` prints."""
    return _parser().format_help()


def wants_help(argv: Sequence[str]) -> bool:
    """Whether the arguments ask for help and nothing else matters."""
    return "--help" in argv or "-h" in argv


def parse_arguments(argv: Sequence[str]) -> RunOptions:
    """The options in the arguments behind the tool's name. Raises UsageError."""
    # `--check` takes a value only behind `=`, so that a file name may follow it.
    known = _parser().parse_args(["--check=" if word == "--check" else word for word in argv])
    if known.pass_pipeline is not None and known.passes is not None:
        raise UsageError("passes are asked for in more than one way: use one pipeline")
    remarks = tuple(category for listed in known.remarks for category in listed.split(","))
    check_categories(remarks)
    for name in ("every", "steps"):
        number = getattr(known, name)
        if number is not None and number < 1:
            raise UsageError(f"--{name} must be at least 1, and is {number}")
    for name in ("output_max_element_count", "random_extent", "random_inputs"):
        if (getattr(known, name) or 0) < 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative")
    return RunOptions(
        file=known.file,
        function=known.function.removeprefix("@") if known.function else None,
        inputs=tuple(known.input),
        random_inputs=known.random_inputs,
        random_extent=known.random_extent,
        outputs=tuple(known.output),
        expected_outputs=tuple(known.expected_output),
        maximal_elements=known.output_max_element_count,
        pipeline=known.pass_pipeline or known.passes or "",
        check=known.check,
        tolerance=known.tolerance,
        backend=known.backend,
        grid_shape=_grid_shape(known.grid_shape),
        per_device=known.per_device,
        devices=tuple(known.device),
        parameters=tuple(known.parameters),
        steps=known.steps,
        checkpoint=known.checkpoint,
        every=known.every,
        statistics=known.statistics,
        guard=known.guard,
        require_native=known.require_native,
        workers=known.workers,
        trace=known.trace,
        trace_host=known.trace_host,
        remarks=remarks,
        inputs_per_rank=known.inputs_per_rank,
        measure_machine=known.measure_machine,
        simulate=known.simulate,
        machine=known.machine,
        simulated_trace=known.simulated_trace,
        debug=known.debug,
    )


def _grid_shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    extents = text.split("x")
    if not all(extent.isdecimal() and int(extent) for extent in extents):
        raise UsageError(f"--grid-shape={text} is no shape such as 2x4")
    return tuple(map(int, extents))

"""The command line of `mesh-run`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...ir.usage_error import UsageError
from ...programs.backends import NATIVE, backend_name
from ..command_line import (
    Information,
    flag,
    integer,
    listed,
    optional,
    parse_arguments,
    positional,
    real,
    repeated,
    text,
)
from ..remarks import REMARKS_HELP, check_categories
from ..shared_options import Pipelines, Printing, Watching
from .ranks import MPI, default_backend

BACKENDS = ("interpreter", NATIVE, MPI)
"""The available backends."""

RANK = "{rank}"
"""The placeholder of an MPI rank's number in file names."""

MAX_WORKERS = 4096
"""The largest number of threads per device."""

INTRODUCTION = """\
mesh-run: runs a function of an MLIR program on the CPU.

usage: mesh-run [options] [file]        (standard input if no file or '-')

A program with a `shard` grid that has been partitioned runs on all devices of the grid: its
inputs and results are the whole tensors.

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
  --input=@file.{rank}.npy      of each MPI rank its part; --output=@file.{rank}.npy writes it

examples:
  mesh-run mlp.mlir --random-inputs=0
  mesh-run mlp.mlir --pass-pipeline=spmd --random-inputs=0 --check
  mesh-opt mlp.mlir --spmd | mesh-run - --random-inputs=0 --check=mlp.mlir
  mesh-run two_devices.mlir --random-inputs=0 --device=local-task --device=local-task --check
  mesh-run mlp.mlir --pass-pipeline=spmd --ranks=4 --random-inputs=0 --check
  mpiexec -n 4 mesh-run mlp.mlir --pass-pipeline=spmd --backend=mpi --random-inputs=0 --check"""


@dataclass(frozen=True, kw_only=True)
class Values:
    """Inputs, outputs and expected results."""

    function: str | None = text(
        "the function to run (default: the only public one, or @main)", shown="NAME"
    )
    input: tuple[str, ...] = repeated("an input, in order", shown="VALUE")
    random_inputs: int | None = integer(
        "random values for inputs that are not given: normally distributed floats, integers from"
        " -8 to 7",
        shown="SEED",
    )
    random_extent: int = integer(
        "the extent of dynamic dimensions of random inputs (default 4)", default=4
    )
    output: tuple[str, ...] = repeated(
        "where to write a result, in order: @file.npy, +file.npy (append), @file.npz (all"
        " results), - (print), or nothing",
        shown="@FILE.npy",
    )
    expected_output: tuple[str, ...] = repeated(
        "the expected value of a result, in the syntax of --input, or (ignored)",
        "expected_output",
        shown="VALUE",
    )
    output_max_element_count: int = integer(
        "the maximum number of elements to print per result (default 1024)",
        "output_max_element_count",
        default=1024,
    )
    check: str | None = optional(
        "compare with the reference interpreter on the program in FILE, or without FILE on the"
        " program before the passes; exit with 1 if they disagree",
        "",
        "FILE",
    )
    tolerance: float | None = real(
        "the allowed absolute and relative difference of floats (default: by their type)"
    )


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Backend, devices and steps."""

    backend: str | None = text(
        "native: native code; mpi: native code, one of the ranks of mpiexec -n N mesh-run ...;"
        " interpreter: the reference, in NumPy (default: mpi among several ranks, else native)",
        shown="NAME",
    )
    device: tuple[str, ...] = repeated(
        "the kind of device (local-task, local-sync, ...) for each device that the program names,"
        " in order; data-tile runs first unless passes are given. list: print the program's devices"
        " and run nothing",
        shown="KIND",
    )
    parameters: tuple[str, ...] = repeated(
        "a file with the parameters of a scope: .irpa, .safetensors or .npz",
        shown="[SCOPE=]FILE",
    )
    grid_shape: str | None = text(
        "the shape of the grid, if the program has dynamic extents", shown="2x4"
    )
    steps: int | None = integer(
        "call the function N times; the results become the first arguments of the next call"
    )
    checkpoint: str | None = text(
        "write checkpoints to this folder, and resume from the last one in it (with --steps)",
        shown="DIR",
    )
    every: int = integer(
        "write a checkpoint every N steps (default 1), and after the last one", default=1
    )
    remarks: tuple[str, ...] = listed(REMARKS_HELP)
    per_device: bool = flag("print the local results of each device instead of the whole tensors")


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Simulation."""

    measure_machine: bool = flag(
        "measure this machine and print its description for --machine; run no program"
    )
    simulate: bool = flag(
        "predict the time of the function on all devices of --machine; run nothing"
    )
    machine: str | None = text(
        "the simulated machine: gpu-host, tpu-torus, cpu-cluster, or a file m.toml", shown="NAME"
    )
    simulated_trace: str | None = text(
        "write a trace of the simulation for ui.perfetto.dev", shown="FILE.json"
    )


@dataclass(frozen=True, kw_only=True)
class Native:
    """Native code (--backend=native or mpi)."""

    statistics: bool = flag(
        "print the memory use and the work of each device (with --backend=native or mpi)"
    )
    guard: bool = flag(
        "put guard bytes around each buffer, and fail if a kernel writes outside of its buffers"
        " (slow)"
    )
    require_native: bool = flag("fail if an operation has no native code")
    deterministic: bool = flag(
        "accepted for compatibility; results are always bitwise equal, on threads and on ranks, for"
        " any number of workers"
    )
    trace: str | None = text(
        "write a trace of the kernels, the exchanges and the waiting of each device, for Perfetto"
        " or chrome://tracing (with --backend=native or mpi)",
        shown="FILE.json",
    )
    report: str | None = text(
        "write an HTML page on the timeline of each device and on all stages, as mesh-opt --report"
        " does (with --backend=native or mpi)",
        shown="FILE.html",
    )
    trace_host: bool = flag(
        "print each executed instruction of host code with the values that it wrote, on standard"
        " error (with --backend=native)"
    )
    workers: int | None = integer(
        "the number of threads per device (default: the available cores divided by the devices)"
    )
    ranks: int | None = integer(
        "start N MPI ranks on this machine, one for each device, and run on them", shown="N"
    )
    devices_per_rank: int = integer(
        "the number of devices per rank, one thread for each (default 1; with --backend=mpi)",
        default=1,
        shown="K",
    )
    timeout: float | None = real(
        "the seconds that a rank waits for others that do not answer (default 300; with"
        " --backend=mpi)"
    )
    inputs_per_rank: bool = flag(
        "each rank uses its part of its own inputs, whole tensors of equal shapes; otherwise,"
        " inputs that differ between ranks are an error (with --backend=mpi)"
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(Printing, Watching, Pipelines, Simulation, Native, Execution, Values, Information):
    """The parsed command line."""

    file: str = positional("-")

    @property
    def pipeline(self) -> str:
        """Return the pipeline to run first; may be empty."""
        return next(iter(self.written_pipelines), "")

    @property
    def extents(self) -> tuple[int, ...] | None:
        """Return the extents of `--grid-shape`. Raises UsageError for invalid text."""
        if self.grid_shape is None:
            return None
        words = self.grid_shape.split("x")
        if not all(word.isdecimal() and len(word) < 20 and int(word) for word in words):
            raise UsageError(f"--grid-shape={self.grid_shape} is not a shape such as 2x4")
        return tuple(map(int, words))


def parse_command_line(argv: Sequence[str]) -> RunOptions:
    """Parse the arguments after the tool's name. Raises UsageError."""
    options, _ = parse_arguments(RunOptions, argv, {})
    if len(options.written_pipelines) > 1:
        raise UsageError("passes are given in more than one way: use one pipeline")
    check_categories(options.remarks)
    for name in ("devices_per_rank", "every", "ranks", "steps", "workers"):
        number = getattr(options, name)
        if number is not None and number < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, found {number}")
    if options.workers is not None and options.workers > MAX_WORKERS:
        raise UsageError(f"--workers must be at most {MAX_WORKERS}, found {options.workers}")
    _refuse_idle_options(options)
    for name in ("output_max_element_count", "random_extent", "random_inputs"):
        if (getattr(options, name) or 0) < 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative")
    if options.timeout is not None and not options.timeout > 0:
        raise UsageError(f"--timeout must be more than 0 seconds, and is {options.timeout}")
    if options.tolerance is not None and not options.tolerance >= 0:
        raise UsageError(f"--tolerance must be at least 0, and is {options.tolerance}")
    _ = options.extents  # raises UsageError for a wrong shape
    default = MPI if options.ranks is not None else default_backend()
    return dataclasses.replace(
        options,
        function=options.function.removeprefix("@") if options.function else None,
        backend=backend_name(options.backend or default),
    )


_OF_CALLS = (
    "check",
    "checkpoint",
    "expected_output",
    "guard",
    "output",
    "report",
    "require_native",
    "statistics",
    "steps",
    "trace",
    "trace_host",
)
"""Options that concern calls of a function on its backend, and their results."""


def _refuse_idle_options(options: RunOptions) -> None:
    """Raise UsageError for an option that another option makes meaningless."""
    if options.simulate:
        why, idle = "--simulate runs nothing", (*_OF_CALLS, "per_device")
    elif options.per_device:
        why, idle = "--per-device runs once in the reference interpreter, and prints", _OF_CALLS
    else:
        return
    for given in _given(options, idle):
        raise UsageError(f"{why}: {given} cannot be used with it")


def _given(options: RunOptions, names: Iterable[str]) -> Iterator[str]:
    """Yield those of some options, with dashes, that are not at their defaults."""
    for name in names:
        if getattr(options, name) != getattr(RunOptions, name):
            yield f"--{name.replace('_', '-')}"


_NEEDS: tuple[tuple[tuple[str, ...], Callable[[RunOptions], bool], str], ...] = (
    (
        ("statistics", "guard", "report", "require_native", "trace", "workers"),
        lambda options: options.backend in (NATIVE, MPI),
        "--backend=native or --backend=mpi",
    ),
    (("trace_host",), lambda options: options.backend == NATIVE, "--backend=native"),
    (("ranks",), lambda options: options.backend == MPI, "--backend=mpi"),
    (
        ("devices_per_rank", "inputs_per_rank", "timeout"),
        lambda options: options.backend == MPI,
        "--backend=mpi or --ranks",
    ),
    (("checkpoint", "every"), lambda options: options.steps is not None, "--steps"),
    (("every",), lambda options: options.checkpoint is not None, "--checkpoint"),
    (
        ("random_extent",),
        lambda options: options.random_inputs is not None,
        "--random-inputs",
    ),
    (
        ("tolerance",),
        lambda options: options.check is not None or bool(options.expected_output),
        "--check or --expected_output",
    ),
    (("simulate",), lambda options: options.machine is not None, "a --machine, as gpu-host"),
    (("machine", "simulated_trace"), lambda options: options.simulate, "--simulate"),
)
"""Options that have no effect alone: when they have one, and what to add then."""


def check_options(options: RunOptions) -> None:
    """Raise UsageError for options that conflict or lack another option."""
    if options.backend not in BACKENDS:
        raise UsageError(
            f"there is no backend '{options.backend}'; there are {', '.join(BACKENDS)}"
        )
    for names, is_met, what in _NEEDS:
        if not is_met(options) and (given := next(_given(options, names), None)):
            raise UsageError(f"{given} needs {what}")
    if "backend" in options.remarks and options.backend == "interpreter":
        raise UsageError("--remarks=backend needs --backend=native or --backend=mpi")
    if options.ranks is not None and options.file == "-":
        raise UsageError("ranks have no standard input: name the file of the program")
    for value in (*options.input, *options.output):
        if RANK in value and options.backend != MPI:
            raise UsageError(f"{value} names the files of ranks, which needs --backend=mpi")
        if RANK in value and not value.startswith(("@", "+")):
            raise UsageError(f"{value} names a rank, but no file: write @file.{RANK}.npy")
    if options.steps is not None and options.check is not None:
        raise UsageError("--check compares one call with the reference, not --steps")

"""Both communicators pass one conformance suite."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from breadth import NIGHTLY
from conformance import check
from mesh_opt.api import compile
from mesh_opt.runtime.threads.thread_group import ThreadGroup
from mpi_ranks import launch, mesh_run, run_ranks

HELPERS = Path(__file__).parents[2] / "helpers"


@pytest.mark.parametrize("count", [1, 3, *([2, 4, 6, 8] if NIGHTLY else [])])
def test_threads(count: int) -> None:
    group = ThreadGroup(count)
    try:
        group.run(check)
    finally:
        group.close()


RANKS = [(2, 2)]
MORE_RANKS = [(3, 1), (2, 1), (4, 1), (6, 1), (8, 1), (1, 3), (3, 2), (2, 3), (4, 2), (2, 4)]
"""How many, and how many devices each has."""


@pytest.mark.parametrize(("count", "devices"), [*RANKS, *(MORE_RANKS if NIGHTLY else [])])
def test_mpi(count: int, devices: int) -> None:
    script = str(HELPERS / "mpi_conformance.py")
    done = run_ranks(count, script, str(devices), timeout=1200)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "conforms" in done.stdout


PROGRAM = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %0 = shard.shard %a to %s : tensor<4x3xf32>
  %1 = math.tanh %0 : tensor<4x3xf32>
  %2 = shard.shard %1 to %t : tensor<4x3xf32>
  %3 = math.absf %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}
"""


def test_mesh_run_on_ranks(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    saved = tmp_path / "result.npy"
    options = ["-p", "spmd", "--random-inputs=3", "--check", f"--output=+{saved}"]
    done = launch(*mesh_run(2, str(path), *options))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("EXEC @main") == 1
    assert "agrees with the reference" in done.stdout
    # Appended by one rank only.
    assert saved.stat().st_size == 128 + 4 * 3 * 4


def test_ranks_on_different_targets(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    example = Path(__file__).parents[3] / "docs" / "examples" / "two_targets.mlir"
    path.write_text(example.read_text())
    devices = ["--device=local-task", "--device=local-task", "--devices-per-rank=2"]
    options = ["-p", "compile", "--backend=mpi", "--random-inputs=3", "--check", *devices]
    done = run_ranks(2, "-m", "mesh_opt.tools.mesh_run", str(path), *options)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "CHECK @main on 4 devices agrees with the reference" in done.stdout


FAILS_ON_ONE = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
  %p = shard.process_linear_index on @g : index
  %x = tensor.extract %a[%p] : tensor<1xf32>
  %s = tensor.splat %x : tensor<1xf32>
  %r = shard.all_reduce %s on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
  return %r : tensor<1xf32>
}
"""


def failures(tmp_path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """What is started, and the one message that must come of it."""
    path, failing = tmp_path / "program.mlir", tmp_path / "failing.mlir"
    path.write_text(PROGRAM)
    failing.write_text(FAILS_ON_ONE)
    saved = tmp_path / "failing.meshprog"
    run = (str(path), "-p", "spmd", "--backend=mpi")
    inputs = [(*run, f"--input=4x3xf32={number}") for number in (1, 2)]
    return {
        "an operation of one rank": (
            mesh_run(2, str(failing), "--backend=mpi", "--input=1xf32=1"),
            "failing.mlir:5:8: error: 'tensor.extract' op",
        ),
        "an operation of one rank in a saved program": (
            mesh_run(2, str(saved), "--input=1xf32=1"),
            "failing.mlir:5:8: error: 'tensor.extract' op",
        ),
        "how many ranks a saved program has": (
            mesh_run(3, str(saved), "--input=1xf32=1"),
            "mesh-run: grid @g has 2 devices, but 3 ranks run: start it with --ranks=2 or mpiexec"
            " -n 2",
        ),
        "an option": (mesh_run(2, *run, "--wrong"), "mesh-run: there is no option '--wrong'"),
        "an option of one rank": (
            (*mesh_run(1, *inputs[0]), ":", *mesh_run(1, *inputs[1], "--wrong")),
            "mesh-run: there is no option '--wrong'",
        ),
        "a missing file": (
            mesh_run(2, str(tmp_path / "none.mlir"), "--backend=mpi"),
            "none.mlir': No such file or directory",
        ),
        "a shape": (
            mesh_run(2, *run, "--input=5x3xf32=1"),
            "mesh-run: input 0 (5x3xf32=1) has shape 5x3, expected 4x3xf32",
        ),
        "a refused program": (
            mesh_run(2, str(path), "-p", "no-such-pass", "--backend=mpi"),
            "no-such-pass",
        ),
        "how many ranks": (
            mesh_run(3, *run, "--input=4x3xf32=1"),
            "mesh-run: grid @g has 2 devices, but 3 ranks run: start it with --ranks=2 or mpiexec"
            " -n 2",
        ),
        "how many ranks of two devices": (
            mesh_run(2, *run, "--input=4x3xf32=1", "--devices-per-rank=2"),
            "mesh-run: grid @g has 2 devices, but 2 ranks of 2 devices run: start it with"
            " --ranks=1 or mpiexec -n 1\n",
        ),
        "different numbers of devices": (
            (
                *mesh_run(1, *inputs[0], "--devices-per-rank=2"),
                ":",
                *mesh_run(1, *inputs[0], "--devices-per-rank=1"),
            ),
            "mesh-run: rank 1 has another choice of --devices-per-rank than rank 0",
        ),
        "an operation of one device of a rank": (
            mesh_run(1, str(failing), "--backend=mpi", "--input=1xf32=1", "--devices-per-rank=2"),
            "failing.mlir:5:8: error: 'tensor.extract' op",
        ),
        "different inputs": (
            (*mesh_run(1, *inputs[0]), ":", *mesh_run(1, *inputs[1])),
            "mesh-run: input 0 differs between rank 1 and rank 0",
        ),
        "different programs": (
            (
                *mesh_run(1, str(failing), *run[3:], "--input=1xf32=1"),
                ":",
                *mesh_run(1, *inputs[0]),
            ),
            "mesh-run: rank 1 has another program than rank 0",
        ),
        "different numbers of steps": (
            (*mesh_run(1, *inputs[0], "--steps=2"), ":", *mesh_run(1, *inputs[0], "--steps=3")),
            "mesh-run: rank 1 runs 3 steps, rank 0 runs 2: give all ranks the same --steps",
        ),
        "what is read from standard input": (
            mesh_run(2, "-", "--backend=mpi"),
            "mesh-run: only one rank has standard input: name the file of the program",
        ),
        "ranks that start ranks": (
            mesh_run(2, *run[:3], "--input=4x3xf32=1", "--ranks=2"),
            "mesh-run: --ranks=2 starts ranks, but this process is one already",
        ),
        "a check of inputs per rank": (
            mesh_run(2, *run, "--inputs-per-rank", "--check"),
            "mesh-run: --check runs on one set of inputs, not with --inputs-per-rank",
        ),
    }


SAMPLE = ("an operation of one rank", "different numbers of steps")
"""The others take a second each, and run with MESH_OPT_NIGHTLY=1. In every run an input of one rank
(`test_start_ranks.py`) stands for what one rank finds before it meets the others."""


@pytest.mark.parametrize("what", list(failures(Path("/tmp"))) if NIGHTLY else SAMPLE)
def test_a_failure_ends_all_ranks_with_one_message(what: str, tmp_path: Path) -> None:
    words, message = failures(tmp_path)[what]
    if "saved" in what:
        path = tmp_path / "failing.mlir"
        compile(path).save(path.with_suffix(".meshprog"))
    done = launch(*words)
    assert done.returncode != 0
    assert done.stderr.count(message) == 1, done.stderr
    assert done.stderr.count("error:") + done.stderr.count("mesh-run:") == 1, done.stderr
    assert "result" not in done.stdout


def test_inputs_per_rank(tmp_path: Path) -> None:
    """Each rank takes its rows of its own array."""
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.replace("math.tanh", "math.absf"))
    ranks = [
        mesh_run(1, str(path), "-p", "spmd", "--inputs-per-rank", f"--input=4x3xf32={number}")
        for number in (1, 2)
    ]
    done = launch(*ranks[0], ":", *ranks[1])
    assert done.returncode == 0, done.stderr
    assert "4x3xf32=[1 1 1][1 1 1][2 2 2][2 2 2]" in done.stdout


OPEN_SIZES = """
import sys
import numpy as np
from mesh_opt.api import compile
from mesh_opt.runtime.host.exchanges import Exchange

calls = []
perform = Exchange.perform

def counted(*arguments):
    calls.append(0)
    return perform(*arguments)

Exchange.perform = counted
program = compile({text!r}, backend="mpi")
program.devices_per_rank = {devices}
for size, times in ((5, 1), (5, 0), (7, 1), (5, 1)):
    calls.clear()
    x = np.arange(size, dtype=np.float64)
    assert np.array_equal(program.main(x, 40), x)
    assert len(calls) == times * {devices}, (size, calls)
print("done")
"""

SAME_SIZES = """
shard.grid @g(shape = {count})
func.func @main(%a: tensor<?xf64>, %n: index) -> tensor<?xf64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<?xf64>) {{
    %g = shard.all_reduce %x on @g grid_axes = [0] reduction = max
      : tensor<?xf64> -> tensor<?xf64>
    scf.yield %g : tensor<?xf64>
  }}
  return %r : tensor<?xf64>
}}
"""


OTHER_SIZES = """
shard.grid @g(shape = {count})
func.func @main(%a: tensor<?xf64>, %n: index) -> tensor<?xf64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = shard.process_linear_index on @g : index
  %size = tensor.dim %a, %c0 : tensor<?xf64>
  %is_first = arith.cmpi eq, %p, %c0 : index
  %less = arith.subi %size, %c2 : index
  %own = arith.select %is_first, %size, %less : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<?xf64>) {{
    %s = tensor.extract_slice %x[0] [%own] [1] : tensor<?xf64> to tensor<?xf64>
    %g = shard.all_gather %s on @g grid_axes = [0] gather_axis = 0
      : tensor<?xf64> -> tensor<?xf64>
    %f = tensor.extract_slice %g[0] [%size] [1] : tensor<?xf64> to tensor<?xf64>
    scf.yield %f : tensor<?xf64>
  }}
  return %r : tensor<?xf64>
}}
"""


NEW_SIZES = """
shard.grid @g(shape = {count})
func.func @main(%a: tensor<?xf64>, %n: index) -> tensor<?xf64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %p = shard.process_linear_index on @g : index
  %size = tensor.dim %a, %c0 : tensor<?xf64>
  %is_last = arith.cmpi eq, %p, %c1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<?xf64>) {{
    %m = arith.remui %i, %c3 : index
    %is_odd = arith.cmpi eq, %m, %c1 : index
    %both = arith.andi %is_last, %is_odd : i1
    %cut = arith.select %both, %c1, %c0 : index
    %own = arith.subi %size, %cut : index
    %s = tensor.extract_slice %x[0] [%own] [1] : tensor<?xf64> to tensor<?xf64>
    %g = shard.all_gather %s on @g grid_axes = [0] gather_axis = 0
      : tensor<?xf64> -> tensor<?xf64>
    %h = shard.all_to_all %s on @g grid_axes = [0] split_axis = 0 concat_axis = 0
      : tensor<?xf64> -> tensor<?xf64>
    %d = tensor.dim %g, %c0 : tensor<?xf64>
    %at = arith.subi %d, %size : index
    %f = tensor.extract_slice %g[%at] [%size] [1] : tensor<?xf64> to tensor<?xf64>
    scf.yield %f : tensor<?xf64>
  }}
  return %r : tensor<?xf64>
}}
"""
"""One device has another size at every third turn."""

AS_ON_THREADS = """
import numpy as np
from mesh_opt.api import compile

program = compile({text!r}, backend="mpi")
program.devices_per_rank = {devices}
threads = compile({text!r}, backend="native")
for size in (8, 11, 8):
    x = np.arange(size, dtype=np.float64)
    assert np.array_equal(program.main(x, 10), threads.main(x, 10)), size
print("done")
"""


@pytest.mark.skipif(not NIGHTLY, reason="takes seconds")
@pytest.mark.parametrize("devices", [1, 2])
def test_one_device_has_a_new_size(devices: int, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    text = NEW_SIZES.format(count=2 * devices)
    path.write_text(AS_ON_THREADS.format(text=text, devices=devices))
    done = run_ranks(2, str(path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("done") == 2


@pytest.mark.parametrize("devices", [1, 2] if NIGHTLY else [2])
@pytest.mark.parametrize("program", [OTHER_SIZES, *([SAME_SIZES] if NIGHTLY else [])])
def test_open_sizes_need_python_once(program: str, devices: int, tmp_path: Path) -> None:
    """Native code goes on by itself where no device has other sizes than the last time."""
    path = tmp_path / "script.py"
    text = program.format(count=2 * devices)
    path.write_text(OPEN_SIZES.format(text=text, devices=devices))
    done = run_ranks(2, str(path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("done") == 2


@pytest.mark.skipif(not NIGHTLY, reason="takes seconds")
@pytest.mark.parametrize("option", ["--statistics", "--trace={}"])
@pytest.mark.parametrize("rank", [0, 1])
def test_options_of_one_rank_alone(option: str, rank: int, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    own = [*mesh_run(1, str(path), "-p", "spmd", "--random-inputs=0")]
    ranks = [own, own]
    ranks[rank] = [*own, option.format(tmp_path / "t.json")]
    done = launch(*ranks[0], ":", *ranks[1])
    assert done.returncode == 1
    assert done.stderr.startswith("mesh-run: not all ranks request "), done.stderr
    assert done.stderr.count("\n") == 1


LARGE = """
import numpy as np
from mesh_opt.runtime.messages import step_interpreter
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.collectives import Collective
from mesh_opt.runtime.messages.context import HEADER_BYTES
from mesh_opt.runtime.messages.collective_steps import CollectiveStepBuilder
from mesh_opt.runtime.mpi.communicator import MpiCommunicator

ranks = MpiCommunicator()
world = ranks.world
for axis, sizes in ((0, (700, 800, 900)), (1, (1000, 1000, 1000))):
    shapes = tuple((each, 500)[:: 1 - 2 * axis] for each in sizes)
    whole = (sum(sizes), 500)[:: 1 - 2 * axis]
    wanted = Collective(
        "all_gather", world, shapes[world.index], F32, whole, F32, axis, shapes=shapes
    )
    all_of_them = [np.full(shape, number, np.float32) for number, shape in enumerate(shapes)]
    found = ranks.perform(wanted, all_of_them[world.index])
    assert np.array_equal(found, np.concatenate(all_of_them, axis))
    words = CollectiveStepBuilder(wanted, (0, 64), HEADER_BYTES).write(0).words
    size = 4 * int(np.prod(shapes[world.index]))
    steps = zip(words, words[1:], words[3:])
    direct = (step_interpreter.SEND, step_interpreter.RESULT_DATA, size)
    assert (direct in steps) == (axis == 0), axis
print("done")
"""


def test_pieces_of_a_large_result_are_read_there(tmp_path: Path) -> None:
    """They lie in large pages there, if they lie in one piece."""
    path = tmp_path / "script.py"
    path.write_text(LARGE)
    done = run_ranks(3, str(path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("done") == 3


TOOL = """
import sys
from mesh_opt.tools.run.ranks import run_on_ranks

def main(arguments, stdin, stdout, stderr):
    from mesh_opt.runtime.mpi.rank_supervisor import supervisor
    if supervisor().rank == 1:
        {end}
    return 0

sys.exit(run_on_ranks(main))
"""


@pytest.mark.skipif(not NIGHTLY, reason="takes seconds")
@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("raise SystemExit('enough')", "enough\n"),
        ("raise SystemExit(3)", ""),
        ("raise KeyError('lost')", "KeyError: 'lost'\n"),
        ("return 7", ""),
    ],
)
def test_a_tool_whose_rank_ends_early(end: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tool.py"
    path.write_text(TOOL.format(end=end))
    done = launch("-n", "3", sys.executable, str(path), timeout=60)
    assert done.returncode != 0
    assert done.stderr.endswith(message)
    assert done.stderr.count("Traceback") == ("KeyError" in message)


LATE = """
import sys, time
from mesh_opt.runtime.mpi import failure_coordinator, rank_supervisor
from mesh_opt.tools.run.ranks import run_on_ranks

def main(arguments, stdin, stdout, stderr):
    if rank_supervisor.supervisor().rank == 1:
        raise SystemExit("enough")
    rank_supervisor.GRACE = failure_coordinator.GRACE = 10
    time.sleep(20)
    return 0

sys.exit(run_on_ranks(main))
"""


@pytest.mark.skipif(not NIGHTLY, reason="takes seconds")
def test_error_of_rank_0_is_reported_once(tmp_path: Path) -> None:
    """Rank 0 has no time to end the others, who end by themselves."""
    path = tmp_path / "tool.py"
    path.write_text(LATE)
    done = launch("-n", "3", sys.executable, str(path), timeout=60)
    assert done.returncode != 0
    assert done.stderr == "enough\n"


PROCESS = """
import sys, time
import numpy as np
from mesh_opt.api import compile

program = compile({text!r}, "spmd", backend="mpi")
x = np.ones((4, 3), np.float32)
for _ in range(3):
    program["main"](x)
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    {end}
program["main"](x)
"""


@pytest.mark.skipif(not NIGHTLY, reason="takes seconds")
@pytest.mark.parametrize("module", [("-m", "mpi4py"), ()], ids=["with mpi4py", "plain"])
@pytest.mark.parametrize("end", ["raise ValueError('no more')", "sys.exit(4)", "sys.exit(0)"])
def test_a_script_whose_rank_ends_early(end: str, module: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(PROCESS.format(text=PROGRAM, end=end))
    done = launch("-n", "2", sys.executable, *module, str(path), timeout=60)
    assert done.returncode != 0
    assert "ValueError: no more" in done.stderr or "device 1 has ended" in done.stderr

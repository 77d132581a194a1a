"""mesh-run as a command: inputs, results, checks, and one clear line for whatever is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tool_runs
from mesh_opt.interpreter import calls

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "mlp_dp_tp.mlir"
Result = tuple[int, str, str]
Run = Callable[..., Result]

PROGRAM = """
func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @pair(%x: tensor<2xi32>, %y: f32) -> (tensor<2xi32>, f32) {
  return %x, %y : tensor<2xi32>, f32
}
func.func @half(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  return %x : tensor<2xbf16>
}
func.func private @hidden() { return }
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run(*arguments)`: exit code, output and errors for PROGRAM in a file."""
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)

    def run_tool(*arguments: str, file: Path | str = path, stdin: str = "") -> Result:
        return tool_runs.mesh_run(str(file), *arguments, text=stdin)

    return run_tool


def _partitioned() -> str:
    return tool_runs.printed(str(EXAMPLE), "--spmd")


def test_a_program_in_a_pipe_is_read_once() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "wb") as file:
        file.write(b"func.func @main(%x: f32) -> f32 { return %x : f32 }")
        file.close()
        found = tool_runs.mesh_run(f"/dev/fd/{reader}", "--input=2")
    assert found == (0, "EXEC @main\nresult[0]: f32=2\n", "")


def test_results_are_written_as_iree_writes_them(run: Run) -> None:
    assert run("--function=double", "--input=3xf32=1,2,3.5") == (
        0,
        "EXEC @double\nresult[0]: hal.buffer_view\n3xf32=2 4 7\n",
        "",
    )
    assert run("--function=@pair", "--input=2xi32=7", "--input=f32=2.5")[1] == (
        "EXEC @pair\nresult[0]: hal.buffer_view\n2xi32=7 7\nresult[1]: f32=2.5\n"
    )
    assert run("--function=double", "--input=9xf32=1", "--output_max_element_count=2")[1].endswith(
        "9xf32=2 2...\n"
    )


def test_programs_on_standard_input(run: Run) -> None:
    text = "func.func @f(%x: i32) -> i32 { return %x : i32 }"
    assert run("--input=4", file="-", stdin=text) == (0, "EXEC @f\nresult[0]: i32=4\n", "")


def test_files_of_numpy(run: Run, tmp_path: Path) -> None:
    both, archive = tmp_path / "both.npy", tmp_path / "all.npz"
    with both.open("wb") as file:
        np.save(file, np.int32([1, 2]))
        np.save(file, np.float32(4))
    np.savez(archive, in1=np.float32(5), in0=np.int32([3, 4]), out0=np.zeros(1))
    assert "2xi32=1 2\nresult[1]: f32=4\n" in run("--function=pair", f"--input=@{both}")[1]
    assert "2xi32=3 4\nresult[1]: f32=5\n" in run("--function=pair", f"--input=@{archive}")[1]
    keyed = run("--function=pair", f"--input=@{archive}:in0", "--input=1")
    assert "2xi32=3 4\nresult[1]: f32=1\n" in keyed[1]
    raw = tmp_path / "raw.bin"
    raw.write_bytes(np.int32([8, 9]).tobytes())
    assert "2xi32=8 9" in run("--function=pair", f"--input=2xi32=@{raw}", "--input=1")[1]


def test_results_go_to_files(run: Run, tmp_path: Path) -> None:
    first, archive = tmp_path / "first.npy", tmp_path / "all.npz"
    inputs = ("--function=pair", "--input=2xi32=7 8", "--input=2.5")
    code, out, _ = run(*inputs, f"--output=@{first}", f"--output=+{first}")
    assert (code, out) == (0, "EXEC @pair\n")
    with first.open("rb") as file:
        assert np.load(file).tolist() == [7, 8]
        assert np.load(file) == 2.5
    assert run(*inputs, "--output=", "--output=-")[1] == "EXEC @pair\nf32=2.5\n"
    assert run(*inputs, f"--output=@{archive}")[0] == 0
    assert np.load(archive)["out0"].tolist() == [7, 8]


def test_types_that_numpy_does_not_know_survive_files(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "half.npy"
    run("--function=half", "--input=2xbf16=1.5 -3", f"--output=@{path}")
    assert "2xbf16=1.5 -3" in run("--function=half", f"--input=@{path}")[1]
    np.save(path, np.array([2, 4], ml_dtypes.bfloat16))
    assert "2xbf16=2 4" in run("--function=half", f"--input=@{path}")[1]


def test_random_inputs_depend_on_the_seed_alone(run: Run) -> None:
    first = run("--function=double", "--random-inputs=1")
    assert first[0] == 0
    assert "4xf32=" in first[1]
    assert run("--function=double", "--random-inputs=1") == first
    assert run("--function=double", "--random-inputs=2") != first
    assert "6xf32=" in run("--function=double", "--random-inputs=1", "--random-extent=6")[1]
    # What the second argument gets does not depend on whether the first is given.
    whole = run("--function=pair", "--random-inputs=1")[1].splitlines()[-1]
    assert run("--function=pair", "--random-inputs=1", "--input=2xi32")[1].splitlines()[-1] == whole


def test_expected_outputs(run: Run) -> None:
    call = ("--function=double", "--input=2xf32=1 2")
    code, out, _ = run(*call, "--expected_output=2xf32=2 4")
    assert code == 0
    assert out.endswith("[SUCCESS] all function outputs matched their expected values.\n")
    code, out, _ = run(*call, "--expected_output=2xf32=2 5")
    assert code == 1
    assert "[FAILED] result[0]: element at index [1] (4.0) does not match the expected (5.0)" in out
    assert run(*call, "--expected_output=2xf32=2 5", "--tolerance=1")[0] == 0
    assert run(*call, "--expected_output=(ignored)")[0] == 0
    assert "has shape 2, expected 3" in run(*call, "--expected_output=3xf32=2")[1]


def test_expected_outputs_from_files(run: Run, tmp_path: Path) -> None:
    call = ("--function=double", "--input=2xf32=1 2")
    held, wrong, more = (tmp_path / f"{name}.npy" for name in ("held", "wrong", "more"))
    assert run(*call, f"--output=@{held}")[0] == 0
    assert run(*call, f"--expected_output=@{held}")[0] == 0
    np.save(wrong, np.array([2, 5], np.float32))
    code, out, _ = run(*call, f"--expected_output=@{wrong}")
    assert code == 1
    assert "[FAILED] result[0]: element at index [1]" in out
    more.write_bytes(held.read_bytes() * 2)
    assert (
        "expected 1 result, but --expected_output=@" in run(*call, f"--expected_output=@{more}")[2]
    )


def test_a_pipeline_is_checked_against_its_input(run: Run) -> None:
    code, out, err = run("-p", "spmd", "--random-inputs=0", "--check", "--output=", file=EXAMPLE)
    assert (code, err) == (0, "")
    assert "CHECK result[0]: agree; maximal difference" in out
    assert out.endswith("CHECK @mlp on 4 devices agrees with the reference\n")


def test_a_partitioned_program_is_checked_against_a_file(run: Run, tmp_path: Path) -> None:
    partitioned = _partitioned()
    arguments = ("--random-inputs=0", "--output=", f"--check={EXAMPLE}")
    code, out, _ = run(*arguments, file="-", stdin=partitioned)
    assert code == 0
    assert "agrees with the reference" in out
    wrong = tmp_path / "wrong.mlir"
    assert "arith.addf" in EXAMPLE.read_text()
    wrong.write_text(EXAMPLE.read_text().replace("arith.addf", "arith.subf"))
    code, out, _ = run(
        "--random-inputs=0", "--output=", f"--check={wrong}", file="-", stdin=partitioned
    )
    assert code == 1
    assert "DISAGREE at [" in out
    assert out.endswith("CHECK @mlp on 4 devices DISAGREES with the reference\n")


def test_local_results(run: Run) -> None:
    code, out, _ = run("-p", "spmd", "--random-inputs=0", "--per-device", file=EXAMPLE)
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("device")] == [
        f"device[{device}] result[0]: hal.buffer_view" for device in range(4)
    ]
    assert "4x16xf32=" in out


def test_remarks(run: Run) -> None:
    arguments = ("-p", "assign-devices{cpu-features=+avx},compile", "--random-inputs=0")
    code, out, err = run(
        *arguments, "--remarks=sharding,encoding", "--remarks=dispatch", file=EXAMPLE
    )
    assert code == 0 and out == run(*arguments, file=EXAMPLE)[1]
    lines = err.splitlines()
    place = f"{EXAMPLE}:30:8: remark: "
    assert f"{place}'linalg.matmul' op [sharding] result #0 is placed @devices [[0], [1]]" in lines
    assert any(
        f"{place}'linalg.matmul' op [dispatch] is computed by kernel @mlp_d" in x for x in lines
    )
    assert any("[encoding] encoded tensor<4x16xf32> is laid out for #hal" in x for x in lines)
    _, _, err = run(*arguments, "--remarks=nonsense", file=EXAMPLE)
    assert err.startswith("mesh-run: --remarks: there is no category 'nonsense', but sharding, enc")


def test_open_grids(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "open.mlir"
    path.write_text("""
    shard.grid @g(shape = ?x2)
    func.func @f(%x: f32) -> index {
      %s:2 = shard.grid_shape @g : index, index
      %t = tensor.splat %x : tensor<1xf32>
      %r = shard.all_reduce %t on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
      return %s#0 : index
    }""")
    assert run("--input=1", "--grid-shape=3x2", file=path)[1] == "EXEC @f\nresult[0]: i64=3\n"
    assert "has dynamic extents" in run("--input=1", file=path)[2]
    assert run("--input=1", "--grid-shape=3x4", file=path)[2] == (
        "mesh-run: --grid-shape=3x4 does not fit grid @g of shape ?x2, on which @f runs\n"
    )


@pytest.mark.parametrize("pipeline", ["spmd", "compile"])
def test_open_grids_of_kernels(run: Run, tmp_path: Path, pipeline: str) -> None:
    """A kernel that communicates has a copy of the grid, and not every grid is the function's."""
    path = tmp_path / "open.mlir"
    path.write_text("""
    shard.grid @other(shape = 2)
    shard.grid @g(shape = ?)
    func.func @f(%x: tensor<4x6xf32>) -> tensor<4xf32> {
      %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
      %a = shard.shard %x to %s : tensor<4x6xf32>
      %c = arith.constant dense<0.0> : tensor<4xf32>
      %y = linalg.reduce { arith.addf } ins(%a : tensor<4x6xf32>) outs(%c : tensor<4xf32>)
        dimensions = [1]
      return %y : tensor<4xf32>
    }""")
    arguments = ("-p", pipeline, "--grid-shape=3", "--random-inputs=0", "--check")
    code, out, err = run(*arguments, file=path)
    assert code == 0, err
    assert "CHECK @f on 3 devices agrees with the reference" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--function= must say which function to run; there are @double, @pair, @half"),
        (("--function=nope",), "there is no function @nope; the module has @double, @pair, @half"),
        (
            ("--function=double",),
            "@double takes 1 input, got 0: give --input=?xf32=..., or --random-inputs=SEED",
        ),
        (("--function=double", "--input=@nope.npy"), "cannot read 'nope.npy': No such file"),
        (("--function=double", "--input=4xi32=1"), "input 0 (4xi32=1) is of type i32, expected ?x"),
        (("--function=double", "--input=4xf32=1 2"), "input 0 (4xf32=1 2) has 2 elements, expec"),
        (("--function=double", "--input=2x2xf32=1"), "has shape 2x2, expected ?xf32"),
        (
            ("--function=double", "--input=1xf32", "--input=2"),
            "expected 1 input, found one more: --input=2",
        ),
        (
            ("--function=double", "--input=1xf32", "--output=x"),
            "--output=x is not supported, expected",
        ),
        (("--function=double", "--input=1xf32", "--output=", "--output="), "2 outputs are given"),
        (("--function=double", "--input=1xf32", "--output=@/nope/x.npy"), "cannot write '/nope/x"),
        (("--function=double", "--input=1xf32", "--output=x.npy"), "did you mean @x.npy?"),
        (("--function=double", "--input=1xf32", "--output=@/"), "cannot write '/': it is a folder"),
        (
            ("--function=pair", "--random-inputs=0", "--output=@x.npz", "--output=@y.npy"),
            "holds whole results, and is the only output",
        ),
        (("--function=double", "--input=1xf32", "--trace=/nope/t"), "no folder '/nope'"),
        (("--backend=gpu",), "there is no backend 'gpu'; there are interpreter"),
        (("--backend=interpreter", "--workers=2"), "--workers needs --backend=native or"),
        (("--strange",), "there is no option '--strange'"),
        (("--random-input=1",), "did you mean '--random-inputs'?"),
        (("--random-inputs=x",), "option '--random-inputs' takes an integer, not 'x'"),
        (("--random-inputs=-1",), "--random-inputs must not be negative"),
        (("--check", "--tolerance=-1"), "--tolerance must be at least 0, and is -1.0"),
        (("--check", "--tolerance=nan"), "--tolerance must be at least 0, and is nan"),
        (("--function=double", f"--input={10**11}xf32=1"), "more than can be held"),
        (("--function=double", "--input=-2xf32=1"), "has type '-2xf32'"),
        (
            ("--function=double", "--grid-shape=2"),
            "--grid-shape needs a program with one grid; this has 0",
        ),
        (("--grid-shape=2y2",), "--grid-shape=2y2 is not a shape"),
        (("-p", "spmd", "--pass-pipeline=spmd"), "more than one way"),
        (("--mlir-print-ir-after=spdm",), "there is no pass 'spdm'; did you mean 'spmd'?"),
        (("--tolerance=x",), "option '--tolerance' takes a number"),
        (("--function=double", "--input=1xf32", "--check=nope.mlir"), "cannot read 'nope.mlir'"),
        (("--function=double", "--input=1xf32", f"--check={EXAMPLE}"), "no function @double"),
        (("--function=double", "--input=1xf32", "--per-device"), "runs on a single device"),
        (
            ("--per-device", "--steps=3"),
            "--per-device runs once in the reference interpreter, and prints: --steps cannot",
        ),
        (("--per-device", "--output=@x.npy"), "--output cannot be used with it"),
        (("--per-device", "--trace=t.json"), "--trace cannot be used with it"),
        (("--per-device", "--check"), "--check cannot be used with it"),
        (
            ("--simulate", "--machine=gpu-host", "--expected_output=2xf32"),
            "--simulate runs nothing: --expected-output cannot be used with it",
        ),
        (("--simulate", "--machine=gpu-host", "--statistics"), "--statistics cannot be used"),
        (("--tolerance=1",), "--tolerance needs --check or --expected_output"),
        (("--random-extent=3",), "--random-extent needs --random-inputs"),
    ],
)
def test_errors_take_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = run(*arguments)
    assert code == 1
    assert message in err
    assert err.startswith("mesh-run: ")
    assert err.count("\n") == 1


STEP = """
func.func @step(%x: tensor<2xf32>) -> (tensor<2xf32>, f32) {
  %c0 = arith.constant 0 : index
  %y = arith.addf %x, %x : tensor<2xf32>
  %e = tensor.extract %y[%c0] : tensor<2xf32>
  return %y, %e : tensor<2xf32>, f32
}"""


def test_results_of_a_run_that_has_ended_before(run: Run, tmp_path: Path) -> None:
    """A checkpoint has the state alone, and there is no last step that would give the others."""
    path, state = tmp_path / "p.mlir", tmp_path / "state"
    path.write_text(STEP)
    words = ["--input=2xf32=1", "--steps=3", f"--checkpoint={state}"]
    code, out, _ = run(*words, "--output=-", "--output=-", file=path)
    assert (code, out.splitlines()[2]) == (0, "2xf32=8 8")
    for more in ((), ("--output=-",), ("--output=-", "--output="), ("--expected_output=2xf32=8",)):
        assert run(*words, *more, file=path)[0] == 0
    archive = f"--output=@{tmp_path / 'a.npz'}"
    for more in (("--output=", "--output=-"), (archive,)):
        code, _, err = run(*words, *more, file=path)
        told = f"--checkpoint={state} has all steps already, and holds only the state, results"
        assert code == 1
        assert err == f"mesh-run: result 1 is not available: {told} 0 to 0\n"


def test_an_option_among_the_passes(run: Run) -> None:
    code, _, err = run("-p", "spmd,statistics")
    assert code == 1
    assert "pass-pipeline:1:6: error: there is no pass 'statistics'; --statistics is an opt" in err


def test_files_that_are_none(run: Run, tmp_path: Path) -> None:
    code, _, err = run(file="nope.mlir")
    assert (code, err) == (1, "mesh-run: cannot read 'nope.mlir': No such file or directory\n")
    junk = tmp_path / "junk.npy"
    for data in (b"junk", b"PK junk", b"\x93NUMPY\x01\x00"):
        junk.write_bytes(data)
        code, _, err = run("--function=double", f"--input=@{junk}")
        assert code == 1
        assert "is not a NumPy file" in err


def test_errors_of_programs_have_a_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f(%x: i32) -> i32 {\n  %y = arith.nope %x : i32\n}")
    code, _, err = run(file=path)
    assert code == 1
    assert err.startswith(f"{path}:2:8: error: ")
    path.write_text(
        "func.func @f(%x: i32, %y: i32) -> i32 {\n"
        "  %z = arith.divsi %x, %y : i32\n"
        "  return %z : i32\n}"
    )
    code, _, err = run("--input=1", "--input=0", file=path)
    assert code == 1
    assert err.startswith(f"{path}:2:8: error: 'arith.divsi' op divides by zero\n")
    assert "^" in err
    code, _, err = run("-p", "nope", file=path)
    assert code == 1
    assert "pass-pipeline:1:1: error:" in err


def test_partitioned_without_reference(run: Run) -> None:
    code, _, err = run("--random-inputs=0", "--check", file="-", stdin=_partitioned())
    assert code == 1
    assert "@mlp is partitioned already: --check=FILE must name the program" in err


def test_passes_are_watched(run: Run) -> None:
    code, out, err = run(
        "-p=spmd",
        "--random-inputs=0",
        "--mlir-print-ir-after=shard-partition",
        "--mlir-print-op-generic",
        "--mlir-timing",
        file=EXAMPLE,
    )
    assert code == 0 and out.startswith("EXEC @mlp\n")
    assert err.count("IR Dump") == 1 and "After ShardPartitionPass (shard-partition)" in err
    assert '"shard.all_reduce"' in err
    names = [line.split()[-1] for line in err[err.index("Total Execution Time") :].splitlines()[3:]]
    assert [name for name in names if not name.endswith("Pass")] == [
        *("Compilation", "Execution", "Rest", "Total")
    ]
    assert "ShardPartitionPass" in names


def test_passes_that_the_devices_ask_for_are_watched(run: Run) -> None:
    devices = ("--device=local-task", "--device=local-task", "--function=foo")
    arguments = (*devices, "--random-inputs=0", "--mlir-print-ir-after=form-dispatches")
    code, _, err = run(*arguments, file=ROOT / "examples" / "two_devices.mlir")
    assert code == 0 and err.count("IR Dump After FormDispatchesPass") == 1


def test_information(run: Run) -> None:
    assert run("--version")[1].startswith("mesh-opt ")
    assert "  --random-inputs" in run("--help")[1]
    assert "--trace-host" in run("--shell-completion")[1]


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import io, sys\n"
        "from mesh_opt.tools.mesh_run import main\n"
        "out = io.StringIO()\n"
        "assert main(['--help'], io.StringIO(), out, io.StringIO()) == 0\n"
        "assert '--random-inputs' in out.getvalue()\n"
        "heavy = {'numpy', 'llvmlite', 'scipy', 'xdsl'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_endless_recursion(
    run: Run, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "MAXIMAL_DEPTH", 50)
    path = tmp_path / "endless.mlir"
    path.write_text(
        "func.func @f(%x: i32) -> i32 {\n"
        "  %y = func.call @f(%x) : (i32) -> i32\n"
        "  return %y : i32\n}"
    )
    code, _, err = run("--input=1", f"--backend={backend}", file=path)
    assert code == 1
    assert err.startswith(
        f"{path}:2:8: error: 'func.call' op exceeds the depth of 50 nested calls: does @f recurse"
    )


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_grids_that_no_machine_holds(run: Run, tmp_path: Path, backend: str) -> None:
    path = tmp_path / "large.mlir"
    path.write_text("""
    shard.grid @g(shape = 1000000)
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %y = shard.shard %x to %s : tensor<4xf32>
      return %y : tensor<4xf32>
    }""")
    code, _, err = run("--input=4xf32=1", "-p", "spmd", f"--backend={backend}", file=path)
    assert code == 1
    assert err == "mesh-run: grid @g has 1000000 devices; at most 4096 run on one machine\n"

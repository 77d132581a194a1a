"""A program from a file gives the bits of the one that was saved, and refuses what it refuses."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mesh_opt
import numpy as np
import pytest
import tool_runs
from breadth import NIGHTLY
from mesh_opt import api
from mesh_opt.ir.diagnostics import Remark, remarks_to
from mesh_opt.runtime.host.timeline import Timeline
from mesh_opt.runtime.saved import program as saved_program
from mesh_opt.runtime.saved.fields import SavedFileError
from mesh_opt.runtime.saved.file_format import Container
from mesh_opt.saved_programs import LoadedProgram
from mesh_opt.tools.run.inputs import random_inputs
from mpi_ranks import launch
from saved_files import altered
from script_server import ScriptServer

ROOT = Path(__file__).parents[2]
BLOCK = ROOT / "tests" / "cases" / "models" / "transformer_block_sharded.mlir"

TWICE = """
func.func @main(%a: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<?x?xf32>) {
    %y = arith.addf %x, %a : tensor<?x?xf32>
    scf.yield %y : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}"""
"""A loop over a tensor of open sizes."""

COMPLEX = """
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %y = linalg.map ins(%x : tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>)
    (%a: complex<f32>, %b: complex<f32>) {
      %m = complex.mul %a, %a : complex<f32>
      linalg.yield %m : complex<f32>
    }
  return %y : tensor<4xcomplex<f32>>
}
"""
PLACES = """
shard.grid @grid(shape = 2x2)
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %by_rows = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %by_columns = shard.sharding @grid split_axes = [[1], [0]] : !shard.sharding
  %a = shard.shard %x to %by_rows : tensor<4x6xf32>
  %b = shard.shard %a to %by_rows annotate_for_users : tensor<4x6xf32>
  %y = math.exp %b : tensor<4x6xf32>
  %c = shard.shard %y to %by_rows : tensor<4x6xf32>
  %r = shard.shard %c to %by_columns annotate_for_users : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
"""
"""Devices send their shards to each other."""
UNEVEN = """
shard.grid @g(shape = 4)
func.func @main(%a: tensor<10x6xf32>, %b: tensor<6x7xf32>) -> (tensor<10x7xf32>, tensor<7xf32>) {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %x = shard.shard %a to %rows : tensor<10x6xf32>
  %c = arith.constant dense<0.0> : tensor<10x7xf32>
  %o = linalg.matmul ins(%x, %b : tensor<10x6xf32>, tensor<6x7xf32>)
    outs(%c : tensor<10x7xf32>) -> tensor<10x7xf32>
  %p = shard.shard %o to %rows : tensor<10x7xf32>
  %z = arith.constant dense<0.0> : tensor<7xf32>
  %r = linalg.reduce ins(%p : tensor<10x7xf32>) outs(%z : tensor<7xf32>) dimensions = [0]
    (%in: f32, %sum: f32) { %add = arith.addf %in, %sum : f32 linalg.yield %add : f32 }
  %q = shard.shard %p to %columns annotate_for_users : tensor<10x7xf32>
  %e = math.exp %q : tensor<10x7xf32>
  return %e, %r : tensor<10x7xf32>, tensor<7xf32>
}
"""
"""Ten rows and seven columns over four devices."""
OPEN = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %p = shard.process_linear_index on @g : index
  %size = tensor.dim %a, %c0 : tensor<?xf32>
  %less = arith.subi %size, %p : index
  %own = tensor.extract_slice %a[0] [%less] [1] : tensor<?xf32> to tensor<?xf32>
  %g = shard.all_gather %own on @g grid_axes = [0] gather_axis = 0
    : tensor<?xf32> -> tensor<?xf32>
  %n = shard.update_halo %own on @g split_axes = [[0]] halo_sizes = [1, 0] : tensor<?xf32>
  %h = shard.all_gather %n on @g grid_axes = [0] gather_axis = 0
    : tensor<?xf32> -> tensor<?xf32>
  %s = shard.shift %a on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
    : tensor<?xf32> -> tensor<?xf32>
  %m = shard.all_reduce %s on @g grid_axes = [0] reduction = max
    : tensor<?xf32> -> tensor<?xf32>
  %b = shard.broadcast %m on @g grid_axes = [0] root = [1] : (tensor<?xf32>) -> tensor<?xf32>
  %t = shard.all_to_all %b on @g grid_axes = [0] split_axis = 0 concat_axis = 0
    : tensor<?xf32> -> tensor<?xf32>
  %r = shard.all_gather %t on @g grid_axes = [0] gather_axis = 0
    : tensor<?xf32> -> tensor<?xf32>
  return %g, %h, %r : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
"""
"""Collectives of tensors whose sizes a run tells, and differ between the devices."""
ELEMENTS = ["complex<f32>", "index", "ui8", "si32", "ui4", "f8E4M3FN", "bf16"]
PARAMETERS = ", ".join(f"%x{n}: tensor<2x{each}>" for n, each in enumerate(ELEMENTS))
GATHERED = "\n".join(
    f"  %r{n} = shard.all_gather %x{n} on @g grid_axes = [0] gather_axis = 0"
    f" : tensor<2x{each}> -> tensor<4x{each}>"
    for n, each in enumerate(ELEMENTS)
)
TYPES = ", ".join([*(f"tensor<4x{each}>" for each in ELEMENTS), "tensor<2xf8E4M3FN>"])
COLLECTIVES = f"""
shard.grid @g(shape = 2)
func.func @main({PARAMETERS}) -> ({TYPES}) {{
{GATHERED}
  %sum = shard.all_reduce %x5 on @g grid_axes = [0] : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  return {", ".join(f"%r{n}" for n in range(len(ELEMENTS)))}, %sum : {TYPES}
}}
"""
"""Collectives of elements whose type has another name than what holds them."""
STABLEHLO = """
func.func @main(%x: tensor<4x2xf32>, %w: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
"""
FACTORS = """
func.func @main(%a: tensor<2x5x4xf64>) -> (tensor<2x5x4xf64>, tensor<2x4xf64>) {
  %0:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {api_version = 4 : i32}
    : (tensor<2x5x4xf64>) -> (tensor<2x5x4xf64>, tensor<2x4xf64>)
  return %0#0, %0#1 : tensor<2x5x4xf64>, tensor<2x4xf64>
}
"""

PROGRAMS: dict[str, tuple[Path | str, str]] = {
    "one_device": (ROOT / "docs" / "examples" / "iterate.mlir", ""),
    "a_grid_of_2x2": (ROOT / "docs" / "examples" / "product.mlir", "spmd"),
    "a_grid_of_data_tiled_devices": (ROOT / "docs" / "examples" / "product.mlir", "compile"),
    "two_named_devices": (ROOT / "examples" / "two_devices.mlir", "data-tile"),
    "two_targets": (ROOT / "docs" / "examples" / "two_targets.mlir", "compile"),
    "a_loop_over_open_sizes": (TWICE, ""),
    "complex_numbers": (COMPLEX, ""),
    "shards_that_change_places": (PLACES, "spmd"),
    "uneven_shards": (UNEVEN, "spmd"),
    "uneven_shards_of_data_tiled_devices": (UNEVEN, "compile"),
    "collectives_of_open_sizes": (OPEN, ""),
    "collectives_of_all_elements": (COLLECTIVES, ""),
    "a_call_of_lapack": (FACTORS, ""),
}


def saved(tmp_path: Path, source: Path | str, pipeline: str = "") -> tuple[api.Program, Path]:
    program = api.compile(source, pipeline)
    path = tmp_path / "p.meshprog"
    program.save(path)
    return program, path


def load(path: Path) -> LoadedProgram:
    """A program that must not be compiled again without a reason that is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mesh_opt.load(path)


def equal(found: list[Any], expected: list[Any]) -> bool:
    return all(
        (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
        for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_program_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS[name])
    loaded = load(path)
    assert loaded.functions == program.functions
    assert repr(loaded).endswith(f" from {path}, native code>")
    for each in program.functions:
        assert repr(loaded[each]) == repr(program[each]).replace("<Function", "<LoadedFunction")
        for extent in (3, 5):
            # Of positive numbers, so that the sum in a loop grows.
            types = program[each].types.arguments
            given = random_inputs(extent, types, 0, extent)
            inputs = [np.abs(array).astype(array.dtype) for array in given]
            expected = program[each].run(inputs)
            assert equal(loaded[each].run(inputs), expected)
            assert equal(loaded[each].run(inputs), expected)
    loaded.close()


RUN = """
import sys
import numpy as np, mesh_opt
program = mesh_opt.load({!r})
inputs = np.load({!r})
results = program.main.run([inputs[name] for name in inputs])
np.savez({!r}, *results)
heavy = ("xdsl", "numba", "jax", *("mesh_opt." + room for room in
         ("codegen", "dialects", "interpreter", "ir.", "passes", "api", "tools")))
light = "mesh_opt.ir.activity"
print(*sorted(each for each in sys.modules if each.startswith(heavy) and each != light))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptServer]:
    """What a program brings of the runtime stays in its fork, so each must bring all it needs."""
    server = ScriptServer(sys.executable, "import numpy, mesh_opt; mesh_opt.load")
    yield server
    server.close()


@pytest.mark.parametrize(
    "name",
    [
        *("two_targets", "a_loop_over_open_sizes", "shards_that_change_places", "uneven_shards"),
        *("collectives_of_open_sizes", "uneven_shards_of_data_tiled_devices", "a_call_of_lapack"),
    ],
)
def test_running_imports_no_compiler(name: str, tmp_path: Path, server: ScriptServer) -> None:
    program, path = saved(tmp_path, *PROGRAMS[name])
    inputs = random_inputs(0, program.main.types.arguments, 0, 4)
    np.savez(tmp_path / "in.npz", *inputs)
    files = [path, tmp_path / "in.npz", tmp_path / "out.npz"]
    assert server.run(RUN.format(*map(str, files))).split() == []
    with np.load(files[-1]) as found:
        assert equal([found[each] for each in found], program.main.run(inputs))


TOOL = """
import sys
from mesh_opt.tools.mesh_run import main
assert main(sys.argv[1:], sys.stdin, sys.stderr, sys.stderr) == 0
heavy = ("xdsl", "numba", *(f"mesh_opt.{room}" for room in
         ("codegen", "dialects", "interpreter", "passes", "api")))
print(*sorted(name for name in sys.modules if name.startswith(heavy)))
"""


def test_mesh_run_imports_no_compiler(tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])
    output = tmp_path / "out.npy"
    options = ["--random-inputs=3", f"--output=@{output}", "--expected_output=(ignored)"]
    done = subprocess.run(
        [sys.executable, "-c", TOOL, str(path), *options, f"--trace={tmp_path / 't.json'}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
    inputs = random_inputs(3, program.main.types.arguments, 0, 4)
    assert equal([np.load(output)], program.main.run(inputs))


def test_ranks_import_no_compiler(tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])
    output = tmp_path / "out.npy"
    options = ["--random-inputs=3", f"--output=@{output}", "--statistics"]
    done = launch("-n", "4", sys.executable, "-P", "-c", TOOL, str(path), *options)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
    assert "STATISTICS process 3" in done.stderr
    inputs = random_inputs(3, program.main.types.arguments, 0, 4)
    assert equal([np.load(output)], program.main.run(inputs))


@pytest.mark.skipif(not NIGHTLY, reason="starts eight processes")
def test_ranks_give_the_bits_of_threads(tmp_path: Path) -> None:
    """A transformer block on a mesh of 2x4."""
    _, path = saved(tmp_path, BLOCK, "spmd")
    files = [tmp_path / "threads.npy", tmp_path / "ranks.npy"]
    for file, options in zip(files, ([], ["--ranks=8"]), strict=True):
        words = (str(path), "--random-inputs=0", f"--output=@{file}", *options)
        code, _, errors = tool_runs.mesh_run(*words)
        assert code == 0, errors
    assert files[0].read_bytes() == files[1].read_bytes()


FAILS = """
func.func @main(%a: tensor<4xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<4xf32>
  return %x : f32
}
func.func @kernel(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]
    } ins(%a : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%x: i32, %o: i32):
    %j = arith.index_cast %x : i32 to index
    %y = tensor.extract %b[%j] : tensor<4xi32>
    linalg.yield %y : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}"""


def test_errors_are_those_of_the_program_that_was_saved(tmp_path: Path) -> None:
    program, path = saved(tmp_path, FAILS)
    loaded = load(path)
    a, b = np.arange(4, dtype=np.float32), np.arange(4, dtype=np.int32)
    for name, inputs in (("main", (a, 7)), ("kernel", (b + 1, b))):
        errors: list[str] = []
        for each in (program, loaded):
            with pytest.raises(api.ExecutionError) as found:
                each[name](*inputs)
            errors.append(str(found.value))
        assert errors[0] == errors[1]
        assert "<string>:" in errors[0]
    assert loaded.main(a, 2) == 2
    assert equal(loaded.kernel.run([b, b]), [b])
    with pytest.raises(api.InputError, match="@main takes 2 inputs, got 1"):
        loaded.main(a)


def test_another_machine_compiles_the_program_again(tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])

    def change(header: Any) -> None:
        header["platform"]["CPU"] = "z80"

    loaded = load(altered(path, tmp_path / "foreign.meshprog", change))
    inputs = random_inputs(0, program.main.types.arguments, 0, 4)
    with pytest.warns(RuntimeWarning, match=r"is compiled again .* the CPU is .* was 'z80'"):
        assert equal(loaded.main.run(inputs), program.main.run(inputs))
    # The new program can be saved for this machine.
    loaded.compiled().save(tmp_path / "own.meshprog")
    assert equal(load(tmp_path / "own.meshprog").main.run(inputs), program.main.run(inputs))


IN_PYTHON = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @other(%a: tensor<2xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.map ins(%a : tensor<2xf32>) outs(%e : tensor<2xf32>) (%x: f32, %y: f32) {
    %w = scf.while (%v = %x) : (f32) -> f32 {
      %limit = arith.constant 8.0 : f32
      %c = arith.cmpf olt, %v, %limit : f32
      scf.condition(%c) %v : f32
    } do {
    ^bb0(%v: f32):
      %next = arith.addf %v, %x : f32
      scf.yield %next : f32
    }
    linalg.yield %w : f32
  }
  return %0 : tensor<2xf32>
}"""


def test_interpreted_operations_need_the_compiler(tmp_path: Path) -> None:
    program = api.compile(IN_PYTHON)
    path = tmp_path / "p.meshprog"
    remarks: list[Remark] = []
    with remarks_to(remarks.append):
        program.save(path)
    (found,) = [each for each in remarks if each.operation.name == "linalg.map"]
    why = "runs in Python at each call"
    assert found.message == f"{why}: a saved program compiles @other when it is run"
    a = np.ones(2, np.float32)
    with pytest.warns(RuntimeWarning, match=f"<string>:7:8: 'linalg.map' op {why}"):
        assert equal(mesh_opt.load(path).other.run([a]), program.other.run([a]))
    b = np.ones(4, np.float32)
    assert equal(load(path).main.run([b]), [b])
    program.require_native = True
    with pytest.raises(api.ExecutionError, match=r"<string>:7:8: error: .*native code is required"):
        program.save(tmp_path / "q.meshprog")
    assert not (tmp_path / "q.meshprog").exists()


def test_backends_that_loaded_programs_do_not_have(tmp_path: Path) -> None:
    _, path = saved(tmp_path, STABLEHLO)
    for name in ("interpreter", "cuda", ""):
        with pytest.raises(ValueError, match=f"no backend '{name}'; there are native, mpi"):
            mesh_opt.load(path, backend=name)


def test_a_timeline_may_be_set_between_calls(tmp_path: Path) -> None:
    program, _ = saved(tmp_path, STABLEHLO)
    inputs = random_inputs(0, program.main.types.arguments, 0, 4)
    loaded = load(tmp_path / "p.meshprog")
    for _ in range(2):
        loaded.main.run(inputs)
        loaded.timeline = timeline = Timeline()
        loaded.main.run(inputs)
        assert timeline.events


def test_settings_hold_for_calls_that_need_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "p.meshprog"
    api.compile(IN_PYTHON).save(path)
    loaded = mesh_opt.load(path, remark=lambda text: None)
    loaded.other.run([np.ones(2, np.float32)])
    loaded.timeline, loaded.inputs_per_rank, loaded.devices_per_rank = Timeline(), True, 2
    loaded.other.run([np.ones(2, np.float32)])
    compiled = loaded.compiled()
    found = compiled.timeline, compiled.inputs_per_rank, compiled.devices_per_rank
    assert found == (loaded.timeline, True, 2)


def test_functions_of_lapack_are_known(tmp_path: Path) -> None:
    _, path = saved(tmp_path, FACTORS)
    wrong = tmp_path / "q.meshprog"

    def rename(header: Any) -> None:
        (constants,) = (each[3] for each in header["functions"][0]["entries"][0]["functions"])
        constants[constants.index("dgeqrf")] = "exit"

    with pytest.raises(SavedFileError, match="has no function of LAPACK as"):
        mesh_opt.load(altered(path, wrong, rename)).main.run([np.ones((2, 5, 4))])


def test_arrays_stay_on_devices(tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])
    loaded = load(path)
    x, w = random_inputs(0, program.main.types.arguments, 0, 4)
    placed = loaded.main.put(w, 1)
    (expected,) = program.main.run([x, w])
    (stays,) = loaded.main.run_on_devices(x, placed)
    assert len(stays.shards) == 4
    assert isinstance(placed, mesh_opt.DeviceArray) and isinstance(stays, mesh_opt.DeviceArray)
    np.testing.assert_array_equal(np.asarray(stays), expected)
    # What the compiler's function is given is whole.
    loaded.saved.differences.append("the CPU is another")
    with pytest.warns(RuntimeWarning, match="the CPU is another"):
        np.testing.assert_array_equal(loaded.main(x, placed), expected)


def test_another_cpu_is_told_by_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])
    here = saved_program.platform()
    features = here["features of the CPU"].split(",")
    had = next(each[1:] for each in features if each.startswith("+"))
    changed = ",".join(each.replace(f"+{had}", f"-{had}") for each in features)
    other = {**here, "features of the CPU": f"{changed},+new-a,+new-b"}
    monkeypatch.setattr(saved_program, "platform", lambda: other)
    (difference,) = load(path).saved.differences
    assert difference == f"the CPU here lacks {had} and also has new-a, new-b"


def test_large_constants_are_mapped_and_not_in_the_text(tmp_path: Path) -> None:
    values = np.arange(1024, dtype=np.float32)
    hexadecimal = values.tobytes().hex()
    text = f"""
func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {{
  %c = arith.constant dense<"0x{hexadecimal}"> : tensor<1024xf32>
  %r = arith.addf %a, %c : tensor<1024xf32>
  return %r : tensor<1024xf32>
}}"""
    _, path = saved(tmp_path, text)
    loaded = load(path)
    for section in ("ir", "source"):
        assert "#flow.parameter.named" not in loaded.saved.text(section)
        assert len(loaded.saved.text(section)) < 4000
    (array,) = loaded.main._function.entries[0].program.program.arrays
    assert array.ctypes.data % 64 == 0
    assert not array.flags.writeable
    ones = np.ones(1024, np.float32)
    assert equal(loaded.main.run([ones]), [values + 1])
    assert equal(loaded.compiled().main.run([ones]), [values + 1])
    # The constant is in the file once, for native code and for the IR.
    assert Container(path).header["arrays"].items(1)
    assert path.read_bytes().count(values.tobytes()) == 1


@pytest.mark.parametrize("passes", [[], ["-p=shard-annotate{grid=2 args=x:[[0]]},spmd"]])
def test_mesh_opt_saves_stablehlo_as_what_runs(passes: list[str], tmp_path: Path) -> None:
    path = str(tmp_path / "p.meshprog")
    tool_runs.printed(*passes, "--emit=program", "-o", path, text=STABLEHLO)
    code, output, errors = tool_runs.mesh_run(path, "--random-inputs=0", "--check")
    assert code == 0, errors
    assert "agrees with the reference" in output


def test_arguments_may_be_named(tmp_path: Path) -> None:
    program, path = saved(tmp_path, *PROGRAMS["a_grid_of_2x2"])
    (name,) = program.functions
    function, loaded = program[name], load(path)[name]
    assert loaded.argument_names == function.argument_names
    inputs = random_inputs(0, function.types.arguments, 0, 4)
    named = dict(zip(function.argument_names, inputs, strict=True))
    assert equal([loaded(**named)], [loaded(*inputs)])
    last = function.argument_names[-1]
    assert repr(loaded.put(inputs[-1], last)) == repr(function.put(inputs[-1], last))
    with pytest.raises(mesh_opt.InputError, match="has no argument 'nothing'"):
        loaded.put(inputs[-1], "nothing")

"""The Python face: compile, call, look at the stages."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from mesh_opt.api import CompilationError, ExecutionError, InputError, Program, compile
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import all_passes
from mesh_opt.sharding.grid import Grid
from mesh_opt.tools.driver import new_context

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "mlp_dp_tp.mlir"

PROGRAM = """
func.func @scale(%x: tensor<2xf32>, %s: f32) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %y = linalg.mul ins(%x, %f : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>)
      -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @both(%x: i32) -> (i32, i32) {
  return %x, %x : i32, i32
}
func.func @nothing() { return }
func.func @divide(%x: i32, %y: i32) -> i32 {
  %z = arith.divsi %x, %y : i32
  return %z : i32
}
"""


def _inputs(program: Program) -> list[Any]:
    generator = np.random.default_rng(5)
    types: list[Any] = program.mlp.argument_types
    return [generator.standard_normal(t.get_shape()).astype(np.float32) for t in types]


def test_calls() -> None:
    program = compile(PROGRAM)
    assert program.functions == ["scale", "both", "nothing", "divide"]
    x = np.float32([1, 2])
    assert program["scale"](x, np.float32(3)).tolist() == [3, 6]
    # Python numbers and lists are converted.
    assert program.scale([1, 2], 3).tolist() == [3, 6]
    assert program.both(7) == (7, 7)
    assert program.nothing() is None
    assert "scale" in dir(program)


def test_sources() -> None:
    module = parse_module(new_context(), Source(PROGRAM, "test"))
    before = str(module)
    assert compile(module).both(1) == (1, 1)
    assert str(module) == before
    assert compile(EXAMPLE).functions == ["mlp"]
    assert compile(str(EXAMPLE)).functions == ["mlp"]
    with pytest.raises(FileNotFoundError):
        compile("nowhere.mlir")


def test_partitioned_functions_take_and_return_global_arrays() -> None:
    program = compile(EXAMPLE, pipeline="spmd")
    assert program.mlp.grid == Grid("devices", (2, 2))
    assert [str(t) for t in program.mlp.result_types] == ["tensor<8x16xf32>"]
    inputs = _inputs(program)
    result = program.mlp(*inputs)
    np.testing.assert_allclose(result, compile(EXAMPLE).mlp(*inputs), rtol=1e-4, atol=1e-5)
    (difference,) = program.mlp.check(*inputs)
    assert difference.agrees


def test_stages() -> None:
    program = compile(EXAMPLE, pipeline="builtin.module(sharding-propagation,shard-partition)")
    names = [stage.name for stage in program.stages]
    assert names == ["input", "sharding-propagation", "shard-partition"]
    assert "shard.all_reduce" not in program.stages[0].text
    assert "shard.all_reduce" in program.stages[-1].text
    # Every stage is a program that can be read again.
    for stage in program.stages:
        assert compile(stage.text).functions == ["mlp"]
    assert [stage.name for stage in compile(EXAMPLE).stages] == ["input"]


def test_pipelines_of_pass_objects() -> None:
    passes = [all_passes()[name]()() for name in ("sharding-propagation", "shard-partition")]
    assert compile(EXAMPLE, pipeline=passes).mlp.grid is not None


def test_one_pass_object() -> None:
    assert compile(EXAMPLE, pipeline=all_passes()["spmd"]()()).mlp.grid is not None


@pytest.mark.parametrize("passes", [["spmd"], [all_passes()["cse"]()], 3])
def test_passes_that_are_no_objects(passes: Any) -> None:
    with pytest.raises(TypeError, match="expected pass objects, as in"):
        compile(EXAMPLE, pipeline=passes)


def test_programs_of_other_types() -> None:
    source: Any = None
    with pytest.raises(TypeError, match="expected MLIR text, the path of a file"):
        compile(source)


def test_backends() -> None:
    program = compile(EXAMPLE, pipeline="spmd", backend="native")
    inputs = _inputs(program)
    np.testing.assert_allclose(
        program.mlp(*inputs), program.mlp.run(inputs, "interpreter")[0], rtol=1e-4, atol=1e-5
    )
    with pytest.raises(ValueError, match="there is no backend 'gpu'; there are interpreter"):
        compile(EXAMPLE, backend="gpu")
    former = compile(EXAMPLE, backend="numba")
    assert repr(former).endswith("backend native>")
    assert former.backend("numba") == former.backend("native") == former.backend()


def test_open_grids() -> None:
    text = """
    shard.grid @g(shape = ?)
    func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
      %r = shard.all_reduce %x on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
      return %r : tensor<1xf32>
    }"""
    for grid in (Grid("g", (3,)), (3,), [np.int64(3)]):
        assert compile(text, grid=grid).f([2]).tolist() == [6]
    wrongs: list[Any] = ["3", 3, ("3",), (2.0,), (None,)]
    for wrong in wrongs:
        with pytest.raises(TypeError, match=r"expected the extents of a grid, as \(2, 4\), got "):
            compile(text, grid=wrong)
    with pytest.raises(ValueError, match="has extent -1 on axis 0"):
        compile(text, grid=(-1,))
    with pytest.raises(InputError, match="extents"):
        compile(text).f([2])


def test_inputs_that_do_not_fit() -> None:
    program = compile(PROGRAM)
    with pytest.raises(InputError, match="@scale takes 2 inputs, got 1"):
        program.scale([1, 2])
    with pytest.raises(InputError, match="input 0 is of float64, expected tensor<2xf32>"):
        program.scale(np.zeros(2), 1)
    with pytest.raises(InputError, match="input 0 has shape 3"):
        program.scale([1, 2, 3], 1)
    with pytest.raises(InputError, match="input 0 is of float64, expected i32"):
        program.both(1.5)


class Odd(np.ndarray):
    """A subclass that overrides what arithmetic does."""

    def __array_ufunc__(self, *_: object, **__: object) -> Any:
        raise AssertionError("an operation on the caller's class")


F32 = np.arange(6, dtype=np.float32)
MATRIX = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = arith.negf %x : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
func.func @scalar(%x: f32) -> f32 {
  %r = arith.negf %x : f32
  return %r : f32
}
func.func @same(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  return %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @select(%c: tensor<4xi1>, %x: tensor<4xi4>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = arith.extui %c : tensor<4xi1> to tensor<4xi32>
  %1 = arith.extsi %x : tensor<4xi4> to tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}
"""


@pytest.fixture(scope="module", params=["interpreter", "native"])
def matrix(request: pytest.FixtureRequest) -> Program:
    return compile(MATRIX, backend=request.param)


@pytest.mark.parametrize(
    "given",
    [
        F32.reshape(2, 3),
        np.asfortranarray(F32.reshape(2, 3)),
        np.arange(12, dtype=np.float32)[::2].reshape(2, 3) / 2,
        F32[::-1].reshape(2, 3)[::-1, ::-1],
        F32.reshape(2, 3).astype(">f4"),
        np.broadcast_to(np.float32(3), (2, 3)),
        np.frombuffer(b"x" + F32.tobytes(), np.float32, offset=1).reshape(2, 3),
        F32.reshape(2, 3).view(Odd),
        np.ma.MaskedArray(F32.reshape(2, 3)),
        F32.reshape(2, 3).tolist(),
    ],
    ids="rows columns strided reversed swapped zero-strided misaligned subclass unmasked"
    " list".split(),
)
def test_forms_of_arrays(matrix: Program, given: Any) -> None:
    expected = -np.array(given, np.float32, subok=False)
    if isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray):
        given.flags.writeable = False
    found = matrix.main(given)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


ALONE = """
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.addf %a, %b : tensor<8xf32>
  return %c : tensor<8xf32>
}
"""
ON_TWO_DEVICES = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.addf %a, %b : tensor<8xf32>
  %d = shard.all_reduce %c on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  return %d : tensor<8xf32>
}
"""


@pytest.mark.parametrize(("text", "most"), [(ALONE, 15), (ON_TWO_DEVICES, 100)])
def test_a_call_is_few_calls_of_python_functions(text: str, most: int) -> None:
    main = compile(text, "")["main"]
    a, b = np.ones((2, 8), np.float32)
    main(a, b)
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        main(a, b)
    finally:
        sys.setprofile(before)
    assert len(called) <= most, called


def test_results_are_the_callers_own(matrix: Program) -> None:
    x = F32.reshape(2, 3).copy()
    x.flags.writeable = False
    first, second = matrix.same(x)
    first[:] = 7
    np.testing.assert_array_equal(x, F32.reshape(2, 3))
    np.testing.assert_array_equal(second, x)


@pytest.mark.parametrize("given", [2, 2.0, np.float32(2), np.array(2, ">f4"), [2][0]])
def test_forms_of_scalars(matrix: Program, given: Any) -> None:
    assert matrix.scalar(given) == -2


def test_bits_beyond_the_elements(matrix: Program) -> None:
    flags = np.frombuffer(b"\x00\x01\x02\xff", np.bool_)
    bits, numbers = matrix.select(flags, np.int8([-8, 7, 0, 1]))
    assert (bits.tolist(), numbers.tolist()) == ([0, 1, 1, 1], [-8, 7, 0, 1])
    with pytest.raises(InputError, match=r"input 1 holds 8 at \[2\], which does not fit"):
        matrix.select(flags, np.int8([0, 0, 8, 1]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (F32.reshape(2, 3).astype("f8"), "is of float64, expected"),
        (F32.reshape(2, 3).astype(object), "is of object, expected"),
        (F32.view([("a", "<f4")]).reshape(2, 3), "is of .*'a'.*, expected"),
        (F32.view("V4").reshape(2, 3), r"is of \|V4, expected"),
        (F32.view("<M8[s]").reshape(1, 3), r"is of datetime64\[s\], expected"),
        (np.ma.MaskedArray(F32.reshape(2, 3), mask=True), "has masked elements"),
        (F32, "has shape 6, expected"),
        (np.float32(1), "has rank 0, expected"),
        ([[1, 2, 3], [4, 5]], "is not an array: .*inhomogeneous"),
        ([["1", "2", "3"]] * 2, "is of <U1, expected"),
        ([[1, 2, None]] * 2, "is of object, expected"),
        ([[1, 2, 3j]] * 2, "is of complex128, expected"),
    ],
    ids="wide object structured void dates masked flat scalar ragged text none complex".split(),
)
def test_arrays_that_are_refused(matrix: Program, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"input 0 {message}"):
        matrix.main(given)


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [("i8", [-128, 127], [128]), ("i1", [0, 1], [2]), ("i4", [-8, 7], [8]), ("ui8", [255], [-1])],
)
def test_numbers_that_do_not_fit(kind: str, fits: list[int], does_not: list[int]) -> None:
    text = "func.func @f(%x: tensor<KIND>) -> tensor<KIND> { return %x : tensor<KIND> }"
    program = compile(text.replace("KIND", f"?x{kind}"))
    assert program.f(fits).tolist() == fits
    with pytest.raises(InputError, match=f"input 0 holds {does_not[0]}, which does not fit"):
        program.f(does_not)


def test_functions_that_there_are_not() -> None:
    program = compile(PROGRAM)
    with pytest.raises(KeyError, match="there is no function @nope; the module has @scale"):
        program["nope"]
    with pytest.raises(AttributeError, match="there is no function @nope"):
        _ = program.nope


def test_errors_have_places() -> None:
    with pytest.raises(CompilationError, match=r"<string>:1:25: error: .*undefined value '%x'"):
        compile("func.func @f() { return %x : i32 }")
    with pytest.raises(CompilationError, match=r"<string>:3:16: error: 'arith.addi' op "):
        compile(
            "func.func @f(%x: f32) {\n %c = arith.constant 1 : i32\n          %y = "
            '"arith.addi"(%x, %c) : (f32, i32) -> i32\n return }'
        )
    with pytest.raises(CompilationError, match=r"pass-pipeline:1:1: error: .*'nope'"):
        compile(PROGRAM, pipeline="nope")
    with pytest.raises(ExecutionError, match=r"<string>:14:8: error: 'arith.divsi' op divides by"):
        compile(PROGRAM).divide(1, 0)


def test_loops_of_a_converted_program() -> None:
    """A StableHLO program counts in numbers, whether it goes through `spmd` or no pipeline."""
    text = """
func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %twice = stablehlo.add %y, %y : tensor<f32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}"""
    for pipeline in ("", "spmd"):
        program = compile(text, pipeline)
        loops = [each for each in program.module.walk() if each.name.startswith("scf.")]
        assert [each.name for each in loops] == ["scf.for", "scf.yield"]
        assert [str(each.type) for each in loops[0].results] == ["f32"]
        assert program["main"](np.int32(3), np.float32(1.5)) == 12

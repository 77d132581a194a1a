"""Native code refuses what the interpreter refuses, and never leaves a buffer.

Sizes at run time contradict types and each other, indices lie outside, maps are not monotone.
"""

from __future__ import annotations

import numpy as np
import pytest
from loop_programs import IDENTITY, counted, loops, main
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.kernels import loop_nests
from mesh_opt.interpreter.run import run
from mesh_opt.ir.diagnostics import OperationError

NEAR_AND_FAR = [np.int64(index) for index in (4, -1, 1 << 62, -(1 << 63))]

REFUSED: dict[str, tuple[str, list[list]]] = {
    "writes at a map that is not monotone": (
        main(
            "%a: tensor<5xf32>, %o: tensor<4xf32>",
            "tensor<4xf32>",
            loops(
                f"{IDENTITY}; (i) -> ((i mod 4) * 3)", "parallel", "tensor<5xf32>", "tensor<4xf32>"
            ),
        ),
        [[counted(5), counted(4)]],
    ),
    "reads at a map that is not monotone": (
        main(
            "%a: tensor<6xf32>, %o: tensor<5xf32>",
            "tensor<5xf32>",
            loops(
                f"(i) -> ((i mod 4) * 3); {IDENTITY}", "parallel", "tensor<6xf32>", "tensor<5xf32>"
            ),
        ),
        [[counted(6), counted(5)]],
    ),
    "asserts what does not hold": (
        main(
            "%a: tensor<3xi64>, %o: tensor<3xf32>, %t: tensor<5xf32>",
            "tensor<3xf32>",
            loops(
                f"{IDENTITY}; {IDENTITY}",
                "parallel",
                "tensor<3xi64>",
                "tensor<3xf32>",
                """%c0 = arith.constant 0 : i64
      %c5 = arith.constant 5 : i64
      %at = arith.index_cast %x : i64 to index
      %below = arith.cmpi slt, %x, %c5 : i64
      cf.assert %below, "an index is less than {5}"
      %natural = arith.cmpi sge, %x, %c0 : i64
      cf.assert %natural, "an index is not negative"
      %s = tensor.extract %t[%at] : tensor<5xf32>""",
            ),
        ),
        [[np.array(each), counted(3), counted(5)] for each in ([0, 5, -1], [-1, 0, 4], [-1, 7, 0])],
    ),
    "reads below zero": (
        main(
            "%a: tensor<?xf32>, %o: tensor<?xf32>",
            "tensor<?xf32>",
            loops(f"(i) -> (3 - i); {IDENTITY}", "parallel", "tensor<?xf32>", "tensor<?xf32>"),
        ),
        [[counted(9), counted(5)]],
    ),
    "loops disagree": (
        main(
            "%a: tensor<?x4xf32>, %b: tensor<?x5xf32>, %c: tensor<?x5xf32>",
            "tensor<?x5xf32>",
            """
  %0 = linalg.matmul ins(%a, %b : tensor<?x4xf32>, tensor<?x5xf32>)
      outs(%c : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>""",
        ),
        [[counted(3, 4), counted(6, 5), counted(3, 5)]],
    ),
    "sizes disagree": (
        main(
            "%a: tensor<?xf32>, %b: tensor<?xf32>",
            "tensor<?xf32>",
            "\n  %0 = arith.addf %a, %b : tensor<?xf32>\n  return %0 : tensor<?xf32>",
        ),
        [[counted(3), counted(4)], [counted(1), counted(4)]],
    ),
    "a cast lies to what follows": (
        main(
            "%a: tensor<?xf32>",
            "tensor<50000xf32>",
            """
  %0 = tensor.cast %a : tensor<?xf32> to tensor<50000xf32>
  %1 = math.exp %0 : tensor<50000xf32>
  return %1 : tensor<50000xf32>""",
        ),
        [[counted(4)]],
    ),
    "a cast in a function that is called": (
        main(
            "%a: tensor<?xf32>",
            "tensor<8xf32>",
            "\n  %0 = call @g(%a) : (tensor<?xf32>) -> tensor<8xf32>\n  return %0 : tensor<8xf32>",
        )
        + """
func.func private @g(%x: tensor<?xf32>) -> tensor<8xf32> {
  %0 = tensor.cast %x : tensor<?xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}""",
        [[counted(4)]],
    ),
    "a loop carries what grows": (
        main(
            "%a: tensor<?xf32>",
            "tensor<4xf32>",
            """
  %l = arith.constant 0 : index
  %h = arith.constant 2 : index
  %s = arith.constant 1 : index
  %b = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  %r = scf.for %i = %l to %h step %s iter_args(%t = %b) -> (tensor<4xf32>) {
    %u = tensor.cast %t : tensor<4xf32> to tensor<?xf32>
    %c = tensor.concat dim(0) %u, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
    scf.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>""",
        ),
        [[counted(4)]],
    ),
    "tosa results lie": (
        main(
            "%a: tensor<?xf32>, %b: tensor<?xf32>",
            "tensor<8xf32>",
            """
  %0 = tosa.add %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<8xf32>
  %1 = tosa.reverse %0 {axis = 0 : i32} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>""",
        ),
        [[counted(4), counted(4)], [counted(4), counted(1)], [counted(8), counted(2)]],
    ),
    "a tosa concatenation lies": (
        main(
            "%a: tensor<?x2xf32>, %b: tensor<?x?xf32>",
            "tensor<5x2xf32>",
            """
  %0 = tosa.concat %a, %b {axis = 0 : i32} : (tensor<?x2xf32>, tensor<?x?xf32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>""",
        ),
        [[counted(2, 2), counted(2, 2)], [counted(2, 2), counted(3, 1)]],
    ),
    "no greatest of nothing": (
        main(
            "%a: tensor<?x4xf32>",
            "tensor<1x4xf32>",
            """
  %0 = tosa.reduce_max %a {axis = 0 : i32} : (tensor<?x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>""",
        ),
        [[counted(0, 4)]],
    ),
    "tiles lie": (
        main(
            "%a: tensor<?x?xf32>, %o: tensor<?x?x?x2xf32>, %t: index",
            "tensor<?x?x?x2xf32>",
            """
  %z = arith.constant 4.0 : f32
  %0 = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [%t, 2]
      into %o : tensor<?x?xf32> -> tensor<?x?x?x2xf32>
  return %0 : tensor<?x?x?x2xf32>""",
        ),
        [[counted(4, 4), counted(2, 2, 3, 2), np.int64(tile)] for tile in (1, 0, -3, 1 << 62)],
    ),
    "packed tiles lie": (
        main(
            "%a: tensor<?x?x2x3xf32>, %o: tensor<?x?xf32>",
            "tensor<?x?xf32>",
            """
  %0 = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3]
      into %o : tensor<?x?x2x3xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>""",
        ),
        [[counted(2, 2, 2, 3), counted(5, 6)]],
    ),
    "an index to insert at": (
        main(
            "%a: tensor<4xf32>, %i: index, %v: f32",
            "tensor<4xf32>",
            "\n  %0 = tensor.insert %v into %a[%i] : tensor<4xf32>\n  return %0 : tensor<4xf32>",
        ),
        [[counted(4), index, np.float32(1)] for index in NEAR_AND_FAR],
    ),
    "an index that nobody reads at": (
        main(
            "%a: tensor<4xf32>, %i: index",
            "tensor<4xf32>",
            "\n  %0 = tensor.extract %a[%i] : tensor<4xf32>\n  return %a : tensor<4xf32>",
        ),
        [[counted(4), index] for index in NEAR_AND_FAR],
    ),
    "a slice beyond": (
        main(
            "%a: tensor<4xf32>, %i: index",
            "tensor<2xf32>",
            """
  %0 = tensor.extract_slice %a[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %1 = math.exp %0 : tensor<2xf32>
  return %1 : tensor<2xf32>""",
        ),
        [[counted(4), index] for index in (np.int64(3), *NEAR_AND_FAR)],
    ),
    "a part that does not fill its slice": (
        main(
            "%a: tensor<?x?xf32>, %b: tensor<6x6xf32>, %m: index, %n: index",
            "tensor<6x6xf32>",
            """
  %0 = tensor.insert_slice %a into %b[3, 2] [%m, %n] [1, 1]
      : tensor<?x?xf32> into tensor<6x6xf32>
  return %0 : tensor<6x6xf32>""",
        ),
        [[counted(3, 2), counted(6, 6), np.int64(2), np.int64(3)]],
    ),
    "sizes of new tensors": (
        main(
            "%n: index",
            "tensor<?x?xf32>",
            """
  %e = tensor.empty(%n, %n) : tensor<?x?xf32>
  %0 = math.exp %e : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>""",
        ),
        [[np.int64(-1)], [np.int64(1 << 62)], [np.int64((1 << 63) - 1)]],
    ),
    "a reshape to another size": (
        main(
            "%a: tensor<?xf32>, %s: tensor<1xindex>",
            "tensor<?xf32>",
            """
  %0 = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<1xindex>) -> tensor<?xf32>
  %1 = math.exp %0 : tensor<?xf32>
  return %1 : tensor<?xf32>""",
        ),
        [[counted(4), np.array([5])], [counted(4), np.array([-4])]],
    ),
    "an expansion to another size": (
        main(
            "%a: tensor<?xf32>, %m: index, %n: index",
            "tensor<?x?xf32>",
            """
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%m, %n] : tensor<?xf32> into tensor<?x?xf32>
  return %0 : tensor<?x?xf32>""",
        ),
        [
            [counted(4), np.int64(m), np.int64(n)]
            for m, n in ((2, 3), (-2, -2), (1 << 62, 4), (0, 4))
        ],
    ),
    "data that are no index": (
        main(
            "%t: tensor<9xf32>, %a: tensor<5xindex>, %o: tensor<5xf32>",
            "tensor<5xf32>",
            loops(
                f"{IDENTITY}; {IDENTITY}",
                "parallel",
                "tensor<5xindex>",
                "tensor<5xf32>",
                "%s = tensor.extract %t[%x] : tensor<9xf32>",
            ),
        ),
        [
            [counted(9), np.array([0, 1, -1, 3, 1 << 40]), counted(5)],
            [counted(9), np.array([0, 8, 9, -3, 1]), counted(5)],
        ],
    ),
    "nothing to take an element of": (
        main(
            "%t: tensor<?xf32>, %a: tensor<2xindex>, %o: tensor<2xf32>",
            "tensor<1xf32>",
            loops(
                f"{IDENTITY}; {IDENTITY}",
                "parallel",
                "tensor<2xindex>",
                "tensor<2xf32>",
                "%s = tensor.extract %t[%x] : tensor<?xf32>",
            ).replace(
                "  return %r : tensor<2xf32>",
                """  %p = tensor.extract_slice %r[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  return %p : tensor<1xf32>""",
            ),
        ),
        # The first element is outside, and only the second is asked for.
        [[counted(0), np.array([0, 0]), counted(2)], [counted(3), np.array([3, 0]), counted(2)]],
    ),
    "a dimension that is computed": (
        main(
            "%t: tensor<?x?xf32>, %a: tensor<2xindex>, %o: tensor<2xf32>",
            "tensor<2xf32>",
            loops(
                f"{IDENTITY}; {IDENTITY}",
                "parallel",
                "tensor<2xindex>",
                "tensor<2xf32>",
                """%d = tensor.dim %t, %x : tensor<?x?xf32>
      %k = arith.index_cast %d : index to i32
      %s = arith.sitofp %k : i32 to f32""",
            ),
        ),
        [[counted(2, 3), np.array([1, 2]), counted(2)]],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_native_code_refuses_what_the_interpreter_refuses(name: str) -> None:
    text, calls = REFUSED[name]
    module = api.compile(text).module
    compiled = CompiledProgram(module)
    for inputs in calls:
        with pytest.raises(OperationError) as expected:
            run(module, "main", inputs)
        with pytest.raises(OperationError) as found:
            compiled.run("main", inputs)
        assert found.value.operation is expected.value.operation
        assert found.value.message == expected.value.message


def test_the_first_error_is_the_one_of_the_earlier_operation() -> None:
    """A check that fails while kernels run is found before sizes of what follows."""
    text = """
func.func @main(%t: tensor<9xf32>, %k: tensor<2xindex>, %b: tensor<?xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%k : tensor<2xindex>) outs(%e : tensor<2xf32>) {
    ^bb0(%x: index, %o: f32):
      %v = tensor.extract %t[%x] : tensor<9xf32>
      linalg.yield %v : f32
  } -> tensor<2xf32>
  %1 = tensor.cast %b : tensor<?xf32> to tensor<2xf32>
  %2 = arith.addf %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}"""
    compiled = CompiledProgram(api.compile(text).module)
    with pytest.raises(OperationError, match="has index 9 in dimension 0, which has extent 9"):
        compiled.run("main", [counted(9), np.array([1, 9]), counted(7)])
    with pytest.raises(OperationError, match="casts a tensor of shape 7"):
        compiled.run("main", [counted(9), np.array([1, 8]), counted(7)])


def test_memory_of_the_caller_is_read_at_each_call() -> None:
    text = """
func.func @main(%m: memref<4xf32>, %i: index) -> f32 {
  %0 = memref.load %m[%i] : memref<4xf32>
  return %0 : f32
}"""
    compiled = CompiledProgram(api.compile(text).module)
    assert compiled.run("main", [counted(4), np.int64(2)]) == [2]
    assert compiled.run("main", [counted(4) + 10, np.int64(2)]) == [12]


EQUAL = """
#all = affine_map<(i) -> (i)>
func.func @main(%x: tensor<5xf32>, %i: tensor<3xi32>, %j: tensor<3xi32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  %e = tensor.empty() : tensor<3xf32>
"""
for result, operand in (("%0", "%i"), ("%1", "%j")):
    EQUAL += f"""
  {result} = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel"]}}
      ins({operand} : tensor<3xi32>) outs(%e : tensor<3xf32>) {{
  ^bb0(%number: i32, %old: f32):
    %at = arith.index_cast %number : i32 to index
    %element = tensor.extract %x[%at] : tensor<5xf32>
    linalg.yield %element : f32
  }} -> tensor<3xf32>"""
EQUAL += "\n  return %0, %1 : tensor<3xf32>, tensor<3xf32>\n}"


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_errors_of_equal_kernels_name_their_own_lines(pipeline: str) -> None:
    lines = [n for n, line in enumerate(EQUAL.splitlines(), 1) if "tensor.extract" in line]
    main = api.compile(EQUAL, pipeline)["main"]
    good, bad = np.array([0, 4, 1], np.int32), np.array([0, 5, 1], np.int32)
    for inputs, line in zip(([bad, good], [good, bad]), lines, strict=True):
        with pytest.raises(api.ExecutionError, match=f":{line}:16: error: .* has index 5"):
            main(counted(5), *inputs)


RESIZED = """func.func @main(%a: tensor<{a}>, %s: tensor<{rows}xf32>)
    -> tensor<{rows}x{middle}x{columns}xf32> {{
  %e = tensor.empty() : tensor<{rows}x{middle}x{columns}xf32>
  %c = arith.constant {scale} : f32
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i)>,
      affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%s : tensor<{rows}xf32>) outs(%e : tensor<{rows}x{middle}x{columns}xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %i0 = arith.index_cast %k : index to i64
    %i1 = arith.sitofp %i0 : i64 to f32
    %i2 = arith.mulf %i1, %c : f32
    %i3 = math.floor %i2 : f32
    %i4 = arith.fptosi %i3 : f32 to i64
    %i5 = arith.index_cast %i4 : i64 to index
    %y = tensor.extract %a[%j, %i5] : tensor<{a}>
    %w = arith.mulf %y, %i2 : f32
    %v = arith.addf %w, %x : f32
    linalg.yield %v : f32
  }} -> tensor<{rows}x{middle}x{columns}xf32>
  return %r : tensor<{rows}x{middle}x{columns}xf32>
}}"""
"""`a[j, floor(k * scale)] * (k * scale) + s[i]`."""


@pytest.mark.parametrize("a", ["5x7xf32", "5x?xf32"])
@pytest.mark.parametrize("scale", ["0.5", "-0.1", "2.0"])
@pytest.mark.parametrize(("middle", "columns"), [(5, 13), (0, 13), (6, 13)])
def test_indices_of_a_row_are_computed_once(
    a: str, scale: str, middle: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of each element, and so is the first wrong one; rows that do not exist fail
    not at all."""
    rows, tables = 3, list[bool]()
    write = loop_nests.with_index_tables

    def record(code, body):
        found = write(code, body)
        tables.append(found != body)
        return found

    monkeypatch.setattr(loop_nests, "with_index_tables", record)
    text = RESIZED.format(a=a, scale=scale, rows=rows, middle=middle, columns=columns)
    rng = np.random.default_rng(3)
    inputs = [rng.normal(size=each).astype(np.float32) for each in ((5, 7), rows)]
    program = api.compile(text, ())
    native = CompiledProgram(program.module)
    try:
        (expected,) = run(program.module, "main", inputs)
    except OperationError as error:
        with pytest.raises(OperationError) as refused:
            native.run("main", inputs)
        assert str(refused.value) == str(error)
    else:
        (found,) = native.run("main", inputs)
        np.testing.assert_array_equal(found, expected)
    assert any(tables) or "?" in a

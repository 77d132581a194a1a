"""Matrix products of every element type, in tiles with padding along each side."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import sampled
from mesh_opt.api import compile
from mesh_opt.runtime.abi.arrays import FLOAT_TYPES
from mesh_opt.runtime.abi.values import dtype_of, integer_width, static_shape

TYPES = [
    ("i1", "i1"),
    ("i1", "i32"),
    ("i2", "i4"),
    ("i3", "i8"),
    ("i4", "i32"),
    ("i12", "i32"),
    ("i33", "i64"),
    ("f8E4M3FN", "f32"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("f64", "f64"),
    ("complex<f32>", "complex<f32>"),
]
UNTILED = {("i1", "i1"), ("complex<f32>", "complex<f32>")}
"""Sums of products by other operations than addition and multiplication of numbers."""


def program(factor: str, result: str, microkernels: str) -> str:
    lhs, rhs, sums = f"tensor<5x6x{factor}>", f"tensor<6x9x{factor}>", f"tensor<5x9x{result}>"
    return f"""
#target = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {{
  iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "{microkernels}"}}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
func.func @main(%a: {lhs}, %b: {rhs}, %c: {sums}) -> {sums} {{
  %0 = linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%c : {sums}) -> {sums}
  return %0 : {sums}
}}
"""


WAYS = [
    *((*types, "all") for types in sampled(TYPES, 2)),
    *((*types, "none") for types in sampled(TYPES, 4, 1)),
]


@pytest.mark.parametrize(("factor", "result", "microkernels"), WAYS)
def test_tiled_products(factor: str, result: str, microkernels: str) -> None:
    text = program(factor, result, microkernels)
    plain = compile(text)["main"]
    numbers = np.random.default_rng(0)
    inputs: list[np.ndarray] = []
    for type_ in plain.argument_types:
        width = integer_width(type_)
        low, high = (0, 2) if width == 1 else (-2, 2)
        shape = type_.get_shape()  # type: ignore[attr-defined]
        inputs.append(numbers.integers(low, high, shape).astype(dtype_of(type_)))
    (expected,) = plain.run(inputs)
    tiled = compile(text, "data-tile")
    (found,) = tiled["main"].run(inputs)
    np.testing.assert_array_equal(found, expected)
    names = {op.name for op in tiled.module.walk()}
    assert ("linalg.mmt4d" in names) == ((factor, result) not in UNTILED)


@pytest.mark.parametrize("pipeline", ["data-tile", "compile"])
def test_sums_of_truth_values_are_modulo_two(pipeline: str) -> None:
    head, _, end = program("i1", "i1", "none").partition("  %0 = linalg.matmul")
    maps = ", ".join(f"affine_map<(m, n, k) -> {map_}>" for map_ in ("(m, k)", "(k, n)", "(m, n)"))
    operands, _, end = end.partition("\n")
    operands, arrow, type_ = operands.rpartition(" -> ")
    body = f"""  %0 = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}{operands} {{
  ^bb0(%x: i1, %y: i1, %o: i1):
    %p = arith.muli %x, %y : i1
    %q = arith.addi %o, %p : i1
    linalg.yield %q : i1
  }}{arrow}{type_}
{end}"""
    numbers = np.random.default_rng(0)
    a, b, c = (numbers.integers(0, 2, shape).astype(bool) for shape in ((5, 6), (6, 9), (5, 9)))
    expected = (a.astype(int) @ b + c) % 2
    for backend in ("interpreter", "native"):
        found = compile(head + body, pipeline, backend=backend)["main"].run([a, b, c])[0]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", ["", "0x", "3x5x", "?x5x"])
@pytest.mark.parametrize("element", ["i1", "i3", "i12", "i33", "ui3"])
def test_results_of_odd_widths_are_narrowed_natively(element: str, shape: str) -> None:
    kind = f"tensor<{shape}{element}>"
    text = f"""func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %0 = stablehlo.add %a, %b : {kind}
  return %0 : {kind}
}}"""
    plain = compile(text)["main"]
    width, dtype = integer_width(plain.argument_types[0]), dtype_of(plain.argument_types[0])
    numbers = np.random.default_rng(0).integers(0, 1 << (width or 0), (2, 3, 5))
    if element.startswith("i") and width != 1:
        numbers -= 1 << (width or 0) - 1
    size = [3 if each < 0 else each for each in static_shape(plain.argument_types[0]) or ()]
    inputs = [np.resize(each.astype(dtype), size) for each in numbers]
    compiled = compile(text, "compile")
    assert "python" not in compiled.host_code
    np.testing.assert_array_equal(compiled["main"].run(inputs)[0], plain.reference(inputs)[0])


def test_constants_of_odd_widths() -> None:
    widths = {3: [-4, 3, -1], 12: [-2048, 2047, -1], 33: [-(1 << 32), (1 << 32) - 1, -1]}
    names = ", ".join(f"%c{width}" for width in widths)
    types = ", ".join(f"tensor<3xi{width}>" for width in widths)
    constants = "\n".join(
        f"  %c{width} = arith.constant dense<{values}> : tensor<3xi{width}>"
        for width, values in widths.items()
    )
    text = f"""#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<3xi64>) -> tensor<3xi64> {{
{constants}
  %0 = linalg.generic {{indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}}
    ins({names} : {types}) outs(%a : tensor<3xi64>) {{
  ^bb0(%x: i3, %y: i12, %z: i33, %o: i64):
    %1 = arith.extsi %x : i3 to i64
    %2 = arith.extsi %y : i12 to i64
    %3 = arith.extui %z : i33 to i64
    %4 = arith.addi %1, %2 : i64
    %5 = arith.addi %3, %4 : i64
    %6 = arith.addi %o, %5 : i64
    linalg.yield %6 : i64
  }} -> tensor<3xi64>
  return %0 : tensor<3xi64>
}}"""
    a = np.array([1, 2, 3])
    wanted = a + np.array(widths[3]) + np.array(widths[12]) + np.array(widths[33]) % (1 << 33)
    for pipeline in ("", "data-tile"):
        for backend in ("interpreter", "native"):
            compiled = compile(text, pipeline, backend=backend)
            np.testing.assert_array_equal(compiled["main"].run([a])[0], wanted)


@pytest.mark.parametrize("element", [name for name in FLOAT_TYPES if name not in ("f32", "f64")])
def test_arguments_and_results_of_float_types(element: str) -> None:
    given, taken = f"tensor<2x4x{element}>", "tensor<2x4xf32>"
    main = compile(
        f"""
func.func @main(%a: {given}) -> ({given}, {taken}) {{
  %0 = arith.extf %a : {given} to {taken}
  return %a, %0 : {given}, {taken}
}}
""",
        "compile",
    ).main
    numbers = np.array([[1, 2, 4, 1], [2, 1, 1, 4]], FLOAT_TYPES[element])
    same, wide = main(numbers)
    assert np.array_equal(same, numbers)
    assert np.array_equal(wide, numbers.astype(np.float32))

"""The factor rule of every kind of operation, as text."""

from __future__ import annotations

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.rules.builder import elementwise_rule
from mesh_opt.passes.sharding.rules.registry import factor_rule, sharding_rule
from mesh_opt.passes.sharding.rules.reshapes import common_factors
from mesh_opt.passes.sharding.rules.rule_cache import RuleCache
from mesh_opt.passes.sharding.rules.tensor import slice_positions
from mesh_opt.tools.driver import new_context
from xdsl.dialects.test import TestOp as UnknownOp
from xdsl.ir import Operation


def operations(text: str, arguments: str = "") -> list[Operation]:
    module = parse_module(
        new_context(), Source(f"func.func @f({arguments}) {{\n{text}\nreturn\n}}", "test")
    )
    module.verify()
    return [op for op in module.walk() if op.name not in ("builtin.module", "func.func")]


def shown(text: str, arguments: str) -> str:
    """The rule of the operation that makes `%r`."""
    for operation in operations(text, arguments):
        if operation.results and operation.results[0].name_hint == "r":
            return str(factor_rule(operation))
    raise AssertionError("no %r")


ROWS = "affine_map<(i, j) -> (i)>"
BOTH = "affine_map<(i, j) -> (i, j)>"
ADD = "^bb0(%a: f32, %b: f32):\n  %s = arith.addf %a, %b : f32\n  linalg.yield %s : f32\n"
COPY = "^bb0(%a: f32, %b: f32):\n  linalg.yield %a : f32\n"


def generic(maps: str, iterators: str, types: tuple[str, str], body: str = COPY) -> str:
    return (
        f"%r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
        f"ins(%x : {types[0]}) outs(%y : {types[1]}) {{\n{body}}} -> {types[1]}"
    )


PARALLEL = '"parallel"'
REDUCTION = '"reduction"'

CASES = {
    "matmul": (
        "%r = linalg.matmul ins(%x, %y : tensor<4x6xf32>, tensor<6x8xf32>) "
        "outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>",
        "%x: tensor<4x6xf32>, %y: tensor<6x8xf32>, %z: tensor<4x8xf32>",
        "([f0, f2], [f2, f1], [f0, f1]) -> ([f0, f1]) {f2=reduction}",
    ),
    "sum": (
        generic(
            f"{BOTH}, {ROWS}", f"{PARALLEL}, {REDUCTION}", ("tensor<4x6xf32>", "tensor<4xf32>"), ADD
        ),
        "%x: tensor<4x6xf32>, %y: tensor<4xf32>",
        "([f0, f1], [f0]) -> ([f0]) {f1=reduction}",
    ),
    "no combiner": (
        generic(
            f"{BOTH}, {ROWS}", f"{PARALLEL}, {REDUCTION}", ("tensor<4x6xf32>", "tensor<4xf32>")
        ),
        "%x: tensor<4x6xf32>, %y: tensor<4xf32>",
        "([f0, f1], [f0]) -> ([f0]) {f1=need_replication}",
    ),
    "read at a constant": (
        generic(
            f"affine_map<(i, j) -> (i, 0)>, {BOTH}",
            f"{PARALLEL}, {PARALLEL}",
            ("tensor<4x1xf32>", "tensor<4x6xf32>"),
        ),
        "%x: tensor<4x1xf32>, %y: tensor<4x6xf32>",
        "([f0, 1], [f0, f1]) -> ([f0, f1])",
    ),
    "diagonal": (
        generic(
            "affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>",
            PARALLEL,
            ("tensor<4x4xf32>", "tensor<4xf32>"),
        ),
        "%x: tensor<4x4xf32>, %y: tensor<4xf32>",
        "([f0, f0], [f0]) -> ([f0]) {f0=need_replication}",
    ),
    "stride": (
        generic(
            "affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>",
            PARALLEL,
            ("tensor<8xf32>", "tensor<4xf32>"),
        ),
        "%x: tensor<8xf32>, %y: tensor<4xf32>",
        "([f0], [f0]) -> ([f0]) {f0=permutation}",
    ),
    "modulo": (
        generic(
            "affine_map<(i) -> (i mod 2)>, affine_map<(i) -> (i)>",
            PARALLEL,
            ("tensor<2xf32>", "tensor<4xf32>"),
        ),
        "%x: tensor<2xf32>, %y: tensor<4xf32>",
        "([1], [f0]) -> ([f0]) {f0=need_replication}",
    ),
    "convolution": (
        "%r = linalg.conv_1d ins(%x, %y : tensor<10xf32>, tensor<3xf32>) "
        "outs(%z : tensor<8xf32>) -> tensor<8xf32>",
        "%x: tensor<10xf32>, %y: tensor<3xf32>, %z: tensor<8xf32>",
        "([f0], [f1], [f0]) -> ([f0]) {f0=permutation, f1=need_replication}",
    ),
    "fill": (
        "%r = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>",
        "%x: tensor<4xf32>, %c: f32",
        "([], [f0]) -> ([f0])",
    ),
    "broadcast": (
        "%r = linalg.broadcast ins(%x : tensor<6xf32>) outs(%y : tensor<4x6xf32>) dimensions = [0]",
        "%x: tensor<6xf32>, %y: tensor<4x6xf32>",
        "([f1], [f0, f1]) -> ([f0, f1])",
    ),
    "transpose": (
        "%r = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%y : tensor<6x4xf32>) "
        "permutation = [1, 0]",
        "%x: tensor<4x6xf32>, %y: tensor<6x4xf32>",
        "([f1, f0], [f0, f1]) -> ([f0, f1])",
    ),
    "softmax": (
        "%r = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) "
        "outs(%y : tensor<4x6xf32>) -> tensor<4x6xf32>",
        "%x: tensor<4x6xf32>, %y: tensor<4x6xf32>",
        "([f0, f1], [f0, f1]) -> ([f0, f1]) {f1=need_replication}",
    ),
    "pack": (
        "%r = linalg.pack %x inner_dims_pos = [1] inner_tiles = [4] into %y "
        ": tensor<6x8xf32> -> tensor<6x2x4xf32>",
        "%x: tensor<6x8xf32>, %y: tensor<6x2x4xf32>",
        "([f0, f1f2], [f0, f1, f2]) -> ([f0, f1, f2]) {f2=need_replication}",
    ),
    "arith": (
        "%r = arith.addf %x, %x : tensor<4xf32>",
        "%x: tensor<4xf32>",
        "([f0], [f0]) -> ([f0])",
    ),
    "math": ("%r = math.exp %x : tensor<4xf32>", "%x: tensor<4xf32>", "([f0]) -> ([f0])"),
    "constant": ("%r = arith.constant dense<1.0> : tensor<4x2xf32>", "", "() -> ([f0, f1])"),
    "scalar": ("%r = arith.addi %n, %n : index", "%n: index", "([], []) -> ([])"),
    "dim": (
        "%c = arith.constant 0 : index\n%r = tensor.dim %x, %c : tensor<?x4xf32>",
        "%x: tensor<?x4xf32>",
        "([f0, f1], []) -> ([])",
    ),
    "extract": (
        "%r = tensor.extract %x[%n] : tensor<4xf32>",
        "%x: tensor<4xf32>, %n: index",
        "([f0], []) -> ([]) {f0=need_replication}",
    ),
    "concat": (
        "%r = tensor.concat dim(1) %x, %x : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>",
        "%x: tensor<4x2xf32>",
        "([f0, f1], [f0, f1]) -> ([f0, f1]) {f1=permutation}",
    ),
    "concat of an unknown extent": (
        "%r = tensor.concat dim(1) %x, %y : (tensor<4x2xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>",
        "%x: tensor<4x2xf32>, %y: tensor<4x?xf32>",
        "([f0, f2], [f0, f3]) -> ([f0, f1]) "
        "{f1=need_replication, f2=need_replication, f3=need_replication}",
    ),
    "slice": (
        "%r = tensor.extract_slice %x[0, 1] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>",
        "%x: tensor<8x4xf32>",
        "([f0, f1]) -> ([f0, f1]) {f1=permutation}",
    ),
    "slice of one element": (
        "%r = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>",
        "%x: tensor<8x4xf32>",
        "([f0, f1]) -> ([f1]) {f0=selection}",
    ),
    "dynamic slice": (
        "%r = tensor.extract_slice %x[0, %o] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>",
        "%x: tensor<8x4xf32>, %o: index",
        "([f0, f1], []) -> ([f0, f2]) {f1=need_replication, f2=need_replication}",
    ),
    "insertion": (
        "%r = tensor.insert_slice %x into %y[0, 3] [8, 1] [1, 1] "
        ": tensor<8xf32> into tensor<8x4xf32>",
        "%x: tensor<8xf32>, %y: tensor<8x4xf32>",
        "([f0], [f0, f1]) -> ([f0, f1]) {f1=permutation}",
    ),
    "pad": (
        "%r = tensor.pad %x low[0, 1] high[0, 1] {\n^bb0(%i: index, %j: index):\n"
        "  tensor.yield %c : f32\n} : tensor<8x4xf32> to tensor<8x6xf32>",
        "%x: tensor<8x4xf32>, %c: f32",
        "([f0, f1]) -> ([f0, f1]) {f1=permutation}",
    ),
    "expand": (
        "%r = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 3] "
        ": tensor<4x6xf32> into tensor<4x2x3xf32>",
        "%x: tensor<4x6xf32>",
        "([f0, f1f2]) -> ([f0, f1, f2])",
    ),
    "collapse": (
        "%r = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>",
        "%x: tensor<4x6xf32>",
        "([f0, f1]) -> ([f0f1])",
    ),
    "size-1 broadcast": (
        "%r = tosa.add %x, %y : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>",
        "%x: tensor<4x8xf32>, %y: tensor<1x8xf32>",
        "([f0, f1], [1, f1]) -> ([f0, f1])",
    ),
    "tosa sum": (
        "%r = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x1xf32>",
        "%x: tensor<4x8xf32>",
        "([f0, f1]) -> ([f0, 1]) {f1=reduction}",
    ),
    "tosa matmul": (
        "%r = tosa.matmul %x, %y, %z, %z : (tensor<2x4x8xf32>, tensor<2x8x6xf32>, tensor<1xf32>, "
        "tensor<1xf32>) -> tensor<2x4x6xf32>",
        "%x: tensor<2x4x8xf32>, %y: tensor<2x8x6xf32>, %z: tensor<1xf32>",
        "([f0, f1, f3], [f0, f3, f2], [1], [1]) -> ([f0, f1, f2]) {f3=reduction}",
    ),
    "tosa transpose": (
        "%r = tosa.transpose %x {perms = array<i32: 2, 0, 1>} "
        ": (tensor<2x4x8xf32>) -> tensor<8x2x4xf32>",
        "%x: tensor<2x4x8xf32>",
        "([f1, f2, f0]) -> ([f0, f1, f2])",
    ),
    "alloc_tensor": (
        "%r = bufferization.alloc_tensor() : tensor<4x6xf32>",
        "",
        "() -> ([f0, f1])",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    text, arguments, expected = CASES[name]
    assert shown(text, arguments) == expected


def test_an_operation_without_a_rule_has_none() -> None:
    (made,) = operations("%r = tensor.empty() : tensor<4xf32>")[:1]
    unknown = UnknownOp.create(operands=[made.results[0]], result_types=[made.results[0].type])
    assert factor_rule(unknown) is None
    assert str(factor_rule(UnknownOp.create())) == "() -> ()"


def test_other_compilers_register_their_own() -> None:
    @sharding_rule("test.op_with_a_rule")
    def own(operation: Operation):
        return elementwise_rule(operation)

    with pytest.raises(ValueError, match="already has"):
        sharding_rule("test.op_with_a_rule")(lambda operation: None)
    sharding_rule("test.op_with_a_rule")(own)


@pytest.mark.parametrize(
    ("before", "after", "sizes", "whole"),
    [
        ((8,), (2, 4), [2, 4], set()),
        ((2, 3, 4), (6, 4), [2, 3, 4], set()),
        ((1, 8), (8, 1), [8], set()),
        ((6, 4), (2, 12), [2, 3, 4], set()),
        ((6, 4), (4, 6), [6, 4, 4, 6], {0, 1, 2, 3}),
    ],
)
def test_reshapes(
    before: tuple[int, ...], after: tuple[int, ...], sizes: list[int], whole: set[int]
) -> None:
    found, _, _, misaligned = common_factors(before, after)
    assert (found, misaligned) == (sizes, whole)


def test_reshapes_without_elements() -> None:
    """No common divisor can be split off an extent of 0: leading dimensions pass through."""
    text = "%r = tensor.reshape %x(%s) : (tensor<{}xf32>, tensor<{}xi64>) -> tensor<{}xf32>"
    for before, after, rule in (
        ("0x4", "0", "([f0, f1], [1]) -> ([f0]) {f1=need_replication}"),
        ("4x0", "0x4", "([f0, f2], [1]) -> ([f1, f3])"),
        ("4x0", "4x0x3", "([f0, f1], [1]) -> ([f0, f1, f2]) {f2=need_replication}"),
    ):
        rank = len(after.split("x"))
        arguments = f"%x: tensor<{before}xf32>, %s: tensor<{rank}xi64>"
        assert shown(text.format(before, rank, after), arguments).startswith(rule)


def test_dropped_dimensions_of_slices() -> None:
    assert slice_positions((4, 1, 2), (4, 2)) == [0, None, 1]
    assert slice_positions((1, 1, 2), (1, 2)) in ([None, 0, 1], [0, None, 1])
    assert slice_positions((4, 2), (4, 3)) is None


def test_the_cache_gives_equal_rules_as_one_object() -> None:
    text = (
        "%a = arith.addf %x, %x : tensor<4xf32>\n%b = arith.addf %a, %x : tensor<4xf32>\n"
        "%c = arith.mulf %a, %x : tensor<4xf32>"
    )
    cache = RuleCache()
    rules = [cache.rule_of(op) for op in operations(text, "%x: tensor<4xf32>")[:3]]
    assert rules[0] is rules[1] is rules[2]
    assert rules[0] is not None


def test_the_cache_knows_equal_attributes_that_are_two_objects() -> None:
    text = "".join(
        f"%{name} = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] "
        ": tensor<4xf32> into tensor<2x2xf32>\n"
        for name in "ab"
    )
    first, second = operations(text, "%x: tensor<4xf32>")[:2]
    assert first.properties["reassociation"] is not second.properties["reassociation"]
    cache = RuleCache()
    assert cache.rule_of(first) is cache.rule_of(second) is not None


def test_products_share_the_maps_that_nobody_wrote() -> None:
    square = "tensor<4x4xf32>"
    text = "".join(
        f"%{name} = linalg.matmul ins(%x, %x : {square}, {square}) outs(%x : {square})"
        f" -> {square}\n"
        for name in "ab"
    )
    found = operations(text, f"%x: {square}")
    first, second = (each for each in found if each.name == "linalg.matmul")
    assert first.properties["indexing_maps"] is second.properties["indexing_maps"]

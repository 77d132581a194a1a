"""The view of structured operations as loop nests."""

from __future__ import annotations

import pytest
from mesh_opt.dialects.linalg.structured_view import (
    IteratorType,
    StructuredView,
    remembered_views,
    structured_view,
)
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


def operation(text: str, arguments: str) -> Operation:
    """The first linalg operation of a function with these arguments."""
    program = f"func.func @f({arguments}) {{\n{text}\nreturn\n}}"
    module: ModuleOp = parse_module(new_context(), Source(program, "test"))
    module.verify()
    return next(op for op in module.walk() if op.name.startswith("linalg."))


def view(text: str, arguments: str) -> StructuredView:
    found = structured_view(operation(text, arguments))
    assert found is not None
    return found


def maps(found: StructuredView) -> list[str]:
    return [str(each) for each in found.maps]


def body(found: StructuredView) -> list[str]:
    return [op.name for op in found.body.ops]


def test_matmul() -> None:
    found = view(
        "%r = linalg.matmul ins(%a, %b : tensor<4x8xi8>, tensor<8x6xi8>) "
        "outs(%c : tensor<4x6xi32>) -> tensor<4x6xi32>",
        "%a: tensor<4x8xi8>, %b: tensor<8x6xi8>, %c: tensor<4x6xi32>",
    )
    assert maps(found) == [
        "(d0, d1, d2) -> (d0, d2)",
        "(d0, d1, d2) -> (d2, d1)",
        "(d0, d1, d2) -> (d0, d1)",
    ]
    assert found.iterators == (P, P, R)
    assert found.reduction_loops == (2,)
    assert found.loop_sizes() == (4, 6, 8)
    assert (len(found.inputs), len(found.outputs)) == (2, 1)
    assert found.input_maps == found.maps[:2]
    assert found.output_maps == found.maps[2:]
    assert body(found) == ["arith.extsi", "arith.extsi", "arith.muli", "arith.addi", "linalg.yield"]


def test_cast_chooses_the_conversion() -> None:
    found = view(
        "%r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} "
        "ins(%a, %a : tensor<4x4xi8>, tensor<4x4xi8>) outs(%c : tensor<4x4xf32>) "
        "-> tensor<4x4xf32>",
        "%a: tensor<4x4xi8>, %c: tensor<4x4xf32>",
    )
    assert body(found)[:2] == ["arith.uitofp", "arith.uitofp"]


def test_dynamic_sizes_are_unknown() -> None:
    found = view(
        "%r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) "
        "outs(%c : tensor<?x6xf32>) -> tensor<?x6xf32>",
        "%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x6xf32>",
    )
    assert found.loop_sizes() == (None, 6, 8)


def test_transposed_matmul_has_its_own_maps() -> None:
    found = view(
        "%r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, "
        "affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] "
        "ins(%a, %b : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) "
        "-> tensor<4x6xf32>",
        "%a: tensor<4x8xf32>, %b: tensor<6x8xf32>, %c: tensor<4x6xf32>",
    )
    assert maps(found)[1] == "(d0, d1, d2) -> (d1, d2)"
    assert found.iterators == (P, P, R)


def test_contract_reduces_what_the_output_leaves_out() -> None:
    found = view(
        "%r = linalg.contract indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, "
        "affine_map<(b, m, k) -> (b, k)>, affine_map<(b, m, k) -> (m)>] "
        "ins(%a, %b : tensor<2x4x8xf32>, tensor<2x8xf32>) outs(%c : tensor<4xf32>) "
        "-> tensor<4xf32>",
        "%a: tensor<2x4x8xf32>, %b: tensor<2x8xf32>, %c: tensor<4xf32>",
    )
    assert found.iterators == (R, P, R)


def test_strides_and_dilations_are_in_the_map() -> None:
    found = view(
        "%r = linalg.conv_1d_nwc_wcf {dilations = dense<2> : tensor<1xi64>, "
        "strides = dense<3> : tensor<1xi64>} ins(%x, %k : tensor<1x11x2xf32>, tensor<3x2x5xf32>) "
        "outs(%o : tensor<1x3x5xf32>) -> tensor<1x3x5xf32>",
        "%x: tensor<1x11x2xf32>, %k: tensor<3x2x5xf32>, %o: tensor<1x3x5xf32>",
    )
    assert maps(found)[0] == "(d0, d1, d2, d3, d4) -> (d0, ((d1 * 3) + (d3 * 2)), d4)"
    assert found.iterators == (P, P, P, R, R)
    assert found.loop_sizes() == (1, 3, 5, 3, 2)


@pytest.mark.parametrize("shape", ["", "4x", "2x3x4x"])
def test_elementwise_of_any_rank(shape: str) -> None:
    tensor = f"tensor<{shape}f32>"
    found = view(
        f"%r = linalg.exp ins(%x : {tensor}) outs(%x : {tensor}) -> {tensor}", f"%x: {tensor}"
    )
    rank = shape.count("x")
    assert found.iterators == (P,) * rank
    assert [each.num_dims for each in found.maps] == [rank, rank]
    assert body(found) == ["math.exp", "linalg.yield"]


def test_fill_reads_a_scalar() -> None:
    found = view(
        "%r = linalg.fill ins(%z : f32) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>",
        "%z: f32, %x: tensor<4x6xf32>",
    )
    assert maps(found) == ["(d0, d1) -> ()", "(d0, d1) -> (d0, d1)"]


def test_transpose_reads_at_the_inverse_permutation() -> None:
    found = view(
        "%r = linalg.transpose ins(%x : tensor<2x3x4xf32>) outs(%o : tensor<4x2x3xf32>) "
        "permutation = [2, 0, 1]",
        "%x: tensor<2x3x4xf32>, %o: tensor<4x2x3xf32>",
    )
    assert maps(found)[0] == "(d0, d1, d2) -> (d1, d2, d0)"
    assert found.loop_sizes() == (4, 2, 3)


def test_broadcast_drops_the_new_dimensions() -> None:
    found = view(
        "%r = linalg.broadcast ins(%v : tensor<3xf32>) outs(%o : tensor<2x3x4xf32>) "
        "dimensions = [0, 2]",
        "%v: tensor<3xf32>, %o: tensor<2x3x4xf32>",
    )
    assert maps(found)[0] == "(d0, d1, d2) -> (d1)"


def test_reduce_with_several_operands() -> None:
    found = view(
        "%r, %s = linalg.reduce ins(%x, %i : tensor<4x6xf32>, tensor<4x6xi32>) "
        "outs(%v, %w : tensor<6xf32>, tensor<6xi32>) dimensions = [0] "
        "(%a: f32, %b: i32, %c: f32, %d: i32) { linalg.yield %c, %d : f32, i32 }",
        "%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %v: tensor<6xf32>, %w: tensor<6xi32>",
    )
    assert (len(found.inputs), len(found.outputs)) == (2, 2)
    assert found.iterators == (R, P)
    assert [str(each) for each in found.output_maps] == ["(d0, d1) -> (d1)"] * 2


def test_short_forms_take_the_accumulator_first() -> None:
    found = view(
        "%r = linalg.reduce { arith.subf } ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) "
        "dimensions = [1]",
        "%x: tensor<4x6xf32>, %v: tensor<4xf32>",
    )
    subtraction = found.body.first_op
    assert subtraction is not None
    assert tuple(subtraction.operands) == (found.body.args[1], found.body.args[0])


def test_map_has_an_argument_for_the_output() -> None:
    found = view(
        "%r = linalg.map { arith.addf } ins(%x, %x : tensor<4xf32>, tensor<4xf32>) "
        "outs(%x : tensor<4xf32>)",
        "%x: tensor<4xf32>",
    )
    assert len(found.body.args) == 3
    assert len(found.maps) == 3


@pytest.mark.parametrize(
    "text",
    [
        "%r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) "
        "-> tensor<4x8xf32>",
        "%r = linalg.pack %x inner_dims_pos = [1] inner_tiles = [4] into %p : tensor<4x8xf32> "
        "-> tensor<4x2x4xf32>",
    ],
)
def test_other_operations_have_no_view(text: str) -> None:
    found = operation(text, "%x: tensor<4x8xf32>, %p: tensor<4x2x4xf32>")
    assert structured_view(found) is None


def test_classes_of_others_are_recognised_by_name() -> None:
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.dialects.linalg import Linalg
    from xdsl.parser import Parser

    context = Context()
    for dialect in (Builtin, Func, Linalg):
        context.load_dialect(dialect)
    module = Parser(
        context,
        "func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) {\n"
        "%r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) "
        "outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>\nfunc.return\n}",
    ).parse_module()
    matmul = next(op for op in module.walk() if op.name == "linalg.matmul")
    found = structured_view(matmul)
    assert found is not None
    assert found.iterators == (P, P, R)
    assert found.body is matmul.regions[0].block


def test_body_without_region_is_made_once() -> None:
    texts = "%a: tensor<4xf32>, %b: tensor<4xf32>"
    first = operation(
        "%r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) "
        "-> tensor<4xf32>",
        texts,
    )
    first.regions[0].blocks[0].erase_op(first.regions[0].blocks[0].ops.last)
    first.regions[0].detach_block(0)
    views = [structured_view(first), structured_view(first)]
    assert views[0] is not None and views[1] is not None
    assert views[0].body is views[1].body
    assert body(views[0]) == ["arith.addf", "linalg.yield"]


def test_remembered_views_are_read_once() -> None:
    fill = operation(
        "%r = linalg.fill ins(%a : f32) outs(%b : tensor<4xf32>) -> tensor<4xf32>",
        "%a: f32, %b: tensor<4xf32>",
    )
    with remembered_views():
        first = structured_view(fill)
        assert first is not None
        assert structured_view(fill) is first
    fill.operands[1] = fill.results[0]
    second = structured_view(fill)
    assert second is not None
    assert second.outputs == (fill.results[0],)

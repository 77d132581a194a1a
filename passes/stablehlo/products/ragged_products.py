"""Convert `chlo.ragged_dot`: a product with one matrix, or one sum, for each group of rows.

Group sizes are dynamic. With sizes `[2, 0, 3]` the positions along the ragged dimension belong to
the groups `0 0 2 2 2`; positions after all groups belong to none.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from ....dialects.chlo.ragged_dot import RaggedDimensions, ragged_dimensions
from ....ir.index import IndexOrInt
from ..elementwise.conversions import convert, convert_tensor
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import Body, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from .dot_products import accumulator, add, contract, multiply

_I64 = kind(i64)


@tensor_rule("chlo.ragged_dot")
def _ragged_dot(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    left, right, sizes = operands
    roles = ragged_dimensions(op)
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    if roles.ragged in roles.batch[0]:
        lists = (*roles.batch, *roles.summed)
        return [contract(e, (left, right), kinds, lists)]
    numbers = _group_numbers(lowering, op, sizes, roles)
    by_group = roles.ragged in roles.summed[0]
    groups = e.size(sizes, len(shape(sizes)) - 1) if by_group else None
    return [_product(e, (left, right, numbers), roles, kinds, groups)]


def _group_numbers(
    lowering: Lowering, op: Operation, sizes: SSAValue, roles: RaggedDimensions
) -> SSAValue:
    """Return the group number of each position along the ragged dimension.

    The tensor has the outer dimensions of `sizes`, then the ragged one. Positions after all groups
    hold the number of groups.
    """
    e = lowering.emit
    left = lowering.value(op.operands[0])
    outer = len(shape(sizes)) - 1
    own = operand_kind(op, 2)
    loops = outer + 2
    over = [e.size(sizes, dimension) for dimension in range(outer)]
    groups, rows = e.size(sizes, outer), e.size(left, roles.ragged)

    def summed(values: SSAValue, extent: IndexOrInt, body: Body) -> SSAValue:
        """Reduce the last dimension of `values` for each of `extent` positions."""
        (result,) = e.loops(
            [values],
            [dims(*range(outer), outer + 1, loops=loops)],
            [e.fill(e.constant(0, i64), [*over, extent])],
            [dims(*range(outer + 1), loops=loops)],
            body,
        )
        return result

    def ends(scalar: Emitter, args: Tensors) -> Tensors:
        """Sum the sizes up to this group."""
        size = convert(scalar, args[0], own, _I64)
        before = scalar.compare_integers(
            "sle", scalar.loop_index(outer + 1), scalar.loop_index(outer)
        )
        total = scalar.op("arith.addi", args[1], size)
        return [scalar.select(before, total, args[1])]

    def counted(scalar: Emitter, args: Tensors) -> Tensors:
        """Count the groups that end at this position or before it."""
        position = scalar.from_index(scalar.loop_index(outer), i64)
        ended = scalar.compare_integers("sle", args[0], position)
        return [scalar.op("arith.addi", args[1], scalar.op("arith.extui", ended, to=i64))]

    return summed(summed(sizes, groups, ends), rows, counted)


def _product(
    e: Emitter,
    operands: Tensors,
    roles: RaggedDimensions,
    kinds: tuple[Kind, Kind, Kind],
    groups: IndexOrInt | None,
) -> SSAValue:
    """Emit the contraction. With `groups`, the result has a leading dimension of one sum per group;
    else each row is multiplied by the slice of the right side that belongs to its group."""
    left, right, numbers = operands
    rows = roles.free(0, len(shape(left)))
    columns = roles.free(1, len(shape(right)))
    ahead = 0 if groups is None else 1
    names = [*roles.batch[0], *rows]
    left_loops = {dimension: ahead + index for index, dimension in enumerate(names)}
    outer = ahead + len(names) + len(columns)
    left_loops |= {dimension: outer + index for index, dimension in enumerate(roles.summed[0])}
    right_loops = {dimension: ahead + index for index, dimension in enumerate(roles.batch[1])}
    right_loops |= {
        dimension: ahead + len(names) + index for index, dimension in enumerate(columns)
    }
    right_loops |= {dimension: outer + index for index, dimension in enumerate(roles.summed[1])}
    loops = outer + len(roles.summed[0])
    sized = roles.outer(len(shape(left))) if len(shape(numbers)) > 1 else []
    total = accumulator(kinds)
    sizes = [
        *([] if groups is None else [groups]),
        *(e.size(left, dimension) for dimension in names),
        *(e.size(right, dimension) for dimension in columns),
    ]
    inputs, maps = (
        [left, numbers],
        [
            dims(*(left_loops[dimension] for dimension in range(len(left_loops))), loops=loops),
            dims(*(left_loops[dimension] for dimension in (*sized, roles.ragged)), loops=loops),
        ],
    )
    if groups is not None:
        inputs.append(right)
        maps.append(
            dims(*(right_loops[dimension] for dimension in range(len(right_loops))), loops=loops)
        )
    results = e.loops(
        inputs,
        maps,
        [e.fill(e.constant(0, total.type), sizes)],
        [dims(*range(outer), loops=loops)],
        _body(e, right, right_loops, roles, kinds),
    )
    return convert_tensor(e, results[0], total, kinds[2])


def _body(
    e: Emitter,
    right: SSAValue,
    right_loops: dict[int, int],
    roles: RaggedDimensions,
    kinds: tuple[Kind, Kind, Kind],
) -> Body:
    """Return the body that adds a product if the left element belongs to the group."""
    total = accumulator(kinds)
    extent = e.size(right, roles.group[0]) if roles.group else None

    def body(inner: Emitter, args: Tensors) -> Tensors:
        if extent is None:
            first, number, second, carried = args
            own = inner.from_index(inner.loop_index(0), i64)
            hit = inner.compare_integers("eq", number, own)
        else:
            first, number, carried = args
            hit, group = inner.clamp_to_dimension(inner.to_index(number), extent)
            indices = [
                group if dimension in roles.group else inner.loop_index(right_loops[dimension])
                for dimension in range(len(shape(right)))
            ]
            second = inner.element(right, indices)
        pair = (convert(inner, first, kinds[0], total), convert(inner, second, kinds[1], total))
        sum_ = add(inner, total, carried, multiply(inner, total, *pair))
        return [inner.select(hit, sum_, carried)]

    return body

"""The `tm_tensor` dialect of torch-mlir: what it emits besides linalg.

Each op writes into its `outs`, and has results if these are tensors. The bodies of `scan`,
`scatter`, `sort` and `topk` work on elements and end in `tm_tensor.yield`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, ShapedType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import attribute, element_type, integer, number_list
from ..ir.dialect_extension import dialect_of
from ..ir.syntax.rows import Rows
from ..ir.tensor_types import shape_text, shapes_agree, sizes_agree
from .linalg.base import DestinationEffects
from .linalg.checks import only_block, verify_destinations

YIELD = "tm_tensor.yield"


def group_sizes(op: Operation) -> tuple[int, int]:
    """Return the number of `ins` operands and of `outs` operands."""
    inputs, outputs = number_list(attribute(op, "operandSegmentSizes"))
    return inputs, outputs


def _groups(op: Operation, inputs: Sequence[int], outputs: int) -> None:
    found = group_sizes(op)
    if found[0] not in inputs or found[1] != outputs:
        wanted = " or ".join(map(str, inputs))
        raise VerifyException(
            f"expected {wanted} operands in ins and {outputs} in outs, found {found[0]} and"
            f" {found[1]}"
        )
    verify_destinations(op, *found)
    for index in range(sum(found)):
        _shape(op, index)


def _shape(op: Operation, index: int) -> tuple[int, ...]:
    type_ = op.operands[index].type
    if not isinstance(type_, ShapedType):
        raise VerifyException(f"expected a tensor or memref as operand #{index}, found {type_}")
    return tuple(type_.get_shape())


def _element(op: Operation, index: int) -> Attribute:
    return element_type(op.operands[index].type)


def _same(op: Operation, one: int, other: int, *, shapes: bool) -> None:
    """Check that two operands have the same element type, and optionally the same shape."""
    found = (_element(op, one), _element(op, other))
    if found[0] != found[1]:
        raise VerifyException(
            f"expected operands #{one} and #{other} to have the same element type, found "
            f"{found[0]} and {found[1]}"
        )
    if shapes:
        _same_shape(op, one, other)


def _same_shape(op: Operation, one: int, other: int) -> None:
    left, right = _shape(op, one), _shape(op, other)
    if not shapes_agree(left, right):
        raise VerifyException(
            f"expected operands #{one} and #{other} to have the same shape, found "
            f"[{shape_text(left)}] and [{shape_text(right)}]"
        )


def _dimension(op: Operation, rank: int) -> int:
    found = integer(op, "dimension")
    if not 0 <= found < rank:
        raise VerifyException(f"expected a dimension in [0, {rank}), found {found}")
    return found


def _body(op: Operation, arguments: Sequence[Attribute], result: Attribute) -> None:
    """Check that the body takes elements of these types and yields one value."""
    block = only_block(op.regions[0])
    found = [each.type for each in block.args]
    if found != list(arguments):
        raise VerifyException(
            f"expected a body with arguments {_listed(arguments)}, found {_listed(found)}"
        )
    end = _end(block)
    if list(end.operand_types) != [result]:
        raise VerifyException(
            f"expected its body to yield {_listed([result])}, found {_listed(end.operand_types)}"
        )


def _end(block: Block) -> Operation:
    last = block.last_op
    if last is None or last.name != YIELD:
        raise VerifyException(f"expected a body that ends with '{YIELD}'")
    return last


def _listed(types: Sequence[Attribute]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _scan(op: Operation) -> None:
    _groups(op, (1,), 2)
    _same(op, 0, 1, shapes=True)
    _same(op, 0, 2, shapes=False)
    sizes = _shape(op, 0)
    dimension = _dimension(op, len(sizes))
    kept = sizes[:dimension] + sizes[dimension + 1 :]
    if not shapes_agree(kept, _shape(op, 2)):
        raise VerifyException(
            f"expected an accumulator of shape [{shape_text(kept)}], found"
            f" [{shape_text(_shape(op, 2))}]"
        )
    element = _element(op, 0)
    _body(op, [element, element], element)


def _sort(op: Operation) -> None:
    count = group_sizes(op)[1]
    if not count:
        raise VerifyException("expected at least one operand in outs")
    _groups(op, (0,), count)
    for index in range(1, count):
        _same_shape(op, 0, index)
    _dimension(op, len(_shape(op, 0)))
    pairs = [_element(op, index // 2) for index in range(2 * count)]
    _body(op, pairs, i1)


def _topk(op: Operation) -> None:
    _groups(op, (1, 2), 2)
    inputs, _ = group_sizes(op)
    values, indices = inputs, inputs + 1
    _same(op, 0, values, shapes=False)
    _same_shape(op, values, indices)
    for index in range(1, inputs):
        _same_shape(op, 0, index)
        _same(op, index, indices, shapes=False)
    if not isinstance(_element(op, indices), IntegerType):
        raise VerifyException(f"expected integers as indices, found {_element(op, indices)}")
    given, kept = _shape(op, 0), _shape(op, values)
    dimension = _dimension(op, len(given))
    others = (each[:dimension] + each[dimension + 1 :] for each in (given, kept))
    if len(given) != len(kept) or not shapes_agree(*others):
        raise VerifyException(
            f"expected outs to have the shape of ins but for dimension {dimension}, found"
            f" [{shape_text(kept)}] for [{shape_text(given)}]"
        )
    element = _element(op, 0)
    _body(op, [element, element], i1)


def _scatter(op: Operation) -> None:
    _groups(op, (2,), 1)
    _same(op, 0, 2, shapes=False)
    updates, indices, target = (_shape(op, index) for index in range(3))
    if len(indices) != 2 or _element(op, 1) not in (i32, i64):
        raise VerifyException(
            f"expected indices of rank 2 with elements i32 or i64, found {op.operands[1].type}"
        )
    depth = indices[1]
    if depth < 0:
        raise VerifyException("expected a static number of indices for each update, found ?")
    _dimension_map(op, depth, len(target))
    if not updates or not sizes_agree(updates[0], indices[0]):
        raise VerifyException(
            f"expected an update for each of the {shape_text(indices[:1])} rows of indices, found"
            f" updates of shape [{shape_text(updates)}]"
        )
    _windows(updates[1:], depth, target)
    element = _element(op, 0)
    _body(op, [element, element], element)


def _dimension_map(op: Operation, depth: int, rank: int) -> None:
    found = number_list(attribute(op, "dimension_map"))
    if len(found) != depth:
        raise VerifyException(
            f"expected a dimension_map of {depth} dimensions, one for each index of a row, found"
            f" {list(found)}"
        )
    if len(set(found)) != depth or any(not 0 <= each < rank for each in found):
        raise VerifyException(
            f"expected different dimensions in [0, {rank}) in dimension_map, found {list(found)}"
        )


def _windows(window: Sequence[int], depth: int, target: Sequence[int]) -> None:
    """Check that trailing dimensions of a target have a window and leading ones an index."""
    if len(window) > len(target):
        raise VerifyException(
            f"expected updates of rank {len(target) + 1} at most, found {len(window) + 1}"
        )
    if len(target) > depth + len(window):
        raise VerifyException(
            f"expected an index or a dimension of the updates for each of {len(target)}"
            f" dimensions, found {depth} and {len(window)}"
        )
    for size, extent in zip(window, target[len(target) - len(window) :], strict=True):
        if size > extent >= 0:
            raise VerifyException(
                f"expected updates that fit into [{shape_text(target)}], found"
                f" [{shape_text(window)}]"
            )


def _attention(op: Operation) -> None:
    _groups(op, (3, 4), 1)
    query, key, value = (_shape(op, index) for index in range(3))
    output = group_sizes(op)[0]
    for index in (1, 2, output):
        _same(op, 0, index, shapes=False)
    rank = len(query)
    if rank < 2 or any(len(_shape(op, index)) != rank for index in (1, 2, output)):
        raise VerifyException("expected query, key, value and result of one rank, 2 at least")
    fits = (
        shapes_agree(query[:-2], key[:-2])
        and shapes_agree(query[:-2], value[:-2])
        and sizes_agree(query[-1], key[-1])
        and sizes_agree(key[-2], value[-2])
        and shapes_agree((*query[:-1], value[-1]), _shape(op, output))
    )
    if not fits:
        shapes = (query, key, value, _shape(op, output))
        raise VerifyException(
            "expected shapes [..., n, d], [..., m, d], [..., m, e] and [..., n, e] for query, key,"
            f" value and result, found {', '.join(f'[{shape_text(each)}]' for each in shapes)}"
        )
    if output == 4:
        _same(op, 0, 3, shapes=False)
        mask, weights = _shape(op, 3), (*query[:-1], key[-2])
        if len(mask) < 2 or not shapes_agree(mask, weights[len(weights) - len(mask) :]):
            raise VerifyException(
                f"expected a mask of shape [{shape_text(weights)}] or of its last dimensions, found"
                f" [{shape_text(mask)}]"
            )


_INS = " ins($inputs : type($inputs))"
_OUTS = " outs($outputs : type($outputs)) "
_VALUES = "inputs:any* outputs:any* -> result:any*"
_RESULTS = "( -> type($result))?"
_BODY = "$region" + _RESULTS
_EFFECTS = (DestinationEffects(),)

row = Rows("tm_tensor", {})

ROWS: list[type[Operation]] = [
    row(
        "attention",
        _VALUES,
        " attr-dict" + _INS + _OUTS.rstrip() + _RESULTS,
        traits=_EFFECTS,
        verify=_attention,
    ),
    row(
        "scan",
        f"{_VALUES} | dimension:int inclusive:int | region",
        " dimension(int($dimension)) inclusive(bool($inclusive)) attr-dict" + _INS + _OUTS + _BODY,
        traits=_EFFECTS,
        verify=_scan,
    ),
    row(
        "scatter",
        f"{_VALUES} | dimension_map:attr unique_indices:int | region",
        f" attr-dict unique_indices(bool($unique_indices))({_INS})?" + _OUTS + _BODY,
        traits=_EFFECTS,
        verify=_scatter,
    ),
    row(
        "sort",
        f"{_VALUES} | dimension:int | region",
        f" attr-dict dimension(int($dimension))({_INS})?" + _OUTS + _BODY,
        traits=_EFFECTS,
        verify=_sort,
    ),
    row(
        "topk",
        f"{_VALUES} | dimension:int | region",
        " attr-dict dimension(int($dimension))" + _INS + _OUTS + _BODY,
        traits=_EFFECTS,
        verify=_topk,
    ),
    row(
        "yield",
        "arguments:any*",
        " attr-dict( $arguments : type($arguments))?",
        traits=(IsTerminator(), Pure()),
    ),
]

TmTensor = dialect_of("tm_tensor", sys.modules[__name__])

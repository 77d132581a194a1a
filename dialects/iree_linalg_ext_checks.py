"""Verifiers of `iree_linalg_ext` ops: what passes rely on of operands, results and bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    IndexType,
    IntegerType,
    MemRefType,
    ShapedType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import attribute, element_type, integer, number_list
from ..ir.index_lists import INDEX
from ..ir.syntax.assembly_format import values
from ..ir.tensor_types import shape_text, shapes_agree, sizes_agree

_YIELD = "iree_linalg_ext.yield"
_HAVE_INDICES = tuple(
    f"iree_linalg_ext.{name}" for name in ("custom_op", "attention", "online_attention")
)
_WRITTEN = (
    *("output", "outputs", "original", "output_index", "output_indices"),
    *("accumulator", "real", "imaginary", "max", "sum"),
)
"""The names of `outs`, in their order."""


def verify_destinations(op: Operation) -> None:
    """Check that the op works on tensors or on memrefs, with a result for each tensor in `outs`."""
    types = [operand.type for operand in op.operands]
    tensors = [each for each in types if isinstance(each, ShapedType) and not _is_memory(each)]
    if tensors and any(isinstance(each, MemRefType) for each in types):
        raise VerifyException("expected to have either pure buffer or pure tensor semantics")
    outs = [each.type for name in _WRITTEN for each in values(op, name)]
    expected = outs if tensors else []
    if len(op.results) != len(expected):
        raise VerifyException(
            f"expected the number of tensor results ({len(op.results)}) to be equal to the number"
            f" of output tensors ({len(expected)})"
        )
    for index, (output, result) in enumerate(zip(expected, op.result_types, strict=True)):
        if output != result:
            raise VerifyException(
                f"expected type of output #{index} ('{output}') to match type of corresponding"
                f" result ('{result}')"
            )
    for region in op.regions:
        last = region.block.last_op if len(region.blocks) == 1 else None
        if last is None or last.name != _YIELD:
            raise VerifyException(f"expected a region of one block that ends in '{_YIELD}'")


def _is_memory(type_: Attribute) -> bool:
    return isinstance(type_, MemRefType | VectorType)


def _shape(type_: Attribute) -> tuple[int, ...]:
    return tuple(type_.get_shape()) if isinstance(type_, ShapedType) else ()


def _require(op: Operation, name: str, shape: Sequence[int], element: Attribute | None) -> None:
    """Check the shape of an operand, if there is one, and its elements: indices if `None`."""
    for operand in values(op, name):
        found, own = element_type(operand.type), _shape(operand.type)
        agrees = found == element if element else isinstance(found, IntegerType | IndexType)
        if not agrees or not shapes_agree(own, shape):
            kind = element or "an integer or index"
            raise VerifyException(
                f"expected {name} of shape [{shape_text(shape, 'x')}] and element type {kind}, "
                f"found {operand.type}"
            )


def _require_body(
    op: Operation, arguments: Sequence[Attribute], results: Sequence[Attribute]
) -> None:
    block = op.regions[0].block
    last = cast("Operation", block.last_op)
    for verb, types, expected in (
        ("take", block.arg_types, arguments),
        ("yield", last.operand_types, results),
    ):
        if tuple(types) != tuple(expected):
            wanted, found = (", ".join(map(str, each)) or "nothing" for each in (expected, types))
            raise VerifyException(f"expected its body to {verb} {wanted}, found {found}")


def verify_dimension(op: Operation) -> None:
    """Check a scan, a sort or a search along a dimension."""
    verify_destinations(op)
    found, first = integer(op, "dimension"), op.operands[0].type
    shape, element = _shape(first), element_type(first)
    if not 0 <= found < len(shape):
        raise VerifyException(f"dimension must be within [0, {len(shape)}), found {found}")
    rest = (*shape[:found], *shape[found + 1 :])
    match op.name.removeprefix("iree_linalg_ext."):
        case "scan":
            _require(op, "output", shape, element)
            _require(op, "accumulator", rest, element)
            _require_body(op, [element] * 2, [element])
        case "arg_compare":
            _require(op, "index", shape, None)
            _require(op, "output", rest, element)
            _require(op, "output_index", rest, None)
            _require_body(op, [element] * 2, [i1])
        case "sort":
            sorted_ = [element_type(each.type) for each in op.operands[: _sorted_count(op)]]
            _require_body(op, [each for each in sorted_ for _ in range(2)], [i1])
        case _:
            (output,) = values(op, "output")
            kept = _shape(output.type)[found : found + 1]
            if op.name == "iree_linalg_ext.topk_v2" and kept > shape[found : found + 1] >= (0,):
                raise VerifyException(f"expected at most {shape[found]} results, found {kept[0]}")
            _require(op, "output", (*shape[:found], *kept, *shape[found + 1 :]), element)
            _require(op, "input_indices", shape, None)
            _require(op, "output_indices", _shape(output.type), None)
            _require_body(op, [element] * 2, [i1])


def _sorted_count(op: Operation) -> int:
    return len(values(op, "inputs")) or len(values(op, "outputs"))


def verify_dimension_map(op: Operation) -> None:
    """Check a gather or scatter: the indexed tensor, the slices of it, and their indices."""
    verify_destinations(op)
    is_scatter = op.name == "iree_linalg_ext.scatter"
    names = ("original", "updates") if is_scatter else ("source", "output")
    (indexed,), (slices,), (indices,) = (values(op, name) for name in (*names, "indices"))
    whole, part, element = _shape(indexed.type), _shape(slices.type), element_type(indexed.type)
    found = number_list(attribute(op, "dimension_map"))
    if len(set(found)) != len(found) or any(not 0 <= each < len(whole) for each in found):
        raise VerifyException(
            f"expected different dimensions within [0, {len(whole)}) in dimension_map, found"
            f" {list(found)}"
        )
    window = [size for each, size in enumerate(whole) if each not in found]
    batch, given = part[: len(part) - len(window)], part[len(part) - len(window) :]
    if len(part) < len(window):
        raise VerifyException(f"expected {names[1]} of at least rank {len(window)}")
    if is_scatter:
        # Windows may be smaller than the tensor.
        pairs = zip(given, window, strict=True)
        window = [min(own, size) if size >= 0 else own for own, size in pairs]
    _require(op, names[1], (*batch, *window), element)
    is_vector = len(_shape(indices.type)) > len(batch)
    if not is_vector and len(found) != 1:
        raise VerifyException(f"expected indices of rank {len(batch) + 1}, found {indices.type}")
    _require(op, "indices", (*batch, *[len(found)] * is_vector), None)
    _require(op, "mask", batch, i1)
    if is_scatter:
        _require_body(op, [element] * 2, [element])


def verify_indices(op: Operation) -> None:
    """Check that the body of a `map_load` or `map_store` computes an element's indices."""
    verify_destinations(op)
    types = op.operand_types
    source, output = ([INDEX] * len(_shape(each)) for each in types)
    elements = [element_type(each) for each in types]
    if elements[0] != elements[1]:
        raise VerifyException(f"expected equal element types, found {elements[0]}, {elements[1]}")
    if op.name == "iree_linalg_ext.map_load":
        _require_body(op, output, [*source, elements[0]])
    else:
        _require_body(op, source, [*output, i1])


def verify_maps(op: Operation) -> None:
    """Check that there is an indexing map for each operand."""
    verify_destinations(op)
    maps = cast("ArrayAttr[Attribute]", attribute(op, "indexing_maps"))
    if len(maps) != len(op.operands):
        raise VerifyException(
            f"expected an indexing map for each of {len(op.operands)} operands, found {len(maps)}"
        )


def verify_attention(op: Operation) -> None:
    """Check that indexing maps fit operands, and that the body changes a float."""
    verify_maps(op)
    sizes: dict[Any, int] = {}
    maps = cast("ArrayAttr[AffineMapAttr]", attribute(op, "indexing_maps"))
    for index, (map_, operand) in enumerate(zip(maps, op.operands, strict=True)):
        results, shape = map_.data.results, _shape(operand.type)
        if len(results) != len(shape) or len(set(results)) != len(results):
            raise VerifyException(f"expected an indexing map of rank {len(shape)}, found {map_}")
        for each, size in zip(results, shape, strict=True):
            if not sizes_agree(sizes.get(each, size), size):
                raise VerifyException(
                    f"expected operand #{index} of size {sizes[each]} along {each}, found {size}"
                )
            sizes[each] = max(size, sizes.get(each, size))
    (argument, *_) = (*op.regions[0].block.arg_types, None)
    if not isinstance(argument, AnyFloat):
        raise VerifyException("expected its body to take a float")
    _require_body(op, [argument], [argument])


def verify_index(op: Operation) -> None:
    """Check that an index is one of an op that has indices."""
    parent = op.parent_op()
    if parent is None or parent.name not in _HAVE_INDICES:
        names = ", ".join(f"`{name}`" for name in _HAVE_INDICES)
        raise VerifyException(f"expected parent op to be one of {names}")

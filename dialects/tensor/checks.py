"""Verifiers of tensor ops for rules that xDSL's verifiers do not check.

Messages are MLIR's for a check that MLIR has too.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IndexType, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, kept_dimensions, number_list
from ...ir.index_lists import SLICE_LISTS
from ...ir.tensor_types import element_count, shape_text, sizes_agree, static_shape
from ...ir.verification import check


def require_same_elements(left: SSAValue, right: SSAValue) -> None:
    """Check that two tensors have one element type. Raises VerifyException."""
    if element_type(left.type) != element_type(right.type):
        raise VerifyException(
            f"expected element type to be '{element_type(left.type)}', found "
            f"'{element_type(right.type)}'"
        )


def check_slice(operation: Operation, whole: SSAValue, part: SSAValue) -> None:
    """Check the static offsets, sizes and strides of a slice `part` of `whole`.

    Raises VerifyException.
    """
    require_same_elements(whole, part)
    shape = static_shape(whole)
    offsets, sizes, strides = (number_list(operation.properties[name]) for name in SLICE_LISTS)
    if not len(offsets) == len(sizes) == len(strides) == len(shape):
        raise VerifyException(
            f"expected {len(shape)} offsets, sizes and strides, found {len(offsets)}, "
            f"{len(sizes)} and {len(strides)}"
        )
    found = static_shape(part)
    if kept_dimensions(sizes, found) is None:
        raise VerifyException(
            f"expected type to be of shape ({shape_text(sizes)}) or a rank-reduced version, "
            f"found ({shape_text(found)}) (size mismatch)"
        )
    for index, (offset, size, stride, extent) in enumerate(
        zip(offsets, sizes, strides, shape, strict=True)
    ):
        if offset != DYNAMIC_INDEX and offset < 0:
            raise VerifyException(f"expected offsets to be non-negative, but got {offset}")
        if size != DYNAMIC_INDEX and size < 0:
            raise VerifyException(f"expected sizes to be non-negative, but got {size}")
        if extent < 0 or offset == DYNAMIC_INDEX or offset == 0 == size:
            continue
        if offset >= extent > 0:
            raise VerifyException(f"offset {index} is out-of-bounds: {offset} >= {extent}")
        if DYNAMIC_INDEX in (size, stride) or size == 0:
            continue
        last = offset + (size - 1) * stride
        if last >= extent:
            raise VerifyException(
                f"slice along dimension {index} runs out-of-bounds: {last} >= {extent}"
            )


@check("tensor.extract_slice")
def _extract_slice(operation: Operation) -> None:
    check_slice(operation, operation.operands[0], operation.results[0])


@check("tensor.insert_slice")
def _insert_slice(operation: Operation) -> None:
    check_slice(operation, operation.operands[1], operation.operands[0])
    if operation.operands[1].type != operation.results[0].type:
        raise VerifyException(
            f"expected the result to be '{operation.operands[1].type}', found "
            f"'{operation.results[0].type}'"
        )


@check("tensor.extract")
def _extract(operation: Operation) -> None:
    _require_indices(operation, operation.operands[0], len(operation.operands) - 1)


@check("tensor.insert")
def _insert(operation: Operation) -> None:
    _require_indices(operation, operation.operands[1], len(operation.operands) - 2)


def _require_indices(operation: Operation, tensor: SSAValue, count: int) -> None:
    rank = len(static_shape(tensor))
    if count != rank:
        raise VerifyException(
            f"incorrect number of indices for {operation.name.partition('.')[2]}: has {count}, "
            f"expected {rank}"
        )


@check("tensor.from_elements")
def _from_elements(operation: Operation) -> None:
    count = element_count(static_shape(operation.results[0]))
    if count != len(operation.operands):
        raise VerifyException(
            "number of operands and types do not match: got "
            f"{len(operation.operands)} operands for {count} elements"
        )


@check("bufferization.alloc_tensor", "tensor.empty")
def _dynamic_sizes(operation: Operation) -> None:
    """Check that there is one operand per dynamic size of the result, or none beside a source."""
    if operation.name == "bufferization.alloc_tensor":
        segments = number_list(operation.properties.get("operandSegmentSizes"))
        given, has_source = segments[0], segments[1] > 0
    else:
        given, has_source = len(operation.operands), False
    wanted = sum(size < 0 for size in static_shape(operation.results[0]))
    if given != (0 if has_source else wanted):
        raise VerifyException(
            f"incorrect number of dynamic sizes, has {given}, expected "
            f"{0 if has_source else wanted}"
        )


@check("tensor.cast")
def _cast(operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if element_type(source.type) != element_type(result.type):
        raise VerifyException(
            f"operand type '{source.type}' and result type '{result.type}' are cast incompatible"
        )


@check("tensor.collapse_shape", "tensor.expand_shape")
def _reassociation(operation: Operation) -> None:
    """Check that the sizes of each group multiply to the collapsed size."""
    collapsed, expanded = operation.results[0], operation.operands[0]
    if operation.name == "tensor.expand_shape":
        collapsed, expanded = expanded, collapsed
    require_same_elements(collapsed, expanded)
    groups: list[list[int]] = []
    for group in cast("ArrayAttr[Attribute]", operation.properties["reassociation"]):
        indices = cast("ArrayAttr[Attribute]", group).data if isinstance(group, ArrayAttr) else ()
        numbers = [
            number.value.data
            for each in indices
            if isinstance(each, IntegerAttr)
            and (number := cast(IntegerAttr[IntegerType | IndexType], each)).type == i64
        ]
        if not isinstance(group, ArrayAttr) or len(numbers) != len(indices):
            raise VerifyException(f"expected reassociation maps of i64 numbers, but got {group}")
        groups.append(numbers)
    small, large = static_shape(collapsed), static_shape(expanded)
    if len(groups) != len(small):
        raise VerifyException(
            f"expected collapsed rank ({len(small)}) to equal the number of reassociation maps "
            f"({len(groups)})."
        )
    if not groups:
        if any(size not in (1, DYNAMIC_INDEX) for size in large):
            raise VerifyException(f"expected sizes of 1 around rank 0, found ({shape_text(large)})")
        return
    if [index for group in groups for index in group] != list(range(len(large))):
        raise VerifyException(
            f"expected reassociation maps to name the dimensions 0 to {len(large) - 1} in order"
        )
    for position, (group, size) in enumerate(zip(groups, small, strict=True)):
        product = element_count([large[index] for index in group])
        if not sizes_agree(size, product):
            raise VerifyException(
                f"expected dimension {position} of collapsed type to be static value of {product}"
            )

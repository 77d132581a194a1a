"""Verifiers of gather, scatter and the dimension attributes of ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, i32
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, element_type, integer, number_list
from ...ir.tensor_types import BoundedSize, shapes_agree
from .attributes import GatherAttr, ScatterAttr
from .checks import (
    Shape,
    operand_shape,
    require_shape,
    verify_distinct,
    verify_reshape,
    verify_sizes,
)


def verify_dimension(operation: Operation) -> None:
    """Check that `dimension` is a dimension of the operand. Raises VerifyException."""
    verify_distinct(
        [integer(operation, "dimension")], len(operand_shape(operation, 0)), "the dimension"
    )


def verify_set_dimension_size(operation: Operation) -> None:
    """Check the dimension, the size, and the sizes that stay. Raises VerifyException."""
    verify_dimension(operation)
    kept, dimension = operand_shape(operation, 0), integer(operation, "dimension")
    size = kept[dimension]
    size = BoundedSize(size) if size >= 0 else size
    require_shape(operation, (*kept[:dimension], size, *kept[dimension + 1 :]))
    if element_type(operation.operand_types[1]) != i32:
        raise VerifyException(f"expected a size of i32, got {operation.operand_types[1]}")


def verify_get_dimension_size(operation: Operation) -> None:
    """Check the dimension, and that the result is one number of i32. Raises VerifyException."""
    verify_dimension(operation)
    if operation.result_types[0] != TensorType(i32, []):
        raise VerifyException(f"expected a result of tensor<i32>, got {operation.result_types[0]}")


def _starts(
    starts: Shape, vector: int, mapped: Sequence[int], batching: Sequence[int], rank: int
) -> list[int]:
    """Check index vectors; return the batch sizes, which is the shape without their dimension."""
    if not 0 <= vector <= len(starts):
        raise VerifyException(f"expected index_vector_dim in [0, {len(starts)}], got {vector}")
    length = starts[vector] if vector < len(starts) else 1
    if length >= 0 and length != len(mapped):
        raise VerifyException(
            f"index vectors of {length} numbers do not fit a map of {len(mapped)} dimensions"
        )
    verify_distinct(mapped, rank, "dimensions of the index map")
    verify_distinct(batching, len(starts), "batching dimensions of the indices")
    if vector in batching:
        raise VerifyException(f"dimension {vector} of the indices cannot be a batching dimension")
    return [size for dimension, size in enumerate(starts) if dimension != vector]


def _verify_batching(sizes: Sequence[int], of_starts: Sequence[int]) -> None:
    if not shapes_agree(tuple(sizes), tuple(of_starts)):
        raise VerifyException(
            "expected batching dimensions of the same sizes in operand and indices, got "
            f"{list(sizes)} and {list(of_starts)}"
        )


def _verify_sorted(numbers: Sequence[int], what: str) -> None:
    if list(numbers) != sorted(numbers):
        raise VerifyException(f"expected {what} to be sorted, got {list(numbers)}")


def verify_gather(operation: Operation) -> None:
    """Check that slices fit the operand and that the result consists of them.

    Raises VerifyException.
    """
    numbers = attribute(operation, "dimension_numbers")
    if not isinstance(numbers, GatherAttr):
        raise VerifyException(f"expected #stablehlo.gather<...>, got {numbers}")
    source, starts = operand_shape(operation, 0), operand_shape(operation, 1)
    batching = numbers.integers("operand_batching_dims")
    dropped = (*numbers.integers("collapsed_slice_dims"), *batching)
    of_starts = numbers.integers("start_indices_batching_dims")
    mapped = numbers.integers("start_index_map")
    _verify_sorted(numbers.integers("collapsed_slice_dims"), "collapsed_slice_dims")
    _verify_sorted(batching, "operand_batching_dims")
    verify_distinct((*mapped, *batching), len(source), "indexed and batching dimensions")
    verify_distinct(dropped, len(source), "collapsed and batching dimensions")
    batch = _starts(starts, numbers.integer("index_vector_dim"), mapped, of_starts, len(source))
    _verify_batching([source[each] for each in batching], [starts[each] for each in of_starts])
    offsets = numbers.integers("offset_dims")
    rank = len(batch) + len(offsets)
    verify_distinct(offsets, rank, "offset_dims")
    _verify_sorted(offsets, "offset_dims")
    if len(offsets) != len(source) - len(dropped):
        raise VerifyException(
            f"expected {len(source) - len(dropped)} offset_dims, one for each dimension that is "
            f"not collapsed, got {len(offsets)}"
        )
    found = attribute(operation, "slice_sizes")
    if found is None and operand_shape(operation, 2) != (len(source),):
        raise VerifyException(
            f"expected {len(source)} slice sizes, got {operation.operand_types[2]}"
        )
    sizes = number_list(found) if found is not None else (-1,) * len(source)
    if len(sizes) != len(source):
        raise VerifyException(f"expected {len(source)} slice sizes, got {len(sizes)}")
    for size, most in zip(sizes, source, strict=True):
        if 0 <= most < size or (found is not None and size < 0):
            raise VerifyException(f"slice size {size} does not fit a dimension of size {most}")
    if max((sizes[dimension] for dimension in dropped), default=0) > 1:
        raise VerifyException(
            f"expected collapsed and batching slice sizes of at most 1, got {sizes}"
        )
    window = iter([size for dimension, size in enumerate(sizes) if dimension not in dropped])
    rest = iter(batch)
    require_shape(
        operation,
        [next(window) if dimension in offsets else next(rest) for dimension in range(rank)],
    )


def verify_scatter_indices(operation: Operation) -> None:
    """Check that updates are windows of the inputs, one per index vector.

    Raises VerifyException.
    """
    numbers = attribute(operation, "scatter_dimension_numbers")
    if not isinstance(numbers, ScatterAttr):
        raise VerifyException(f"expected #stablehlo.scatter<...>, got {numbers}")
    count = len(operation.results)
    source, starts = operand_shape(operation, 0), operand_shape(operation, count)
    batching = numbers.integers("input_batching_dims")
    dropped = (*numbers.integers("inserted_window_dims"), *batching)
    of_starts = numbers.integers("scatter_indices_batching_dims")
    mapped = numbers.integers("scatter_dims_to_operand_dims")
    _verify_sorted(numbers.integers("inserted_window_dims"), "inserted_window_dims")
    _verify_sorted(batching, "input_batching_dims")
    if not isinstance(element_type(operation.operand_types[count]), IntegerType | IndexType):
        raise VerifyException(f"expected integers as indices, got {operation.operand_types[count]}")
    verify_distinct((*mapped, *batching), len(source), "scattered and batching dimensions")
    verify_distinct(dropped, len(source), "inserted and batching dimensions")
    batch = _starts(starts, numbers.integer("index_vector_dim"), mapped, of_starts, len(source))
    _verify_batching([source[each] for each in batching], [starts[each] for each in of_starts])
    windows = numbers.integers("update_window_dims")
    updates = operand_shape(operation, count + 1)
    verify_distinct(windows, len(updates), "update_window_dims")
    _verify_sorted(windows, "update_window_dims")
    if len(windows) != len(source) - len(dropped) or len(updates) != len(batch) + len(windows):
        raise VerifyException(
            f"expected updates of rank {len(batch) + len(source) - len(dropped)} with "
            f"{len(source) - len(dropped)} window dimensions, got rank {len(updates)} with "
            f"{len(windows)}"
        )
    own = [size for dimension, size in enumerate(updates) if dimension not in windows]
    for size, wanted in zip(own, batch, strict=True):
        if size != wanted and min(size, wanted) >= 0:
            raise VerifyException(f"expected updates for {wanted} index vectors, found {size}")
    kept = [size for dimension, size in enumerate(source) if dimension not in dropped]
    for dimension, most in zip(windows, kept, strict=True):
        if 0 <= most < updates[dimension]:
            raise VerifyException(
                f"window size {updates[dimension]} does not fit a dimension of size {most}"
            )
    for index in range(count):
        others = operand_shape(operation, index), operand_shape(operation, count + 1 + index)
        if not all(map(shapes_agree, others, (source, updates))):
            raise VerifyException(
                "expected all inputs to have the same shape, and all updates to have the same shape"
            )
        require_shape(operation, source, index)


def infer_index_select(operation: Operation) -> Shape:
    """Infer the shape with the selected dimension replaced by those of the indices.

    Raises VerifyException if attributes are no dimensions.
    """
    source, index = operand_shape(operation, 0), operand_shape(operation, 1)
    dimension, batch = integer(operation, "dim"), integer(operation, "batch_dims")
    verify_distinct([dimension], len(source), "the dimension")
    if not 0 <= batch <= min(dimension, len(index)):
        raise VerifyException(
            f"expected at most {min(dimension, len(index))} batch dimensions, got {batch}"
        )
    return (*source[:dimension], *index[batch:], *source[dimension + 1 :])


def verify_dynamic_reshape(operation: Operation) -> None:
    """Check the operand with the result's sizes. Raises VerifyException."""
    verify_sizes(operation, 1)
    verify_reshape(operation)


def verify_dynamic_ranges(operation: Operation) -> None:
    """Check that the last three operands have a number for each dimension.

    Raises VerifyException.
    """
    source = operand_shape(operation, 0)
    require_shape(operation, (-1,) * len(source))
    for index in range(-3, 0):
        verify_sizes(operation, len(operation.operands) + index)
    starts, limits, strides = operation.operand_types[-3:]
    if operation.name == "stablehlo.real_dynamic_slice" and not starts == limits == strides:
        raise VerifyException(f"expected indices of one type, got {starts}, {limits} and {strides}")

"""Verifiers of StableHLO's collectives. They raise VerifyException."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, integer, number_list
from .attributes import ReplicaGroupMeshAxesAttr
from .checks import operand_shape, require_shape, result_shape, verify_distinct


def _rows(operation: Operation, name: str) -> list[list[int]]:
    """Return the rows of a two-dimensional attribute."""
    found: Any = attribute(operation, name)
    if not isinstance(found, DenseIntOrFPElementsAttr) or len(found.get_shape()) != 2:
        raise VerifyException(f"expected '{name}' to be a tensor of rank 2, got {found}")
    count, length = found.get_shape()
    numbers = list(number_list(cast(Attribute, found)))
    return [numbers[row * length : (row + 1) * length] for row in range(count)]


def _verify_groups(operation: Operation) -> int:
    """Check that the groups have different devices; return the size of a group, 0 if unknown.

    Smaller groups are filled with -1. Groups that are axes of a mesh are not checked.
    """
    if isinstance(attribute(operation, "replica_groups"), ReplicaGroupMeshAxesAttr):
        return 0
    groups = _rows(operation, "replica_groups")
    devices = [device for group in groups for device in group if device != -1]
    if sorted(devices) != list(range(len(devices))):
        raise VerifyException(
            f"expected 'replica_groups' to have each number below {len(devices)} once, got {groups}"
        )
    return len(groups[0]) if groups else 0


def verify_groups(operation: Operation) -> None:
    """Check `replica_groups`, and that results have the shapes of the operands."""
    _verify_groups(operation)
    for index in range(len(operation.operands)):
        require_shape(operation, operand_shape(operation, index), index)


def _verify_scaled(
    large: Sequence[int], small: Sequence[int], dimension: int, parts: int, what: str
) -> None:
    """Check that shapes agree, except for a dimension that one has `parts` times (0: unknown)."""
    verify_distinct([dimension], len(large), "the dimension")
    if len(small) != len(large):
        raise VerifyException(f"expected the rank {len(large)} of operand and result")
    for index, (more, less) in enumerate(zip(large, small, strict=True)):
        if min(more, less) < 0:
            continue
        is_split = index == dimension
        factor = parts if is_split else 1
        fits = more == less * factor if factor else less and more % less == 0
        if not fits:
            raise VerifyException(f"{what}: sizes {more} and {less} of dimension {index} differ")


def verify_all_gather(operation: Operation) -> None:
    """Check that each result is its operand, repeated along one dimension."""
    parts = _parts(operation)
    dimension = integer(operation, "all_gather_dim")
    for index in range(len(operation.operands)):
        large, small = result_shape(operation, index), operand_shape(operation, index)
        _verify_scaled(large, small, dimension, parts, "operand is no part of the result")


def verify_reduce_scatter(operation: Operation) -> None:
    """Check that the result is a part of the operand along one dimension."""
    parts = _parts(operation)
    dimension = integer(operation, "scatter_dimension")
    large, small = operand_shape(operation, 0), result_shape(operation)
    _verify_scaled(large, small, dimension, parts, "result is no part of the operand")


def _parts(operation: Operation) -> int:
    """Return the size of a group if the groups are of devices, else 0.

    Groups of replicas may each stand for several devices.
    """
    size = _verify_groups(operation)
    return size if attribute(operation, "use_global_device_ids") is not None else 0


def verify_all_to_all(operation: Operation) -> None:
    """Check the dimensions that are split and concatenated, and the shapes of the results."""
    _verify_groups(operation)
    split, joined, count = (
        integer(operation, name) for name in ("split_dimension", "concat_dimension", "split_count")
    )
    for index in range(len(operation.operands)):
        shape = list(operand_shape(operation, index))
        verify_distinct([split], len(shape), "the split dimension")
        verify_distinct([joined], len(shape), "the concatenated dimension")
        if count < 1 or (shape[split] >= 0 and shape[split] % count):
            raise VerifyException(f"size {shape[split]} cannot be split into {count} parts")
        shape[split] = shape[split] // count if shape[split] >= 0 else -1
        shape[joined] = shape[joined] * count if shape[joined] >= 0 else -1
        require_shape(operation, shape, index)


def verify_collective_permute(operation: Operation) -> None:
    """Check that each device sends at most once and receives at most once."""
    pairs = _rows(operation, "source_target_pairs")
    if any(len(pair) != 2 for pair in pairs):
        raise VerifyException(f"expected 'source_target_pairs' to be pairs, got {pairs}")
    for ends in zip(*pairs, strict=True):
        if min(ends) < 0 or len(set(ends)) != len(ends):
            raise VerifyException(
                f"expected different sources and targets of at least 0, got {pairs}"
            )
    require_shape(operation, operand_shape(operation, 0))

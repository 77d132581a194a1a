"""The bytes that each device of a partitioned program sends, by ring algorithms."""

from __future__ import annotations

from math import prod

from mesh_opt.dialects.shard_checks import find_grid, grid_value
from mesh_opt.passes.sharding.placement import element_bytes
from mesh_opt.sharding.cost import (
    all_gather_bytes,
    all_reduce_bytes,
    all_to_all_bytes,
    known_extents,
    reduce_scatter_bytes,
)
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, TensorType
from xdsl.ir import Operation, SSAValue


def collective_bytes(module: Operation) -> float:
    """The sum over all collectives of a module with static shapes. Loops count once."""
    return sum(map(_sent, module.walk()))


def _size(value: SSAValue) -> float:
    value_type = value.type
    return (
        element_bytes(value) * prod(value_type.get_shape())
        if isinstance(value_type, TensorType)
        else 0.0
    )


def _sent(operation: Operation) -> float:
    axes = operation.properties.get("grid_axes")
    symbol = operation.properties.get("grid")
    if not isinstance(axes, DenseArrayBase) or not isinstance(symbol, SymbolRefAttr):
        return 0.0
    found = find_grid(operation, symbol)
    if found is None:
        return 0.0
    extents = known_extents(grid_value(found).shape)
    n = prod(extents[int(axis)] for axis in axes.get_values())
    before, after = operation.operands[0], operation.results[0]
    match operation.name:
        case "shard.all_gather":
            return all_gather_bytes(_size(after), n)
        case "shard.all_reduce":
            return all_reduce_bytes(_size(before), n)
        case "shard.all_to_all":
            return all_to_all_bytes(_size(before), n)
        case "shard.reduce_scatter":
            return reduce_scatter_bytes(_size(before), n)
        case "shard.all_slice" | "shard.recv":
            return 0.0
        case _:
            return _size(before)

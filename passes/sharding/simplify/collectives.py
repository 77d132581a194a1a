"""What the collectives of a program say, read by name and attributes."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation

from ....dialects.shard.attributes import ReductionKindAttr
from ....sharding.sharding import Axes, ReductionKind

PURE_QUERIES = frozenset(
    {
        "shard.grid_shape",
        "shard.neighbors_linear_indices",
        "shard.process_linear_index",
        "shard.process_multi_index",
    }
)


def grid_name(operation: Operation) -> str:
    """The name of the grid of an operation."""
    symbol = operation.get_attr_or_prop("grid")
    return symbol.string_value() if isinstance(symbol, SymbolRefAttr) else ""


def axes_of(operation: Operation, name: str = "grid_axes") -> Axes:
    """A list of grid axes of an operation, in its order."""
    found = operation.get_attr_or_prop(name)
    if not isinstance(found, DenseArrayBase):
        return ()
    return tuple(int(axis) for axis in found.get_values())


def dimension_of(operation: Operation, name: str) -> int:
    """The dimension that an operation works along."""
    found = operation.get_attr_or_prop(name)
    return found.value.data if isinstance(found, IntegerAttr) else -1


def kind_of(operation: Operation) -> ReductionKind:
    """How a reduction combines; sums where nothing is said."""
    found = operation.get_attr_or_prop("reduction")
    return found.reduction if isinstance(found, ReductionKindAttr) else ReductionKind.SUM

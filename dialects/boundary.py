"""What a partitioned function's arguments and results are shards of.

A function of one device's program has local types. So that a caller can scatter its inputs and
gather its results, each argument and result that is a shard carries the discardable attribute
`shard.boundary`, a dictionary of

- `global_type`: the type before partitioning;
- `grid`: the symbol of the grid of devices;
- `split_axes`: for each dimension the grid axes that split it, slowest first, as
  `#shard<axisarray[[0], []]>` (or a list of `array<i16: ...>`); absent for a scalar;
- `halos` (optional): for each dimension the (low, high) border held of the neighbours;
- `offsets` (optional): for each dimension the borders of its shards, empty for the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import symbol_name
from ..sharding.grid import Grid
from ..sharding.sharding import Axes, Sharding
from .shard_attributes import AxesArrayAttr, ShardAxesArrayAttr

BOUNDARY_ATTRIBUTE = "shard.boundary"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The whole tensor of which an argument or result holds one shard, and how it is placed."""

    global_type: TensorType[Attribute]
    sharding: Sharding


def argument_boundary(function: FuncOp, index: int) -> Boundary | None:
    """Where argument `index` of a partitioned function comes from; `None` if it is no shard.

    Raises VerifyException for a malformed attribute.
    """
    return _boundary(function, function.arg_attrs, index)


def result_boundary(function: FuncOp, index: int) -> Boundary | None:
    """What result `index` of a partitioned function is a shard of; `None` if it is no shard.

    Raises VerifyException for a malformed attribute.
    """
    return _boundary(function, function.res_attrs, index)


def set_argument_boundary(function: FuncOp, index: int, boundary: Boundary) -> None:
    """Record where argument `index` of a partitioned function comes from."""
    count = len(function.function_type.inputs)
    function.arg_attrs = _with_boundary(function.arg_attrs, count, index, boundary)


def set_result_boundary(function: FuncOp, index: int, boundary: Boundary) -> None:
    """Record what result `index` of a partitioned function is a shard of."""
    count = len(function.function_type.outputs)
    function.res_attrs = _with_boundary(function.res_attrs, count, index, boundary)


def _with_boundary(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int, index: int, boundary: Boundary
) -> ArrayAttr[DictionaryAttr]:
    entries = list(attributes.data) if attributes else [DictionaryAttr({})] * count
    entries[index] = DictionaryAttr(
        {**entries[index].data, BOUNDARY_ATTRIBUTE: boundary_to_attribute(boundary)}
    )
    return ArrayAttr(entries)


def boundary_to_attribute(boundary: Boundary) -> DictionaryAttr:
    """The attribute that says a boundary in the IR."""
    sharding = boundary.sharding
    data: dict[str, Attribute] = {
        "global_type": boundary.global_type,
        "grid": SymbolRefAttr(sharding.grid.name),
    }
    if sharding.dimension_axes:
        data["split_axes"] = ShardAxesArrayAttr.from_lists(sharding.dimension_axes)
    if sharding.halos:
        data["halos"] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in sharding.halos])
    if sharding.offsets:
        data["offsets"] = ArrayAttr(
            [DenseArrayBase.from_list(i64, borders or ()) for borders in sharding.offsets]
        )
    return DictionaryAttr(data)


def _boundary(
    function: FuncOp, attributes: ArrayAttr[DictionaryAttr] | None, index: int
) -> Boundary | None:
    if attributes is None or index >= len(attributes.data):
        return None
    attribute = attributes.data[index].data.get(BOUNDARY_ATTRIBUTE)
    if attribute is None:
        return None
    if not isinstance(attribute, DictionaryAttr):
        raise VerifyException(f"{BOUNDARY_ATTRIBUTE} must be a dictionary, got {attribute}")
    return _boundary_from_attribute(function, attribute)


def _boundary_from_attribute(function: Operation, attribute: DictionaryAttr) -> Boundary:
    data = attribute.data
    global_type = cast(TensorType[Attribute] | None, data.get("global_type"))
    symbol = data.get("grid")
    if not isinstance(global_type, TensorType) or not isinstance(symbol, SymbolRefAttr):
        raise VerifyException(
            f"{BOUNDARY_ATTRIBUTE} needs a tensor `global_type` and a symbol `grid`,"
            f" got {attribute}"
        )
    name = symbol.root_reference.data
    grid = find_grid(function, name)
    if grid is None:
        raise VerifyException(f"{BOUNDARY_ATTRIBUTE} names an unknown grid @{name}")
    halos = tuple((low, high) for low, high in _integer_lists(data.get("halos"), 2))
    offsets = tuple(borders or None for borders in _integer_lists(data.get("offsets")))
    try:
        sharding = Sharding(grid, _axes(data.get("split_axes")), halos=halos, offsets=offsets)
    except ValueError as error:
        raise VerifyException(f"{BOUNDARY_ATTRIBUTE}: {error}") from error
    if sharding.rank != global_type.get_num_dims():
        raise VerifyException(
            f"{BOUNDARY_ATTRIBUTE} splits {sharding.rank} dimensions of {global_type}"
        )
    return Boundary(global_type, sharding)


def _axes(attribute: Attribute | None) -> tuple[Axes, ...]:
    if isinstance(attribute, AxesArrayAttr):
        return attribute.lists()
    return _integer_lists(attribute)


def _integer_lists(
    attribute: Attribute | None, length: int | None = None
) -> tuple[tuple[int, ...], ...]:
    """The integers of an array of dense arrays, each of the given length; none if absent."""
    if attribute is None:
        return ()
    lists: list[tuple[int, ...]] = []
    if isinstance(attribute, ArrayAttr):
        for entry in cast("ArrayAttr[Attribute]", attribute).data:
            if not isinstance(entry, DenseArrayBase):
                break
            values = entry.get_values()
            if length is not None and len(values) != length:
                break
            lists.append(values)
        else:
            return tuple(lists)
    shape = "dense arrays" if length is None else f"dense arrays of {length}"
    raise VerifyException(f"{BOUNDARY_ATTRIBUTE} needs a list of {shape}, got {attribute}")


def find_grid(operation: Operation, name: str) -> Grid | None:
    """The grid that `@name` means at an operation, looked for in the operations around it."""
    scope: Operation | None = operation
    while scope is not None:
        for region in scope.regions:
            for block in region.blocks:
                for candidate in block.ops:
                    if candidate.name == "shard.grid" and symbol_name(candidate) == name:
                        return _grid_value(candidate, name)
        scope = scope.parent_op()
    return None


def _grid_value(operation: Operation, name: str) -> Grid:
    shape = operation.get_attr_or_prop("shape")
    if not isinstance(shape, DenseArrayBase):
        raise VerifyException(f"shard.grid @{name} needs a shape, got {shape}")
    extents = shape.get_values()
    return Grid(name, tuple(extent if extent >= 0 else None for extent in extents))

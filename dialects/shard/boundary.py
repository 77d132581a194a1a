"""The attributes at the boundary of a partitioned program.

They record which shard of which tensor each argument and result is (`shard.boundary`), and the
device that each process of a grid runs on (`devices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
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

from ...ir.attribute_access import boundary_attributes
from ...ir.symbols import find_visible_symbol
from ...ir.tensor_types import shape_of, shapes_agree
from ...sharding.grid import Grid
from ...sharding.local_shape import local_shape
from ...sharding.sharding import Axes, Sharding
from ..stream.affinity import AffinityAttribute
from .attributes import AxesArrayAttr
from .checks import DEVICES, grid_value

BOUNDARY_ATTRIBUTE = "shard.boundary"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The whole tensor of which an argument or result is a shard, and its sharding."""

    global_type: TensorType[Attribute]
    sharding: Sharding


def boundary_of(function: FuncOp, group: str, index: int) -> Boundary | None:
    """Return the boundary of argument or result `index` of a function; `None` if it is no shard.

    `group` is `arg_attrs` or `res_attrs`. Raises VerifyException if the attribute is malformed.
    """
    attribute = boundary_attributes(function, group, index).get(BOUNDARY_ATTRIBUTE)
    if attribute is None:
        return None
    try:
        return _boundary_from_attribute(function, attribute)
    except VerifyException as error:
        raise VerifyException(f"{BOUNDARY_ATTRIBUTE}: {error}") from error


def verify_boundary(function: Operation, attribute: Attribute, value_type: Attribute) -> None:
    """Check that a value is a shard as its boundary says. Raises VerifyException."""
    boundary = _boundary_from_attribute(function, attribute)
    if not isinstance(value_type, TensorType):
        return
    whole = boundary.global_type
    local = cast("TensorType[Attribute]", value_type)
    sizes = local_shape(shape_of(whole), boundary.sharding)
    shape = [DYNAMIC_INDEX if size is None else size for size in sizes]
    expected = TensorType(whole.element_type, shape)
    if local.element_type != whole.element_type or not shapes_agree(local.get_shape(), shape):
        raise VerifyException(f"the shards of {whole} are of type {expected}, not {local}")


def set_boundaries(function: FuncOp, group: str, boundaries: Sequence[Boundary | None]) -> None:
    """Record which tensors the arguments or results of a partitioned function are shards of."""
    entries = [dict(boundary_attributes(function, group, i)) for i in range(len(boundaries))]
    for entry, boundary in zip(entries, boundaries, strict=True):
        if boundary is not None:
            entry[BOUNDARY_ATTRIBUTE] = boundary_to_attribute(boundary)
    if any(boundaries):
        function.properties[group] = ArrayAttr(map(DictionaryAttr, entries))


def boundary_to_attribute(boundary: Boundary) -> DictionaryAttr:
    """Return the attribute that represents a boundary."""
    sharding = boundary.sharding
    data: dict[str, Attribute] = {
        "global_type": boundary.global_type,
        "grid": SymbolRefAttr(sharding.grid.name),
    }
    if sharding.dimension_axes:
        data["split_axes"] = AxesArrayAttr.from_lists(sharding.dimension_axes)
    if sharding.halos:
        data["halos"] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in sharding.halos])
    if sharding.offsets:
        data["offsets"] = ArrayAttr(
            [DenseArrayBase.from_list(i64, offsets or ()) for offsets in sharding.offsets]
        )
    return DictionaryAttr(data)


def _boundary_from_attribute(function: Operation, attribute: Attribute) -> Boundary:
    if not isinstance(attribute, DictionaryAttr):
        raise VerifyException(f"expected a dictionary, got {attribute}")
    data = attribute.data
    global_type = cast(TensorType[Attribute] | None, data.get("global_type"))
    symbol = data.get("grid")
    if not isinstance(global_type, TensorType) or not isinstance(symbol, SymbolRefAttr):
        raise VerifyException(
            f"expected a tensor `global_type` and a symbol `grid`, got {attribute}"
        )
    name = symbol.root_reference.data
    grid = enclosing_grid(function, name)
    if grid is None:
        raise VerifyException(f"unknown grid @{name}")
    halos = tuple((low, high) for low, high in _integer_lists(data.get("halos"), 2))
    offsets = tuple(offsets or None for offsets in _integer_lists(data.get("offsets")))
    try:
        sharding = Sharding(grid, _axes(data.get("split_axes")), halos=halos, offsets=offsets)
    except ValueError as error:
        raise VerifyException(str(error)) from error
    if sharding.rank != global_type.get_num_dims():
        raise VerifyException(f"splits {sharding.rank} dimensions of {global_type}")
    return Boundary(global_type, sharding)


def _axes(attribute: Attribute | None) -> tuple[Axes, ...]:
    if isinstance(attribute, AxesArrayAttr):
        return attribute.lists()
    return _integer_lists(attribute)


def _integer_lists(
    attribute: Attribute | None, length: int | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return the integers of an array of dense arrays; `()` if the attribute is absent.

    Raises VerifyException if an entry does not have `length` integers (any number if `None`).
    """
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
    raise VerifyException(f"expected a list of {shape}, got {attribute}")


def enclosing_grid(operation: Operation, name: str) -> Grid | None:
    """Return the grid that `@name` refers to at an op; `None` if there is no such grid.

    Raises VerifyException if the grid has no shape.
    """
    found = find_visible_symbol(operation, SymbolRefAttr(name))
    return None if found is None or found.name != "shard.grid" else grid_value(found)


PER_PROCESS_GRID = "shard.grid"
"""Attribute of a global: the grid for whose processes its value differs.

The global is a `!hal.device`, the device of this process, or an index, the kind of this process.
"""


def process_devices(grid: Operation) -> tuple[AffinityAttribute, ...] | None:
    """Return the device of each process of a verified grid; `None` if the grid lists none."""
    devices = grid.attributes.get(DEVICES)
    if not isinstance(devices, ArrayAttr):
        return None
    return cast("ArrayAttr[AffinityAttribute]", devices).data


def verify_devices(grid: Operation) -> None:
    """Check the attribute `devices` of a grid: one affinity of a single device for each process.

    Raises VerifyException if it is malformed or names something that is no device.
    """
    devices = grid.attributes.get(DEVICES)
    if devices is None:
        return
    if not isinstance(devices, ArrayAttr):
        raise VerifyException(
            f"{DEVICES} of a grid are expected to be a list of affinities, got {devices}"
        )
    value = grid_value(grid)
    if not value.is_static:
        raise VerifyException(
            f"{DEVICES} name one device for each process, but @{value.name} has extents that are "
            "only known at run time"
        )
    listed, count = cast("ArrayAttr[Attribute]", devices).data, value.device_count()
    if len(listed) != count:
        raise VerifyException(
            f"{DEVICES} name one device for each process: expected {count} for grid "
            f"@{value.name}, got {len(listed)}"
        )
    names: dict[str, None] = {}
    for process, affinity in enumerate(listed):
        named = affinity.device_names() if isinstance(affinity, AffinityAttribute) else ()
        names |= dict.fromkeys(named)
        if len(named) != 1:
            raise VerifyException(
                f"the device of process {process} is expected to be an affinity of one device, "
                f"got {affinity}"
            )
    for name in names:
        _verify_device(grid, name)


def _verify_device(grid: Operation, name: str) -> None:
    found = find_visible_symbol(grid, SymbolRefAttr(name))
    if found is None:
        raise VerifyException(f"{DEVICES} name @{name}, but the module defines no such device")
    kind = found.properties.get("type")
    if found.name != "util.global" or kind is None or kind.name != "hal.device":
        raise VerifyException(
            f"{DEVICES} name @{name}, which is a '{found.name}', not a device: expected a global "
            "of type '!hal.device'"
        )

"""The device of each process of a grid: the discardable attribute `devices` of `shard.grid`.

    shard.grid @g(shape = 2x2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>,
                                           #hal.device.affinity<@a>, #hal.device.affinity<@b>]}

has one affinity for each process, in the order of their numbers (row-major: the last axis varies
fastest), each of exactly one device. A device may be that of several processes. A grid without
`devices` says nothing of where its processes run.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from .affinity import AffinityAttribute
from .shard_checks import DEVICES, find_grid, grid_value

GRID = "shard.grid"
"""On a device, or on the number of a kind: the grid of whose processes this is each one's own."""


def process_devices(grid: Operation) -> tuple[AffinityAttribute, ...] | None:
    """Where each process of a verified grid runs; `None` if the grid does not say."""
    devices = grid.attributes.get(DEVICES)
    if not isinstance(devices, ArrayAttr):
        return None
    return cast("ArrayAttr[AffinityAttribute]", devices).data


def verify_devices(grid: Operation, word: str = "grid") -> None:
    """Check the devices of a grid. Raises VerifyException."""
    devices = grid.attributes.get(DEVICES)
    if devices is None:
        return
    if not isinstance(devices, ArrayAttr):
        raise VerifyException(
            f"{DEVICES} of a {word} are expected to be a list of affinities, got {devices}"
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
            f"{DEVICES} name one device for each process: expected {count} for {word} "
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
    found = find_grid(grid, SymbolRefAttr(name))
    if found is None:
        raise VerifyException(f"{DEVICES} name @{name}, but the module defines no such device")
    kind = found.properties.get("type")
    if found.name != "util.global" or kind is None or kind.name != "hal.device":
        raise VerifyException(
            f"{DEVICES} name @{name}, which is a '{found.name}' and no device: expected a global "
            "of type '!hal.device'"
        )

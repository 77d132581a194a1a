"""Bind the devices that a program names to the devices that a run provides, and check ownership.

A program names devices by globals of type `!hal.device`. A run may list the kinds of its devices;
if it does not, every named device exists. All of them are simulated on this machine: a device is a
name that owns resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from ..dialects.hal.targets import (
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    device_globals,
)
from ..dialects.shard.boundary import process_devices
from ..dialects.stream.affinity import AffinityAttribute, affinity_of
from ..ir.attribute_access import attribute, operation_name, symbol_name
from ..ir.diagnostics import OperationError
from ..sharding.grid import Grid
from .frames import Frame
from .storage import Resource

DRIVERS = {
    "amdgpu": ("amdgpu",),
    "cuda": ("cuda",),
    "hip": ("hip",),
    "local": ("local-sync", "local-task"),
    "metal": ("metal",),
    "vulkan": ("vulkan",),
}
"""For each device target: the kinds of devices, as a user names them, that it accepts. All kinds
are simulated on this machine."""

TARGETS = (DeviceTargetAttr, DeviceAliasAttr, DeviceOrdinalAttr)
"""Attributes that are bound to available devices; others refer to devices of the module."""

_MEMORY = "hal.devices"


class MissingDevice(ValueError):
    """A device that the program needs is not available; the message names it."""


@dataclass(slots=True)
class DeviceBindings:
    """The binding of device globals to available devices.

    `available` lists the kinds of the devices, such as `local-task`; `None` means that every device
    exists. A device target without an ordinal gets the next device of its kind that is not taken.

    If the grid names the device of each process, a process can use its own device (the global
    `own`) but not those of other processes (the globals `others`).
    """

    globals: dict[str, Operation]
    available: tuple[str, ...] | None = None
    own: str = ""
    others: frozenset[str] = frozenset()
    _bound: dict[str, str] = field(default_factory=dict[str, str])
    _taken: dict[str, int] = field(default_factory=dict[str, int])

    def bind_all(self) -> dict[str, str]:
        """Bind every device global.

        Raises OperationError at a global whose device is not available.
        """
        return {name: self.bound(name, op) for name, op in self.globals.items()}

    def of_process(self, grid: Operation, process: int) -> DeviceBindings:
        """Return the devices that a process of a grid can use."""
        places = process_devices(grid) or ()
        if not places:
            return self
        own = places[process].device_names()[0]
        others = frozenset(name for place in places for name in place.device_names()) - {own}
        # Selections and fallbacks are resolved again: their device may belong to another process.
        bound = {
            name: device
            for name, device in self._bound.items()
            if isinstance(attribute(self.globals[name], "initial_value"), TARGETS)
        }
        bound[own] = self.bound(own, grid)
        return DeviceBindings(self.globals, self.available, own, others, bound, self._taken.copy())

    def bound(self, name: str, op: Operation) -> str:
        """Return the device that a global is bound to. Raises OperationError if there is none."""
        if name in self.others:
            raise OperationError(
                op, f"is on device @{name}, but runs in a process whose device is @{self.own}"
            )
        if name not in self._bound:
            definition = self.globals.get(name)
            if definition is None:
                raise OperationError(op, f"runs on @{name}, but the module defines no such device")
            try:
                value = attribute(definition, "initial_value")
                self._bound[name] = self._bind(name, value, definition)
            except MissingDevice as error:
                raise OperationError(definition, str(error)) from error
        return self._bound[name]

    def _bind(self, name: str, value: Attribute | None, definition: Operation) -> str:
        match value:
            case DeviceSelectAttr():
                reasons: list[str] = []
                for choice in value.devices:
                    try:
                        return self._bind(name, choice, definition)
                    except MissingDevice as error:
                        reasons.append(str(error))
                raise MissingDevice("; ".join(reasons))
            case DeviceFallbackAttr(device=SymbolRefAttr() as other):
                device = other.root_reference.data
                if device in self.others:
                    raise MissingDevice(f"device @{device} belongs to other processes")
                return self.bound(device, definition)
            case DeviceTargetAttr() | DeviceAliasAttr():
                return self._of_kind(name, value)
            case DeviceOrdinalAttr():
                return self._numbered(name, value)
            case _:
                return name

    def _of_kind(self, name: str, value: DeviceTargetAttr | DeviceAliasAttr) -> str:
        if self.available is None:
            return name
        wanted = value.identifier.data
        kinds = DRIVERS.get(wanted, (wanted,))
        fitting = [index for index, each in enumerate(self.available) if each in kinds]
        ordinal = _ordinal(value)
        if ordinal is None:
            ordinal = self._taken.get(wanted, 0)
        self._taken[wanted] = max(self._taken.get(wanted, 0), ordinal + 1)
        if ordinal >= len(fitting):
            given = ", ".join(self.available) or "none"
            raise MissingDevice(
                f'device @{name} needs device #{ordinal} of kind "{wanted}", but the devices are'
                f" {given}"
            )
        return f"{self.available[fitting[ordinal]]}#{fitting[ordinal]}"

    def _numbered(self, name: str, value: DeviceOrdinalAttr) -> str:
        if self.available is None:
            return name
        ordinal = value.ordinal.value.data
        if ordinal >= len(self.available):
            raise MissingDevice(
                f"device @{name} needs device #{ordinal}, but there are {len(self.available)}"
            )
        return f"{self.available[ordinal]}#{ordinal}"


def _ordinal(value: DeviceTargetAttr | DeviceAliasAttr) -> int | None:
    if isinstance(value, DeviceAliasAttr) and isinstance(value.ordinal, IntegerAttr):
        return value.ordinal.value.data
    if isinstance(value.configuration, DictionaryAttr):
        ordinal = value.configuration.data.get("ordinal")
        if isinstance(ordinal, IntegerAttr):
            return cast(IntegerAttr, ordinal).value.data
    return None


def initial_memory(
    module: ModuleOp,
    available: Sequence[str] | None,
    grid: Grid | None = None,
    process: int = 0,
) -> dict[str, DeviceBindings]:
    """Return the initial memory of an interpreter device: the module's devices, bound.

    A process of a grid that names devices can use only its own. Raises OperationError as
    `DeviceBindings.bind_all` does.
    """
    devices = DeviceBindings(
        device_globals(module), None if available is None else tuple(available)
    )
    if available is not None:
        devices.bind_all()
    definition = None if grid is None else grid_with_devices(module, grid)
    if definition is not None:
        devices = devices.of_process(definition, process)
    return {_MEMORY: devices}


def grid_with_devices(module: ModuleOp, grid: Grid) -> Operation | None:
    """Return the definition of a grid in a module if it names the devices of its processes.

    Return `None` otherwise.
    """
    for op in module.body.block.ops:
        if operation_name(op) == "shard.grid" and symbol_name(op) == grid.name:
            places = process_devices(op)
            if places is not None and len(places) == grid.device_count():
                return op
    return None


def _bindings_of(frame: Frame) -> DeviceBindings:
    memory = frame.process.memory
    if _MEMORY not in memory:
        memory.update(initial_memory(frame.process.program.module, None))
    return memory[_MEMORY]


def device_of(op: Operation, frame: Frame, affinity: Attribute | None = None) -> str | None:
    """Return the device of an operation or of the given affinity; `None` if neither names one.

    Raises OperationError.
    """
    affinity = affinity if affinity is not None else affinity_of(op)
    if affinity is None:
        return None
    if not isinstance(affinity, AffinityAttribute):
        raise OperationError(op, f"has an affinity of unknown kind: {affinity}")
    names = affinity.device_names()
    return _bindings_of(frame).bound(names[0], op) if names else None


def check_access(
    op: Operation, frame: Frame, *resources: Resource, affinity: Attribute | None = None
) -> str | None:
    """Return the device of an operation or affinity, which accesses resources.

    Raises OperationError if another device owns one of them.
    """
    here = device_of(op, frame, affinity)
    for resource in resources:
        check_owner(op, here, resource.owner)
    return here


def check_owner(op: Operation, here: str | None, owner: str | None) -> None:
    """Raise OperationError if an operation on one device accesses a resource of another."""
    if here is not None and owner not in (None, here):
        raise OperationError(
            op,
            f"runs on device {here}, but accesses a resource of device {owner}: transfer it first",
        )

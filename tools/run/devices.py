"""Devices on the command line of `mesh-run`: device kinds, devices in a program, grid shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute

from ...dialects.hal.targets import (
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    ExecutableTargetAttr,
    device_globals,
)
from ...dialects.shard.checks import DEVICES, grid_value
from ...interpreter.devices import DRIVERS
from ...ir.attribute_access import attribute, operation_name, symbol_name
from ...ir.usage_error import UsageError, did_you_mean
from ...programs.function import Function
from ...sharding.grid import Grid, extents_text

GRIDS = ("sdy.mesh", "shard.grid")


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise UsageError for an unknown device kind."""
    known = sorted(name for names in DRIVERS.values() for name in names)
    for kind in kinds:
        if kind not in known:
            hint = did_you_mean(kind, known)
            raise UsageError(f"--device={kind}: there are {', '.join(known)}, and list{hint}")


def pipeline_to_devices(module: ModuleOp) -> str:
    """Return the pipeline that assigns a program to the devices that it names; may be empty.

    A program whose grid names the devices is partitioned first.
    """
    operations = tuple(module.body.block.ops)
    if not device_globals(module) or any(
        operation_name(op).endswith(".executable") for op in operations
    ):
        return ""
    named = any(operation_name(op) in GRIDS and DEVICES in op.attributes for op in operations)
    return "compile" if named else "data-tile"


def list_devices(module: ModuleOp) -> str:
    """Return one line per device that a program names: its name, kind and targets."""
    lines = [
        f"@{name}: {' or '.join(_described(attribute(op, 'initial_value')))}\n"
        for name, op in device_globals(module).items()
    ]
    return "".join(lines) or "the program names no devices\n"


def _described(value: Attribute | None) -> Iterator[str]:
    match value:
        case DeviceTargetAttr():
            ordinal = value.configuration
            number = getattr(ordinal, "data", {}).get("ordinal")
            place = f" #{number.value.data}" if number is not None else ""
            targets = ", ".join(
                f"{target.backend.data} {target.format.data}"
                for target in value.targets
                if isinstance(target, ExecutableTargetAttr)
            )
            yield f"{value.identifier.data}{place} ({targets or 'no targets'})"
        case DeviceAliasAttr():
            yield value.identifier.data
        case DeviceOrdinalAttr():
            yield f"device #{value.ordinal.value.data}"
        case DeviceFallbackAttr(device=SymbolRefAttr() as other):
            yield f"@{other.root_reference.data}"
        case DeviceSelectAttr():
            for choice in value.devices:
                yield from _described(choice)
        case _:
            yield "a device that is not known"


def given_grid(shape: tuple[int, ...], function: Function) -> Grid:
    """Return the grid of a function, or else of its module, with the extents of `--grid-shape`.

    Raises UsageError if the extents do not fit the grid.
    """
    declared = function.grid or _only_grid(function.program.module)
    if not declared.fits(shape):
        raise UsageError(
            f"--grid-shape={extents_text(shape)} does not fit grid @{declared.name} of shape"
            f" {extents_text(declared.shape)}, on which @{function.name} runs"
        )
    return Grid(declared.name, shape)


def _only_grid(module: ModuleOp) -> Grid:
    """Return the only grid of a module, of which kernels may have copies. Raises UsageError."""
    grids = [op for op in module.walk() if operation_name(op) == "shard.grid"]
    found = {symbol_name(grid): grid_value(grid) for grid in grids}
    if len(found) != 1:
        raise UsageError(f"--grid-shape needs a program with one grid; this has {len(found)}")
    return found.popitem()[1]

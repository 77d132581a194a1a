"""Report what a partitioned program costs one device: collectives, bytes sent, work and memory."""

from __future__ import annotations

import json

from xdsl.dialects.builtin import ModuleOp

from ....sharding.machine import Machine
from .program_cost import Cost, CostCounter


def module_costs(module: ModuleOp, machine: Machine | None = None) -> dict[str, Cost]:
    """Return what one call of each function of a module costs one device.

    Times are those on `machine`, if it is given. Raises MachineError if a grid is larger than the
    machine.
    """
    module = module.clone()
    counter = CostCounter(module, machine)
    return {
        name: counter.function(function)
        for name, function in counter.functions.items()
        if function.regions[0].blocks
    }


def render_report(module: ModuleOp, machine: Machine | None = None) -> str:
    """Return the costs of every function of a module as text.

    Kernels count where they are dispatched. Raises MachineError if a grid is larger than the
    machine.
    """
    costs = module_costs(module, machine)
    return "\n".join(_render(name, cost, machine) for name, cost in costs.items())


def render_json(module: ModuleOp, machine: Machine | None = None) -> str:
    """Return the costs of every function of a module as JSON. Raises MachineError."""
    costs = module_costs(module, machine)
    return json.dumps({name: cost.as_json() for name, cost in costs.items()}, indent=2) + "\n"


def _render(name: str, cost: Cost, machine: Machine | None) -> str:
    lines = [f"@{name}, for one device:"]
    for (collective, axes), (count, sent) in sorted(cost.collectives.items()):
        lines.append(f"  {count:6} x {collective} over {axes}: {sent:.0f} bytes sent")
    lines.append(f"  bytes sent     {cost.sent:.0f}")
    lines.append(f"  operations     {cost.work:.0f}")
    if not cost.dispatches:
        lines.append(f"  peak memory    {cost.peak} bytes")
    if machine is not None:
        lines.append(
            f"  time           {time_text(cost.seconds)} as modelled for {machine.name}:"
            f" computing {time_text(cost.computing)}, sending {time_text(cost.sending)}; if both"
            f" overlap at least {time_text(cost.overlapped_seconds)}"
        )
        if cost.peak > machine.device.memory:
            lines.append(
                f"  does not fit   {machine.name} has {machine.device.memory:.0f} bytes on a device"
            )
    if cost.uncounted:
        lines.append(
            f"  not counted    {cost.uncounted} operations of sizes or kinds not known here"
        )
    return "\n".join(lines) + "\n"


def time_text(seconds: float) -> str:
    """Return a time in seconds as text, in a suitable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"

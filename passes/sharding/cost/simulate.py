"""Simulate a partitioned program on a modelled machine: what one device does, and when.

All devices of an SPMD program run the same steps. If shards have equal sizes, one device represents
all; otherwise the last device along all grid axes does, which has the longest shards and is the one
that others wait for. Nothing is run: times are those of the cost report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.shard.boundary import enclosing_grid
from ....dialects.shard.checks import grid_value
from ....ir.diagnostics import OperationError
from ....ir.host_programs import CALLS
from ....ir.regions import inner_blocks, values_read
from ....ir.symbols import root_symbol
from ....ir.tensor_types import ranked
from ....sharding.collective_rows import COLLECTIVES
from ....sharding.cost import known_extents
from ....sharding.grid import Grid, extents_text
from ....sharding.machine import Machine
from ....sharding.simulation import (
    COMPUTE,
    SimulatedSpan,
    SimulatedStep,
    busy_seconds,
    makespan,
    with_overlap,
    without_overlap,
)
from ..annotations.access import grid_name
from .collective_traffic import collective_axes
from .cost_report import time_text
from .program_cost import Cost, CostCounter, trip_count

MAX_LISTED = 5
"""Number of steps that a report names."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated function: its steps, and both schedules of them."""

    function: str
    machine: Machine
    grids: tuple[Grid, ...]
    steps: tuple[SimulatedStep, ...]
    serial: tuple[SimulatedSpan, ...]
    overlapped: tuple[SimulatedSpan, ...]
    cost: Cost
    is_even: bool

    def text(self) -> str:
        """Return a report; every line with numbers says that they are simulated."""
        devices = max((grid.device_count() for grid in self.grids), default=1)
        shapes = ", ".join(f"@{g.name} of {extents_text(g.shape)}" for g in self.grids)
        whole, least = makespan(self.serial), makespan(self.overlapped)
        who = ""
        if devices != 1:
            which = "one device" if self.is_even else "the device with the longest shards"
            who = f", {which} stands for all"
        lines = [
            f"SIMULATED @{self.function} on {self.machine.name}: {devices}"
            f" {'device' if devices == 1 else 'devices'}"
            + (f", {shapes}" if shapes else "")
            + f"; nothing was run{who}",
            f"  simulated time     {time_text(whole)} without overlap, {time_text(least)} with all"
            " that can overlap",
        ]
        for lane, busy in busy_seconds(self.steps, self.overlapped).items():
            share = 100 * busy / least if least else 0.0
            lines.append(
                f"  simulated lane     {lane}: {time_text(busy)} busy, {share:.3g}% of the time"
                " with overlap"
            )
        cost = self.cost
        lines.append(
            f"  simulated device   {cost.work:.0f} operations, {cost.sent:.0f} bytes sent"
            + ("" if cost.dispatches else f", {cost.peak} bytes held at the peak")
        )
        if cost.peak > self.machine.device.memory:
            lines.append(
                f"  simulated device   has {self.machine.device.memory:.0f} bytes: it does not fit"
            )
        longest = sorted(range(len(self.steps)), key=lambda i: (-self.steps[i].serial, i))
        for index in longest[:MAX_LISTED]:
            step = self.steps[index]
            if step.serial:
                lines.append(f"  simulated step     {step.name}: {time_text(step.serial)}")
        if cost.uncounted:
            lines.append(
                f"  not simulated      {cost.uncounted} operations of unknown size or kind"
            )
        return "\n".join(lines) + "\n"

    def trace(self) -> str:
        """Return both schedules as a trace in Chrome's JSON format, for ui.perfetto.dev."""
        events: list[dict[str, object]] = []
        schedules = (("without overlap", self.serial), ("with overlap", self.overlapped))
        lanes = list(busy_seconds(self.steps, self.overlapped))
        for process, (title, spans) in enumerate(schedules):
            name = f"simulated {self.machine.name}, {title}"
            events.append(_metadata("process_name", process, 0, name))
            events += [
                _metadata("thread_name", process, thread, f"simulated {lane}")
                for thread, lane in enumerate(lanes)
            ]
            for span in spans:
                step = self.steps[span.step]
                occupied: list[dict[str, object]] = [
                    {
                        "name": step.name,
                        "cat": "simulated",
                        "ph": "X",
                        "pid": process,
                        "tid": lanes.index(lane),
                        "ts": 1e6 * span.begin,
                        "dur": 1e6 * (span.end - span.begin),
                    }
                    for lane in step.lanes
                ]
                events += occupied
        about = {"simulated": True, "machine": self.machine.name, "source": self.machine.source}
        return json.dumps({"traceEvents": events, "otherData": about}) + "\n"


def _metadata(kind: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def simulate(module: ModuleOp, function: str, machine: Machine) -> Simulation:
    """Simulate one call of a function.

    Raises OperationError if the function has several blocks or a grid has unknown extents,
    MachineError if a grid is larger than the machine, and KeyError if there is no such function.
    """
    module = module.clone()
    operations = list(module.walk())
    # Kernels contain copies of their grid.
    grids = tuple(dict.fromkeys(_grids(operations)))
    if any(operation.name == "shard.shard" for operation in operations):
        grids = ()  # Not partitioned yet: one device runs the whole program.
    for grid in grids:
        machine.check_grid(known_extents(grid.shape))
    counter = CostCounter(module, machine)
    simulator = _Simulator(counter, machine)
    body = counter.functions[function].regions[0]
    if len(body.blocks) != 1:
        raise OperationError(
            counter.functions[function],
            f"has {len(body.blocks)} blocks; only structured control flow is simulated",
        )
    steps = simulator.steps(body.blocks[0])
    is_even = all(
        known is None or known.has_static_shape()
        for operation in operations
        for known in map(ranked, operation.results)
    )
    return Simulation(
        function,
        machine,
        grids,
        tuple(steps),
        tuple(without_overlap(steps)),
        tuple(with_overlap(steps)),
        counter.function(counter.functions[function]),
        is_even,
    )


def _grids(operations: Iterable[Operation]) -> Iterator[Grid]:
    """Yield the grids of a program. Raises OperationError for a grid with unknown extents."""
    for operation in operations:
        if operation.name == "shard.grid":
            grid = grid_value(operation)
            if not grid.is_static:
                raise OperationError(
                    operation, "has extents that are known only at run time; nothing is simulated"
                )
            yield grid


class _Simulator:
    """Converts blocks into steps."""

    def __init__(self, counter: CostCounter, machine: Machine) -> None:
        self._counter, self._machine = counter, machine
        self._bodies: dict[Block, tuple[float, tuple[str, ...]]] = {}

    def steps(self, block: Block) -> list[SimulatedStep]:
        """Return the steps of a block, in program order."""
        makers: dict[SSAValue, int] = {}
        steps: list[SimulatedStep] = []
        for operation in self._counter.operations(block):
            cost = self._counter.operation(operation)
            reads = {makers[value] for value in values_read(operation) if value in makers}
            overlapped, lanes = self._lanes(operation, cost)
            for result in operation.results:
                makers[result] = len(steps)
            steps.append(
                SimulatedStep(
                    _name(operation),
                    lanes,
                    cost.computing + cost.sending,
                    overlapped,
                    tuple(sorted(reads)),
                )
            )
        return steps

    def _lanes(self, operation: Operation, cost: Cost) -> tuple[float, tuple[str, ...]]:
        """Return how long an operation occupies its lanes with full overlap, and these lanes."""
        if operation.name in COLLECTIVES:
            return cost.sending, self._networks(operation) if cost.sending else ()
        inner = self._inner(operation)
        if inner:
            # An iteration of a loop begins when the previous one has ended on all lanes.
            parts = [self._body(block) for block in inner]
            lanes = tuple(dict.fromkeys(lane for _, used in parts for lane in used))
            seconds = [part for part, _ in parts]
            longest = sum(seconds) if operation.name == "scf.while" else max(seconds)
            return trip_count(operation) * longest, lanes
        return cost.computing, (COMPUTE,) if cost.computing else ()

    def _inner(self, operation: Operation) -> Sequence[Block]:
        """Return the blocks that an operation runs: those of its regions, or of its callee."""
        if operation.name in CALLS:
            callee = self._counter.functions.get(root_symbol(operation, "callee"))
            return () if callee is None else tuple(callee.regions[0].blocks)
        if operation.name.startswith(("linalg.", "tensor.", "tosa.")):
            return ()
        return tuple(inner_blocks(operation))

    def _body(self, block: Block) -> tuple[float, tuple[str, ...]]:
        """Return how long a block runs with full overlap, and the lanes that it uses."""
        if block not in self._bodies:
            self._bodies[block] = 0.0, ()  # Ends the recursion of recursive functions.
            steps = self.steps(block)
            lanes = tuple(busy_seconds(steps, without_overlap(steps)))
            self._bodies[block] = makespan(with_overlap(steps)), lanes
        return self._bodies[block]

    def _networks(self, operation: Operation) -> tuple[str, ...]:
        grid = enclosing_grid(operation, grid_name(operation))
        if grid is None:
            return ()
        hops = self._machine.hops(known_extents(grid.shape), collective_axes(operation))
        return tuple(f"network {hop.position}" for hop in hops)


def _name(operation: Operation) -> str:
    count = trip_count(operation)
    hint = next((result.name_hint for result in operation.results if result.name_hint), None)
    return (
        operation.name + (f" %{hint}" if hint else "") + (f", {count} times" if count != 1 else "")
    )

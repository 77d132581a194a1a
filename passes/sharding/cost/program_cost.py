"""Count what a partitioned program costs one device: collectives, bytes sent, work and memory.

The numbers are derived from the program, not measured:

- bytes sent are those of ring algorithms (`sharding/collective_rows.py`);
- work is the number of scalar `arith` and `math` operations in loop nests and elementwise
  operations, without constants, comparisons and conversions;
- time is the sum of the times of kernels and collectives on a machine (`sharding/time_model.py`);
  the least time assumes that the two overlap completely;
- peak memory is the maximum size of live tensors. An operation writes into its destination if that
  has no other reader; `tensor.empty` takes no memory.

Where processes hold unequal shards, the numbers are those of the last process along all grid axes
(`local_sizes.py`); halos are those of a process with two neighbours.

A loop counts as often as it iterates if that is known, else once. Of branches, the one that sends
most counts, or does most work if they send the same. Operations whose sizes are known only at run
time are not counted; the report gives their number. A host program costs as much as the kernels
that it dispatches; its memory is left out, since the runtime manages it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.identities import ANNOTATIONS
from ....dialects.linalg.structured_view import structured_view
from ....dialects.shard.boundary import enclosing_grid
from ....ir.attribute_access import constant_integer, number_list
from ....ir.host_programs import CALLS, CHOICES, EXECUTABLES, FUNCTIONS
from ....ir.regions import enclosing
from ....ir.symbols import defined_name, root_symbol
from ....ir.tensor_types import element_bytes
from ....sharding.collective_rows import COLLECTIVES, RECV, SEND
from ....sharding.cost import known_extents
from ....sharding.grid import Grid
from ....sharding.machine import Machine
from ....sharding.time_model import TimePrice, kernel_seconds
from ...sizes.local_sizes import LocalSizes
from ...stream.kernels.exports import entry_points
from ..annotations.access import grid_name
from .collective_traffic import collective_axes, sent_bytes
from .kernel_work import (
    is_fused,
    is_kernel,
    memory_values,
    operation_work,
    unannotated,
    work_element,
)

_HOLDS_NOTHING = ANNOTATIONS | {"tensor.empty"}


@dataclass(slots=True)
class Cost:
    """The cost of a part of a program on one device."""

    collectives: dict[tuple[str, str], tuple[int, float]] = field(
        default_factory=dict[tuple[str, str], tuple[int, float]]
    )
    """By name and axes: how often the collective runs, and the total bytes that it sends."""
    work: float = 0.0
    """Number of scalar operations."""
    peak: int = 0
    """Peak memory in bytes."""
    computing: float = 0.0
    """Seconds of kernels on the machine; 0 without a machine."""
    sending: float = 0.0
    """Seconds of collectives on the machine; 0 without a machine."""
    uncounted: int = 0
    """Number of operations whose sizes are known only at run time, or whose work is unknown."""
    dispatches: int = 0
    """Number of kernels that a host program dispatches; its buffers do not count towards `peak`."""

    @property
    def sent(self) -> float:
        """The bytes that a device sends."""
        return sum(sent for _, sent in self.collectives.values())

    @property
    def seconds(self) -> float:
        """The time in seconds without overlap."""
        return self.computing + self.sending

    @property
    def overlapped_seconds(self) -> float:
        """The time in seconds if communication and computation overlap completely."""
        return max(self.computing, self.sending)

    def as_json(self) -> dict[str, object]:
        """Return the cost as a JSON object; times are 0 without a machine."""
        return {
            "collectives": [
                {"name": name, "over": axes, "count": count, "bytes": sent}
                for (name, axes), (count, sent) in sorted(self.collectives.items())
            ],
            "bytes_sent": self.sent,
            "operations": self.work,
            "peak_memory": None if self.dispatches else self.peak,
            "computing_seconds": self.computing,
            "sending_seconds": self.sending,
            "seconds": self.seconds,
            "overlapped_seconds": self.overlapped_seconds,
            "not_counted": self.uncounted,
        }

    def add(self, other: Cost, times: int = 1) -> None:
        """Add the cost of another part, run `times` times, except for its memory."""
        for key, (count, sent) in other.collectives.items():
            old_count, old_sent = self.collectives.get(key, (0, 0.0))
            self.collectives[key] = old_count + times * count, old_sent + times * sent
        self.work += times * other.work
        self.computing += times * other.computing
        self.sending += times * other.sending
        self.uncounted += other.uncounted
        self.dispatches += times * other.dispatches


class _Memory:
    """The tensors that are live in a block, and the bytes that they take."""

    def __init__(self) -> None:
        self.held = 0
        self._live: dict[SSAValue, int] = {}

    def hold(self, value: SSAValue, size: int) -> None:
        """Add a tensor."""
        self._live[value] = size
        self.held += size

    def free(self, values: Iterable[SSAValue]) -> None:
        """Remove tensors; those of other blocks and those removed before are ignored."""
        self.held -= sum(self._live.pop(value, 0) for value in values)


class CostCounter:
    """The costs of the functions of a module, each computed once.

    Computing sizes adds operations to the module; these are not counted.
    """

    def __init__(self, module: Operation, machine: Machine | None) -> None:
        self._machine = machine
        self._operations = set(module.walk())
        self._sizes = LocalSizes()
        self.functions: dict[str, Operation] = {}
        self._kernels: dict[tuple[str, str], Operation] = {}
        for operation in module.walk():
            if operation.name in FUNCTIONS:
                name = defined_name(operation)
                executable = _executable_of(operation)
                if executable is None:
                    self.functions[name] = operation
                else:
                    self._kernels[defined_name(executable), name] = operation
        self._known: dict[Operation, Cost] = {}

    def function(self, function: Operation) -> Cost:
        """Return the cost of one call; recursive calls within it count as 0."""
        found = self._known.get(function)
        if found is None:
            self._known[function] = Cost()
            found = self._known[function] = self._region(function.regions[0])
        return found

    def _block(self, block: Block) -> Cost:
        total = Cost()
        operations = self.operations(block)
        last_use = _last_uses(operations)
        memory = _Memory()
        # The caller keeps the arguments alive during the call.
        for argument in block.args:
            memory.hold(argument, self._bytes(argument))
        total.peak = memory.held
        for index, operation in enumerate(operations):
            inner = self.operation(operation)
            total.add(inner)
            dying = {
                operand
                for operand in map(unannotated, operation.operands)
                if last_use.get(operand) == index and operand.owner is not block
            }
            view = structured_view(operation)
            if view is not None:
                memory.free(dying.intersection(map(unannotated, view.outputs)))
            for result in operation.results:
                holds = operation.name not in _HOLDS_NOTHING
                memory.hold(result, self._bytes(result) if holds else 0)
            total.peak = max(total.peak, memory.held + inner.peak)
            memory.free(dying)
            memory.free(result for result in operation.results if result.first_use is None)
        return total

    def operations(self, block: Block) -> list[Operation]:
        """Return the operations of a block, without those added to compute sizes."""
        return [operation for operation in block.ops if operation in self._operations]

    def operation(self, operation: Operation) -> Cost:
        """Return the cost of running an operation once, with its regions and callees."""
        cost = Cost()
        if operation.name in COLLECTIVES and operation.name != RECV.operation:
            self._collective(operation, cost)
            return cost
        for entry in entry_points(operation):
            # Entry points are variants of one kernel of equal cost; the runtime runs the first that
            # fits.
            names = entry.root_reference.data, entry.string_value().rpartition(".")[2]
            kernel = self._kernels.get(names)
            if kernel is not None:
                cost.add(self.function(kernel))
                cost.dispatches += 1
                return cost
        if operation.name in CALLS:
            callee = self.functions.get(root_symbol(operation, "callee"))
            if callee is not None and callee.regions[0].blocks:
                called = self.function(callee)
                cost.add(called)
                cost.peak = max(0, called.peak - sum(map(self._bytes, operation.operands)))
            return cost
        if structured_view(operation) is not None:
            self._kernel(operation, cost)
            return cost
        if operation.regions:
            times = trip_count(operation)
            parts = [self._region(region) for region in operation.regions]
            cost.peak = max(part.peak for part in parts)
            if operation.name in CHOICES:
                parts = [max(parts, key=lambda part: (part.sent, part.work))]
            for part in parts:
                cost.add(part, times)
            return cost
        self._kernel(operation, cost)
        return cost

    def _region(self, region: Region) -> Cost:
        total = Cost()
        for block in region.blocks:
            cost = self._block(block)
            total.add(cost)
            total.peak = max(total.peak, cost.peak)
        return total

    def _bytes(self, value: SSAValue) -> int:
        """Return the size of a tensor; 0 for unknown sizes and other types."""
        shape = self._sizes.shape(value)
        return 0 if shape is None else prod(shape) * element_bytes(value)

    def _kernel(self, operation: Operation, cost: Cost) -> None:
        work = operation_work(operation, self._sizes.shape)
        if work is None:
            cost.uncounted += 1
            work = 0.0
        cost.work += work
        if self._machine is None or not is_kernel(operation):
            return
        traffic = sum(sum(map(self._bytes, side)) for side in memory_values(operation))
        device = self._machine.device
        seconds = kernel_seconds(device, work, work_element(operation), traffic)
        # The launch of the kernel that it is fused into is counted there.
        cost.computing += seconds - device.launch * is_fused(operation)

    def _collective(self, operation: Operation, cost: Cost) -> None:
        grid = enclosing_grid(operation, grid_name(operation))
        axes = collective_axes(operation)
        sent = sent_bytes(operation, self._sizes.shape)
        if sent is None:
            cost.uncounted += 1
            sent = 0.0
        if self._machine is not None and grid is not None and grid.is_static and sent:
            cost.sending += self._seconds(operation, grid, axes, sent)
        extents = "x".join("?" if grid is None else str(grid.shape[a] or "?") for a in axes)
        where = f"@{grid_name(operation)}{list(axes)} ({extents or 1})"
        cost.collectives[operation.name, where] = (1, sent)

    def _seconds(self, operation: Operation, grid: Grid, axes: Sequence[int], sent: float) -> float:
        """Return the time of a collective, given the bytes that it sends in a ring algorithm."""
        assert self._machine is not None
        row, shape = COLLECTIVES[operation.name], known_extents(grid.shape)
        price = TimePrice(self._machine, shape)
        each = row.sent(prod(shape[axis] for axis in axes))
        if not each:  # A halo exchange, whose row has no byte count.
            return price.collective(SEND, sent, axes)
        return price.collective(row, sent / each, axes)


def _executable_of(function: Operation) -> Operation | None:
    """Return the executable that contains a kernel function; `None` for other functions."""
    return next((each for each in enclosing(function) if each.name in EXECUTABLES), None)


def _last_uses(operations: Sequence[Operation]) -> dict[SSAValue, int]:
    """Return for each value that a block's operations read the index of the last that does."""
    last: dict[SSAValue, int] = {}
    for index, operation in enumerate(operations):
        for inner in operation.walk():
            for operand in inner.operands:
                last[unannotated(operand)] = index
    return last


def trip_count(operation: Operation) -> int:
    """Return how often the body of a loop runs; 1 for other operations and unknown bounds."""
    if operation.name == "scf.forall":
        low, high, step = (
            number_list(operation.properties.get(f"static{name}"))
            for name in ("LowerBound", "UpperBound", "Step")
        )
        if DYNAMIC_INDEX in (*low, *high, *step) or 0 in step:
            return 1
        return prod(max(0, -(-(b - a) // s)) for a, b, s in zip(low, high, step, strict=True))
    if operation.name != "scf.for":
        return 1
    bounds = [constant_integer(bound) for bound in operation.operands[:3]]
    low, high, step = bounds
    if low is None or high is None or not step:
        return 1
    return max(0, -(-(high - low) // step))

"""What a partitioned program costs one device: collectives, bytes sent, work and memory.

The numbers are counted from the program, not measured:

- bytes sent are those of ring algorithms (`sharding/collectives.py`);
- work is the number of scalar `arith` and `math` operations other than constants, comparisons and
  conversions that loop nests and elementwise operations run;
- time is what kernels and collectives take on a machine, one after the other
  (`sharding/time_model.py`); the least time is that of whichever of both takes longer;
- peak memory is that of tensors that are still to be read, at the moment when they are most. An
  operation writes into its destination if nobody else reads that; `tensor.empty` holds nothing.

Where processes hold unequal shards, the numbers are those of the last process along all grid axes
(`local_sizes.py`), and a halo is that of a process with two neighbours.

Loops count as often as they iterate if that is known, else once, and of branches the one that sends
most, or works most. What has a size that is known only at run time is not counted, and the report
says how many operations that were. A host program costs what the kernels that it dispatches cost;
its memory is the runtime's affair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...dialects.shard.attributes import AxesArrayAttr
from ...dialects.shard.boundary import enclosing_grid
from ...ir.attribute_access import constant_integer, number_list
from ...ir.host_programs import CALLS, EXECUTABLES, FUNCTIONS
from ...ir.regions import enclosing
from ...ir.symbols import root_symbol
from ...ir.tensor_types import element_bytes, ranked
from ...sharding.collectives import COLLECTIVES, RECV, SEND, UPDATE_HALO
from ...sharding.cost import known_extents
from ...sharding.grid import Grid
from ...sharding.machine import Machine
from ...sharding.time_model import TimePrice, kernel_seconds
from ..sizes.local_sizes import LocalSizes
from ..stream.kernels.exports import entry_points
from .annotations.access import axes_of, grid_name
from .kernel_work import (
    ANNOTATIONS,
    is_fused,
    is_kernel,
    memory_values,
    operation_work,
    unannotated,
    work_element,
)

Shapes = Callable[..., Sequence[int] | None]
"""The shape of a value, on the first process along some grid axes or on the last one."""

_HOLDS_NOTHING = ANNOTATIONS | {"tensor.empty"}

_BRANCHES = ("scf.if", "scf.index_switch")
"""Operations of which one region runs."""


@dataclass(slots=True)
class Cost:
    """What a stretch of a program costs one device."""

    collectives: dict[tuple[str, str], tuple[int, float]] = field(
        default_factory=dict[tuple[str, str], tuple[int, float]]
    )
    """By name and axes: how often, and the bytes that it sends in all."""
    work: float = 0.0
    """Scalar operations."""
    peak: int = 0
    """Bytes."""
    computing: float = 0.0
    """Seconds of kernels on a machine, 0 without one."""
    sending: float = 0.0
    """Seconds of collectives on a machine, 0 without one."""
    uncounted: int = 0
    """Operations with sizes that are known only at run time, or whose work is not."""
    dispatches: int = 0
    """Kernels that a host program runs; its buffers are not among the bytes."""

    @property
    def sent(self) -> float:
        """Bytes that a device sends."""
        return sum(sent for _, sent in self.collectives.values())

    @property
    def seconds(self) -> float:
        """The time of one thing after the other."""
        return self.computing + self.sending

    @property
    def overlapped_seconds(self) -> float:
        """The least time, if all that is sent is sent while something else is computed."""
        return max(self.computing, self.sending)

    def as_json(self) -> dict[str, object]:
        """All of it as values of JSON; times are 0 without a machine."""
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
        """Add what another stretch costs, apart from memory."""
        for key, (count, sent) in other.collectives.items():
            old_count, old_sent = self.collectives.get(key, (0, 0.0))
            self.collectives[key] = old_count + times * count, old_sent + times * sent
        self.work += times * other.work
        self.computing += times * other.computing
        self.sending += times * other.sending
        self.uncounted += other.uncounted
        self.dispatches += times * other.dispatches


def module_costs(module: ModuleOp, machine: Machine | None = None) -> dict[str, Cost]:
    """What one call of each function of a module costs one device.

    Times are those on a machine, if one is given. Raises MachineError if a grid is larger.
    """
    module = module.clone()
    counter = CostCounter(module, machine)
    return {
        name: counter.function(function)
        for name, function in counter.functions.items()
        if function.regions[0].blocks
    }


def render_report(module: ModuleOp, machine: Machine | None = None) -> str:
    """The costs of every function of a module, as text; kernels are part of who dispatches them.

    Raises MachineError.
    """
    costs = module_costs(module, machine)
    return "\n".join(_render(name, cost, machine) for name, cost in costs.items())


def render_json(module: ModuleOp, machine: Machine | None = None) -> str:
    """The same as JSON. Raises MachineError."""
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
    """A time in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


class CostCounter:
    """Costs of the functions of a module, each counted once.

    The module gets operations that compute sizes, which cost nothing.
    """

    def __init__(self, module: Operation, machine: Machine | None) -> None:
        self._machine = machine
        self._operations = set(module.walk())
        self._sizes = LocalSizes()
        self.functions: dict[str, Operation] = {}
        self._kernels: dict[tuple[str, str], Operation] = {}
        for operation in module.walk():
            if operation.name in FUNCTIONS:
                name = root_symbol(operation, "sym_name")
                executable = _executable_of(operation)
                if executable is None:
                    self.functions[name] = operation
                else:
                    self._kernels[root_symbol(executable, "sym_name"), name] = operation
        self._known: dict[Operation, Cost] = {}

    def function(self, function: Operation) -> Cost:
        """What one call costs; a recursive call inside counts as nothing."""
        found = self._known.get(function)
        if found is None:
            self._known[function] = Cost()
            found = self._known[function] = self._region(function.regions[0])
        return found

    def _block(self, block: Block) -> Cost:
        total = Cost()
        operations = self.operations(block)
        last_use = _last_uses(block, operations)
        # Whoever calls holds the arguments to the end.
        live: dict[SSAValue, int] = {argument: self._bytes(argument) for argument in block.args}
        total.peak = sum(live.values())
        for index, operation in enumerate(operations):
            inner = self.operation(operation)
            total.add(inner)
            dying = [
                operand
                for operand in set(map(unannotated, operation.operands))
                if last_use.get(operand) == index and operand in live and operand.owner is not block
            ]
            view = structured_view(operation)
            for operand in () if view is None else map(unannotated, view.outputs):
                if operand in dying:
                    del live[operand]
                    dying.remove(operand)
            for result in operation.results:
                holds = operation.name not in _HOLDS_NOTHING
                live[result] = self._bytes(result) if holds else 0
            total.peak = max(total.peak, sum(live.values()) + inner.peak)
            for operand in dying:
                del live[operand]
            for result in operation.results:
                if result.first_use is None:
                    del live[result]
        return total

    def operations(self, block: Block) -> list[Operation]:
        """The operations of a block that the program has, without those that compute sizes."""
        return [operation for operation in block.ops if operation in self._operations]

    def operation(self, operation: Operation) -> Cost:
        """What running an operation once costs, with its regions and what it calls."""
        cost = Cost()
        if operation.name in COLLECTIVES and operation.name != RECV.operation:
            self._collective(operation, cost)
            return cost
        for entry in entry_points(operation):
            # Of several kernels the first that fits is run, and they do the same.
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
            if operation.name in _BRANCHES:
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
        """The size of a tensor, 0 if it is not known and for anything else."""
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
        # The kernel of the only reader is launched once for both.
        cost.computing += seconds - device.launch * is_fused(operation)

    def _collective(self, operation: Operation, cost: Cost) -> None:
        grid = enclosing_grid(operation, grid_name(operation))
        axes = collective_axes(operation)
        sent = _sent(operation, self._sizes.shape)
        if sent is None:
            cost.uncounted += 1
            sent = 0.0
        if self._machine is not None and grid is not None and grid.is_static and sent:
            cost.sending += self._seconds(operation, grid, axes, sent)
        extents = "x".join("?" if grid is None else str(grid.shape[a] or "?") for a in axes)
        where = f"@{grid_name(operation)}{list(axes)} ({extents or 1})"
        cost.collectives[operation.name, where] = (1, sent)

    def _seconds(self, operation: Operation, grid: Grid, axes: Sequence[int], sent: float) -> float:
        """The time of a collective, from the bytes that it sends by a ring algorithm."""
        assert self._machine is not None
        row, shape = COLLECTIVES[operation.name], known_extents(grid.shape)
        price = TimePrice(self._machine, shape)
        each = row.sent(prod(shape[axis] for axis in axes))
        if not each:  # A halo: what is brought is what is sent.
            return price.collective(SEND, sent, axes)
        return price.collective(row, sent / each, axes)


def bytes_sent(operation: Operation) -> float | None:
    """What each device sends in a collective by ring algorithms, `None` for unknown sizes."""

    def shape(value: SSAValue, first_along: Sequence[int] = ()) -> Sequence[int] | None:
        value_type = ranked(value)
        static = value_type is not None and value_type.has_static_shape()
        return value_type.get_shape() if value_type is not None and static else None

    return _sent(operation, shape)


def collective_axes(operation: Operation) -> Sequence[int]:
    """The grid axes along which a collective works."""
    split = operation.get_attr_or_prop("split_axes")
    if isinstance(split, AxesArrayAttr):
        return tuple(axis for axes in split.lists() for axis in axes)
    return axes_of(operation)


def _sent(operation: Operation, shape_of: Shapes) -> float | None:
    """The bytes that a device sends in a collective, `None` if that is not known."""
    source = operation.operands[0]
    if operation.name == UPDATE_HALO.operation:
        return _halo_bytes(operation, shape_of)
    grid = enclosing_grid(operation, grid_name(operation))
    group = None if grid is None else grid.size(collective_axes(operation))
    shape = shape_of(source)
    if group is None or shape is None:
        return None
    size = prod(shape) * element_bytes(source)
    row = COLLECTIVES[operation.name]
    if row.joins and not row.divides:
        whole, first = shape_of(operation.results[0]), shape_of(source, collective_axes(operation))
        if whole is not None and first is not None:
            # All pieces but that of the next process in the ring, which is the first.
            return float((prod(whole) - prod(first)) * element_bytes(source))
    return size * row.sent(group)


def _halo_bytes(operation: Operation, shape_of: Shapes) -> float | None:
    """A process sends to each neighbour along a dimension what that has as a halo."""
    split = operation.get_attr_or_prop("split_axes")
    widths = operation.get_attr_or_prop("static_halo_sizes")
    source = operation.operands[0]
    value_type = ranked(source)
    if (
        value_type is None
        or not isinstance(split, AxesArrayAttr)
        or not isinstance(widths, DenseArrayBase)
    ):
        return None
    numbers = [int(width) for width in widths.get_values()]
    if min(numbers, default=0) < 0:
        return None
    dimensions = [d for d, axes in enumerate(split.lists()) if axes]
    shape = shape_of(source) or value_type.get_shape()
    sent = 0
    for dimension, low, high in zip(dimensions, numbers[::2], numbers[1::2], strict=True):
        others = [size for index, size in enumerate(shape) if index != dimension]
        if DYNAMIC_INDEX in others and low + high:
            return None
        sent += prod(others) * (low + high) * element_bytes(source)
    return float(sent)


def _executable_of(function: Operation) -> Operation | None:
    """The executable that a function is a kernel of."""
    return next((each for each in enclosing(function) if each.name in EXECUTABLES), None)


def _last_uses(block: Block, operations: Sequence[Operation]) -> dict[SSAValue, int]:
    """For each value that operations of a block read, the index of the last that does."""
    last: dict[SSAValue, int] = {}
    for index, operation in enumerate(operations):
        for inner in operation.walk():
            for operand in inner.operands:
                last[unannotated(operand)] = index
    return last


def trip_count(operation: Operation) -> int:
    """How often the body of a loop runs, 1 where that is not known."""
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

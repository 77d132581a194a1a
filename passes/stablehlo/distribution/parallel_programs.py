"""Convert `interpreter.run_parallel`: inline all processes of a test program into one function.

Each process is a copy of its function. Ops of each process are converted up to its next
collective; once all processes wait at one, its results are computed from the operands of all by
tensor ops, as StableHLO specifies. A send does not block, a receive waits for the matching send,
and asynchronous ops are executed when they start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....dialects.interpreter import function_names, program_rows
from ....dialects.stablehlo.attributes import ChannelHandleAttr, ReplicaGroupMeshAxesAttr
from ....ir.attribute_access import attribute, element_type, flag, integer
from ....ir.diagnostics import OperationError
from ....ir.regions import walk
from ....ir.rules import Rules
from ....ir.symbols import references_of
from ..lowering.element_types import element_kinds
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from ..reduction.combiners import combiner
from .collectives import mesh_groups, number_rows

Process = tuple[int, int]
"""(replica, partition)."""

Group = Sequence[Process]
Received = Sequence[Tensors | None]
"""The values that each process of a group receives; `None` for a process that receives zeros."""

Rule = Callable[[Lowering, Operation, Sequence[Tensors]], Received]
"""Computes what the processes of a group receive from the operands of each."""

collective = Rules[Rule]()

Exchange = Callable[["_Processes", Lowering, Operation, Tensors], Tensors | None]
"""Returns what a process receives from others or from the host; `None` if nothing was sent yet."""

exchange = Rules[Exchange]()


@dataclass
class _Process:
    """A process and the state of its conversion."""

    lowering: Lowering
    rest: list[Operation]
    results: Sequence[SSAValue] | None = None
    waiting: Operation | None = None
    futures: dict[Any, Tensors] = field(default_factory=dict[Any, Tensors])
    """The results of asynchronous ops that were started, by op."""

    def advance(self) -> None:
        """Convert ops up to the next collective or exchange, or to the end."""
        while self.rest:
            operation = self.rest.pop(0)
            if operation.name in collective or operation.name in exchange:
                self.waiting = operation
                return
            operands = [self.lowering.value(value) for value in operation.operands]
            if operation.name == "func.return":
                self.results = operands
                return
            if operation.name == "stablehlo.async_start":
                body = operation.regions[0].block
                self.lowering.values.update(zip(body.args, operands, strict=True))
                self.rest[:0] = body.ops
            elif operation.name == "stablehlo.return":
                self.futures[operation.parent_op()] = operands
            elif operation.name == "stablehlo.async_done":
                results = self.futures[operation.operands[0].owner]
                self.lowering.values.update(zip(operation.results, results, strict=True))
            else:
                self.lowering.with_origin(operation).operation(operation, {})


@dataclass
class _Processes:
    """All processes of a program, and the values in flight between them."""

    infeed: list[FuncOp]
    """The functions that yield what the host feeds in, in order."""
    running: dict[Process, _Process] = field(default_factory=dict[Process, _Process])
    sent: dict[int, list[Tensors]] = field(default_factory=dict[int, list[Tensors]])
    """What was sent over each channel and has not been received yet."""

    @property
    def replicas(self) -> int:
        return 1 + max(replica for replica, _ in self.running)

    @property
    def partitions(self) -> int:
        return 1 + max(partition for _, partition in self.running)


@tensor_rule("interpreter.run_parallel")
def _run_parallel(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    queue = function_names(attribute(op, "infeed"))
    processes = _Processes([_function(lowering, op, name) for name in queue])
    given = list(operands)
    for process, function in _programs(lowering, op):
        taken = [given.pop(0) for _ in function.body.block.args]
        own = lowering.on_process(process)
        own.values.update(zip(function.body.block.args, taken, strict=True))
        processes.running[process] = _Process(own, list(function.body.block.ops))
    while True:
        while _advance(processes):
            pass
        if all(each.results is not None for each in processes.running.values()):
            break
        if not _run_collectives(lowering, processes):
            _report_deadlock(processes)
    return [value for each in processes.running.values() for value in each.results or ()]


def functions_of_processes(module: ModuleOp) -> set[str]:
    """Return the names of the functions that only `interpreter.run_parallel` runs: it inlines them.

    Functions that are called, too, are not among them.
    """
    run: set[str] = set()
    called: set[str] = set()
    for operation in walk(module):
        if operation.name == "interpreter.run_parallel":
            run.update(chain.from_iterable(program_rows(operation)))
        else:
            called.update(each.root_reference.data for each in references_of(operation))
    return run - called


def _programs(lowering: Lowering, op: Operation) -> list[tuple[Process, FuncOp]]:
    return [
        ((replica, partition), _function(lowering, op, name))
        for replica, row in enumerate(program_rows(op))
        for partition, name in enumerate(row)
    ]


def _function(lowering: Lowering, op: Operation, name: str) -> FuncOp:
    function = lowering.function(name)
    if function is None or len(function.body.blocks) != 1:
        raise OperationError(op, f"runs @{name}, which is not a function of one block")
    return function


def _advance(processes: _Processes) -> bool:
    """Convert each process up to where it waits; return whether one sent or received a value."""
    moved = False
    for each in processes.running.values():
        if each.results is None and each.waiting is None:
            each.advance()
        operation = each.waiting
        if operation is None or operation.name not in exchange:
            continue
        at = each.lowering.with_origin(operation)
        operands = [each.lowering.value(value) for value in operation.operands]
        results = exchange[operation.name](processes, at, operation, operands)
        if results is not None:
            each.lowering.values.update(zip(operation.results, results, strict=True))
            each.waiting = None
            moved = True
    return moved


def _run_collectives(lowering: Lowering, processes: _Processes) -> bool:
    """Compute the results of the collectives that all their processes have reached.

    Processes meet at one op, or at ops of different functions with one channel and the same groups.
    Returns whether there was a collective to compute.
    """
    meetings: dict[Any, dict[Process, _Process]] = {}
    for process, each in processes.running.items():
        op = each.waiting
        if op is not None and op.name in collective:
            groups = process_groups(lowering.with_origin(op), op, processes)
            key = op.name, _channel(op), tuple(map(tuple, groups)), tuple(op.operand_types)
            meetings.setdefault(key, {})[process] = each
    moved = False
    for (_, _, groups, _), present in meetings.items():
        for part in _connected(groups, present):
            if all(process in present for process in part):
                own = {p: each for p, each in present.items() if p in part}
                _run_collective(lowering, [group for group in groups if group[0] in part], own)
                moved = True
    return moved


def _connected(groups: Sequence[Group], present: Iterable[Process]) -> list[set[Process]]:
    """Return sets of processes that wait for each other.

    Groups that share a process are in one set; a process without a group is alone.
    """
    parts = [{process} for process in present]
    for group in groups:
        joined = set(group).union(*(part for part in parts if not part.isdisjoint(group)))
        parts = [*(part for part in parts if part.isdisjoint(joined)), joined]
    return parts


def _run_collective(
    lowering: Lowering, groups: Sequence[Group], own: Mapping[Process, _Process]
) -> None:
    """Compute the results of a collective for processes that wait at it, which `groups` cover."""
    waiting = {process: cast(Operation, each.waiting) for process, each in own.items()}
    operands = {
        process: [own[process].lowering.value(value) for value in operation.operands]
        for process, operation in waiting.items()
    }
    results: dict[Process, Tensors] = {}
    for group in groups:
        operation = waiting[group[0]]
        brought = [operands[process] for process in group]
        received = collective[operation.name](lowering.with_origin(operation), operation, brought)
        pairs = zip(group, received, strict=True)
        results.update((process, each) for process, each in pairs if each is not None)
    for process, each in own.items():
        values = results.get(process)
        if values is None:
            values = [_zeros(lowering.emit, value) for value in operands[process]]
        each.lowering.values.update(zip(waiting[process].results, values, strict=True))
        each.waiting = None


def _report_deadlock(processes: _Processes) -> NoReturn:
    waiting = {p: each.waiting for p, each in processes.running.items() if each.waiting}
    for operation in waiting.values():
        if operation.name in exchange:
            raise OperationError(operation, "waits for a value that no other process has sent")
    process, operation = next(iter(waiting.items()))
    raise OperationError(
        operation, f"makes process {process} wait: another process of its group does not reach it"
    )


def _zeros(e: Emitter, like: SSAValue) -> SSAValue:
    return e.fill(e.constant(0, element_type(like.type)), e.sizes(like))


# Groups ------------------------------------------------------------------------------------------


def process_groups(lowering: Lowering, op: Operation, processes: _Processes) -> list[Group]:
    """Return the groups of processes of a collective, each in order.

    The modes are those of StableHLO: cross_replica, cross_partition, cross_replica_and_partition
    and flattened_ids. Raises OperationError if the attribute with the groups is malformed.
    """
    handle = _channel(op)
    replicas, partitions = range(processes.replicas), range(processes.partitions)
    pairs = attribute(op, "source_target_pairs")
    rows = _process_rows(
        lowering, op, "source_target_pairs" if pairs is not None else "replica_groups", processes
    )
    if flag(op, "use_global_device_ids"):
        return [[divmod(number, processes.partitions) for number in row] for row in rows]
    if handle <= 0:
        return [[(number, each) for number in row] for row in rows for each in partitions]
    if op.name in _ACROSS_PARTITIONS:
        return [[(each, number) for number in row] for row in rows for each in replicas]
    return [[(number, each) for each in partitions for number in row] for row in rows]


_ACROSS_PARTITIONS = frozenset(
    f"stablehlo.{name}" for name in ("all_to_all", "collective_permute", "collective_broadcast")
)


def _process_rows(
    lowering: Lowering, op: Operation, name: str, processes: _Processes
) -> list[list[int]]:
    """Return the lists of an attribute without their padding of -1.

    An attribute without lists stands for one list of all replicas.
    """
    found = attribute(op, name)
    if isinstance(found, ReplicaGroupMeshAxesAttr):
        return mesh_groups(lowering, op, found)
    rows = [[number for number in row if number >= 0] for row in number_rows(op, name)]
    if name == "source_target_pairs" and any(len(row) != 2 for row in rows):
        raise OperationError(op, f"expects pairs as '{name}', found {found}")
    return rows or [list(range(processes.replicas))]


# Sending and receiving ---------------------------------------------------------------------------


@exchange("stablehlo.infeed")
def _infeed(processes: _Processes, lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    if not processes.infeed:
        raise OperationError(op, "reads more values than the program's infeed has")
    block = processes.infeed.pop(0).body.block
    *body, end = block.ops
    for operation in body:
        lowering.with_origin(operation).operation(operation, {})
    return [*(lowering.value(value) for value in end.operands), operands[-1]]


@exchange("stablehlo.outfeed")
def _outfeed(
    processes: _Processes, lowering: Lowering, op: Operation, operands: Tensors
) -> Tensors:
    return operands[-1:]


@exchange("stablehlo.send")
def _send(processes: _Processes, lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    processes.sent.setdefault(_channel(op), []).append(operands[:-1])
    return operands[-1:]


@exchange("stablehlo.recv")
def _recv(
    processes: _Processes, lowering: Lowering, op: Operation, operands: Tensors
) -> Tensors | None:
    queue = processes.sent.get(_channel(op))
    return [*queue.pop(0), *operands] if queue else None


def _channel(op: Operation) -> int:
    channel = attribute(op, "channel_handle")
    return channel.integer("handle") if isinstance(channel, ChannelHandleAttr) else 0


# Collectives -------------------------------------------------------------------------------------


def _reduced(lowering: Lowering, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    """Combine tensors element by element, in order."""
    body = combiner(lowering, op, op.regions[0], 1, widen=False)
    (given,) = element_kinds(op, 0, 1)
    total = values[0]
    for value in values[1:]:
        total = lowering.emit.pointwise(
            [total, value],
            element_type(total.type),
            lambda inner, args: body.combine(inner, args[:1], args[1:2], [given]),
        )
    return total


@collective("stablehlo.all_reduce", "stablehlo.collective_reduce")
def _all_reduce(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    totals = [_reduced(lowering, op, values) for values in zip(*brought, strict=True)]
    others = None if op.name == "stablehlo.collective_reduce" else totals
    return [totals, *[others] * (len(brought) - 1)]


@collective("stablehlo.all_gather")
def _all_gather(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    dimension = integer(op, "all_gather_dim")
    made = [lowering.emit.concatenate(each, dimension) for each in zip(*brought, strict=True)]
    return [made] * len(brought)


def _part(lowering: Lowering, value: SSAValue, dimension: int, number: int, count: int) -> SSAValue:
    size = shape(value)[dimension] // count
    return lowering.emit.slice_along(value, dimension, number * size, size)


@collective("stablehlo.reduce_scatter")
def _reduce_scatter(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    total = _reduced(lowering, op, [values[0] for values in brought])
    dimension, count = integer(op, "scatter_dimension"), len(brought)
    return [[_part(lowering, total, dimension, number, count)] for number in range(count)]


@collective("stablehlo.all_to_all")
def _all_to_all(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    split, joined = integer(op, "split_dimension"), integer(op, "concat_dimension")
    count = integer(op, "split_count")

    def received(number: int, values: Sequence[SSAValue]) -> SSAValue:
        parts = [_part(lowering, value, split, number, count) for value in values]
        return lowering.emit.concatenate(parts, joined)

    by_operand = list(zip(*brought, strict=True))
    return [[received(number, each) for each in by_operand] for number in range(len(brought))]


@collective("stablehlo.collective_permute")
def _collective_permute(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    """Return the source's operand for the target; groups are pairs (source, target)."""
    return [None, brought[0]]


@collective("stablehlo.collective_broadcast")
def _collective_broadcast(
    lowering: Lowering, op: Operation, brought: Sequence[Tensors]
) -> Received:
    return [brought[0]] * len(brought)

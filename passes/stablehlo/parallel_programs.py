"""`interpreter.run_parallel`: processes of a test program, written out one beside the other.

Each process is a copy of its function. Processes run until all of them are at a collective, whose
results are then made from the operands of all: what StableHLO says of collectives, as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ConcatOp
from xdsl.ir import Operation, SSAValue

from ...dialects.stablehlo.attributes import (
    ChannelHandleAttr,
    ReplicaGroupMeshAxesAttr,
)
from ...ir.attribute_access import attribute, element_type, flag, integer
from ...ir.diagnostics import OperationError
from ...ir.rules import Rules
from .collectives import mesh_groups
from .combiners import combiner
from .emitter import Emitter, shape, tensor_type
from .lowering import Lowering
from .reductions import element_kinds
from .rules import tensor_rule

Process = tuple[int, int]
"""The replica and the partition."""

Group = Sequence[Process]
Tensors = Sequence[SSAValue]
Received = Sequence[Tensors | None]
"""What each process of a group receives; a process that receives nothing has zeros."""

Rule = Callable[[Lowering, Operation, Sequence[Tensors]], Received]
"""What the processes of a group receive for what each brings."""

collective = Rules[Rule]()


@dataclass
class _Running:
    """A process, and where it is."""

    lowering: Lowering
    rest: list[Operation]
    results: Sequence[SSAValue] | None = None
    waiting: Operation | None = None

    def advance(self) -> None:
        """Convert operations up to the next collective, or to the end."""
        while self.rest:
            operation = self.rest.pop(0)
            if operation.name in collective:
                self.waiting = operation
                return
            if operation.name == "func.return":
                self.results = [self.lowering.value(value) for value in operation.operands]
                return
            self.lowering.at(operation).operation(operation, {})


@dataclass
class _World:
    """All processes of a program."""

    running: dict[Process, _Running] = field(default_factory=dict[Process, _Running])

    @property
    def replicas(self) -> int:
        return 1 + max(replica for replica, _ in self.running)

    @property
    def partitions(self) -> int:
        return 1 + max(partition for _, partition in self.running)


@tensor_rule("interpreter.run_parallel")
def _run_parallel(
    lowering: Lowering, op: Operation, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    world = _World()
    given = list(operands)
    for process, function in _programs(lowering, op):
        taken = [given.pop(0) for _ in function.body.block.args]
        own = lowering.on_process(process)
        own.values.update(zip(function.body.block.args, taken, strict=True))
        world.running[process] = _Running(own, list(function.body.block.ops))
    while any(each.results is None for each in world.running.values()):
        for each in world.running.values():
            if each.results is None:
                each.advance()
        _meet(lowering, world)
    return [value for each in world.running.values() for value in each.results or ()]


def _programs(lowering: Lowering, op: Operation) -> list[tuple[Process, FuncOp]]:
    found: list[tuple[Process, FuncOp]] = []
    rows = attribute(op, "programs")
    for replica, row in enumerate(cast("ArrayAttr[Any]", rows).data):
        for partition, name in enumerate(row.data):
            text = name.string_value() if isinstance(name, SymbolRefAttr) else name.data
            function = lowering.function(text)
            if function is None or len(function.body.blocks) != 1:
                raise OperationError(op, f"runs @{text}, which is no function of one block")
            found.append(((replica, partition), function))
    return found


def _meet(lowering: Lowering, world: _World) -> None:
    """Carry out the collectives that processes wait at."""
    waiting = {p: each for p, each in world.running.items() if each.waiting is not None}
    for operation in dict.fromkeys(each.waiting for each in waiting.values()):
        if operation is None:
            continue
        own = {p: each for p, each in waiting.items() if each.waiting is operation}
        operands = {
            p: [each.lowering.value(value) for value in operation.operands]
            for p, each in own.items()
        }
        at = lowering.at(operation)
        results: dict[Process, Tensors] = {}
        for group in process_groups(at, operation, world):
            if all(process in own for process in group):
                brought = [operands[process] for process in group]
                received = collective[operation.name](at, operation, brought)
                pairs = zip(group, received, strict=True)
                results.update((process, each) for process, each in pairs if each is not None)
        for process, each in own.items():
            values = results.get(process)
            if values is None:
                values = [_zeros(lowering.emit, value) for value in operands[process]]
            each.lowering.values.update(zip(operation.results, values, strict=True))
            each.waiting = None


def _zeros(e: Emitter, like: SSAValue) -> SSAValue:
    return e.fill(e.constant(0, element_type(like.type)), e.sizes(like))


# Groups ------------------------------------------------------------------------------------------


def process_groups(lowering: Lowering, op: Operation, world: _World) -> list[Group]:
    """Which processes meet, in which order."""
    channel = attribute(op, "channel_handle")
    handle = channel.integer("handle") if isinstance(channel, ChannelHandleAttr) else 0
    replicas, partitions = range(world.replicas), range(world.partitions)
    pairs = attribute(op, "source_target_pairs")
    rows = _rows(
        lowering, op, "source_target_pairs" if pairs is not None else "replica_groups", world
    )
    if flag(op, "use_global_device_ids"):
        return [[divmod(number, world.partitions) for number in row] for row in rows]
    if handle <= 0:
        return [[(number, each) for number in row] for row in rows for each in partitions]
    if op.name in _ACROSS_PARTITIONS:
        return [[(each, number) for number in row] for row in rows for each in replicas]
    return [[(number, each) for each in partitions for number in row] for row in rows]


_ACROSS_PARTITIONS = frozenset(
    f"stablehlo.{name}" for name in ("all_to_all", "collective_permute", "collective_broadcast")
)


def _rows(lowering: Lowering, op: Operation, name: str, world: _World) -> list[list[int]]:
    """The lists of an attribute; -1 fills lists up. No list at all is one of all replicas."""
    found = attribute(op, name)
    if isinstance(found, ReplicaGroupMeshAxesAttr):
        return mesh_groups(lowering, op, found)
    if not isinstance(found, DenseIntOrFPElementsAttr):
        raise OperationError(op, f"needs lists of numbers as '{name}', found {found}")
    rows, columns = cast(Any, found).type.get_shape()
    if name == "source_target_pairs" and columns != 2:
        raise OperationError(op, f"needs pairs as '{name}', found lists of {columns}")
    numbers = [int(number) for number in found.get_values()]
    lists = [numbers[row * columns : (row + 1) * columns] for row in range(rows)]
    kept = [[number for number in each if number >= 0] for each in lists]
    return kept if rows else [list(range(world.replicas))]


# Collectives -------------------------------------------------------------------------------------


def _reduced(lowering: Lowering, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    """Tensors combined element by element, in order."""
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
    made = [_joined(lowering, values, dimension) for values in zip(*brought, strict=True)]
    return [made] * len(brought)


def _joined(lowering: Lowering, values: Sequence[SSAValue], dimension: int) -> SSAValue:
    if len(values) == 1:
        return values[0]
    sizes = list(shape(values[0]))
    sizes[dimension] = sum(shape(value)[dimension] for value in values)
    result = tensor_type(sizes, element_type(values[0].type))
    return lowering.emit.insert(ConcatOp(values, dimension, result))


def _part(lowering: Lowering, value: SSAValue, dimension: int, number: int, count: int) -> SSAValue:
    sizes = list(shape(value))
    sizes[dimension] //= count
    offsets = [0] * len(sizes)
    offsets[dimension] = number * sizes[dimension]
    return lowering.emit.extract_slice(value, offsets, sizes, [1] * len(sizes))


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
        return _joined(lowering, parts, joined)

    by_operand = list(zip(*brought, strict=True))
    return [[received(number, each) for each in by_operand] for number in range(len(brought))]


@collective("stablehlo.collective_permute")
def _collective_permute(lowering: Lowering, op: Operation, brought: Sequence[Tensors]) -> Received:
    """Groups are pairs of a source and a target."""
    del lowering, op
    return [None, brought[0]]


@collective("stablehlo.collective_broadcast")
def _collective_broadcast(
    lowering: Lowering, op: Operation, brought: Sequence[Tensors]
) -> Received:
    del lowering, op
    return [brought[0]] * len(brought)

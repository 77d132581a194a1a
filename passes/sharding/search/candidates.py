"""Evaluate annotations of a program: propagate, partition, and count the cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects.shard.attributes import stated_lists
from ....ir.diagnostics import OperationError, remarks_to
from ....ir.host_programs import FUNCTIONS
from ....ir.symbols import defined_name, visibility
from ....sharding.cost import BYTES_PER_POINT
from ....sharding.machine import Machine
from ....sharding.sharding import DimensionAxes
from ..annotations.access import SHARD
from ..cost.cost_report import module_costs
from ..cost.program_cost import Cost
from ..shard_annotate import annotate_operand, annotate_producer, find_or_create_grid
from ..shard_complete import shard_complete
from ..shard_partition import ShardPartitionPass
from ..shard_simplify import ShardSimplifyPass
from ..sharding_propagation import ShardingPropagationPass

WHO = "shard-search"
"""The source of annotations in error messages."""
_PASSES = (ShardingPropagationPass, shard_complete, ShardPartitionPass, ShardSimplifyPass)


@dataclass(frozen=True, slots=True)
class ProducerAnnotation:
    """The sharding in which the producer of a value leaves it."""

    value: SSAValue
    axes: DimensionAxes


@dataclass(frozen=True, slots=True)
class OperandAnnotation:
    """The sharding in which an operation wants an operand."""

    operation: Operation
    index: int
    axes: DimensionAxes


Annotation = ProducerAnnotation | OperandAnnotation


@dataclass(frozen=True, slots=True)
class Objective:
    """The quantity to minimise, and the memory limit of a device in bytes."""

    machine: Machine
    by_time: bool = True
    memory: float | None = None

    def score(self, cost: Cost) -> float:
        """Return the cost of a program: seconds, or bytes sent with work in the same units."""
        return cost.seconds if self.by_time else cost.sent + BYTES_PER_POINT * cost.work / 2

    def fits(self, cost: Cost) -> bool:
        """Return whether the program fits into memory."""
        return self.memory is None or cost.peak <= self.memory

    def rank(self, cost: Cost) -> tuple[float, float, float]:
        """Return the sort key of programs: excess memory first, then score, then memory."""
        over = 0.0 if self.fits(cost) else float(cost.peak)
        return over, self.score(cost), float(cost.peak)


def annotate(
    annotations: Iterable[Annotation],
    grid: str,
    values: dict[SSAValue, SSAValue],
    operations: dict[Operation, Operation],
) -> None:
    """Insert annotations into a copy of the program that they refer to.

    `values` and `operations` map the originals to their copies. Raises OperationError if an
    annotation does not fit or duplicates one.
    """
    listed = list(annotations)
    for each in listed:
        if isinstance(each, OperandAnnotation):
            operation = operations[each.operation]
            annotate_operand(operation, each.index, stated_lists(each.axes), grid, WHO)
    for each in reversed(listed):
        if isinstance(each, ProducerAnnotation):
            annotate_producer(values[each.value], stated_lists(each.axes), grid, WHO)


class Evaluator:
    """Partitions annotated copies of a program, and counts their costs."""

    def __init__(self, context: Context, module: ModuleOp, grid: str, objective: Objective) -> None:
        self._context, self._module, self._grid = context, module, grid
        self._objective = objective
        self._known: dict[tuple[Annotation, ...], Cost | None] = {}
        self._originals = list(module.walk())
        self._is_annotated = any(each.name == SHARD for each in self._originals)

    @property
    def count(self) -> int:
        """The number of programs that were partitioned."""
        return len(self._known)

    def cost(self, annotations: Sequence[Annotation]) -> Cost | None:
        """Return the cost of the program with annotations; `None` if it cannot be partitioned."""
        key = tuple(annotations)
        if key not in self._known:
            try:
                with remarks_to(None):
                    self._known[key] = self._evaluate(key)
            except OperationError:
                self._known[key] = None
        return self._known[key]

    def _evaluate(self, annotations: Sequence[Annotation]) -> Cost:
        if not annotations and not self._is_annotated:
            # Without annotations each device computes the whole program.
            return program_cost(self._module, self._objective.machine)
        values: dict[SSAValue, SSAValue] = {}
        copy = self._module.clone(values)
        operations = dict(zip(self._originals, copy.walk(), strict=True))
        annotate(annotations, find_or_create_grid(copy, self._grid), values, operations)
        for each in _PASSES:
            each().apply(self._context, copy)
        return program_cost(copy, self._objective.machine)


def program_cost(module: ModuleOp, machine: Machine) -> Cost:
    """Return what one call of each public function costs one device.

    Raises MachineError if a grid is larger than the machine.
    """
    total = Cost()
    names = {
        defined_name(operation)
        for operation in module.walk()
        if operation.name in FUNCTIONS and visibility(operation) == "public"
    }
    for name, cost in module_costs(module, machine).items():
        if name in names:
            total.add(cost)
            total.peak = max(total.peak, cost.peak)
    return total

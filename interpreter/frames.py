"""Execution of one device: frames of values, blocks prepared as steps, and a stack of routines.

A device runs as a generator that yields whenever it must meet other devices. Regions and calls are
generators too, but they are kept on an explicit stack. A recursive function of the program
therefore does not use Python's stack, and resuming costs the same at any depth.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, ShapedType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..ir.attribute_access import operation_name
from ..ir.diagnostics import OperationError
from ..ir.regions import enclosing
from ..ir.symbols import symbols_of
from ..runtime.abi.arrays import Array, UnsupportedType, Value, shape_fits, shape_text
from ..runtime.abi.values import dtype_of, static_shape
from ..sharding.grid import Grid
from .registry import (
    Implementation,
    RegionRunner,
    Results,
    Routine,
    find_entry,
    find_successor,
    is_terminator,
)
from .spmd import Rendezvous

_ELEMENTWISE = ("arith.", "complex.", "math.")
"""Prefixes of dialects whose operations on tensors require equal shapes."""
_ACCESSES_MEMORY = ("affine.load", "affine.store", "bufferization.", "linalg.", "memref.", "shard.")
"""Prefixes of operations that access the memory of their memrefs, but for these:"""
_DESCRIPTORS_ONLY = frozenset(
    f"memref.{name}" for name in "assume_alignment cast dim memory_space_cast rank".split()
)


@dataclass(frozen=True, slots=True)
class ResultType:
    """The type of a result, with the shape and dtype to check an array against."""

    type: Attribute
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a block, with everything that running it needs."""

    operation: Operation
    name: str
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    checks: tuple[ResultType | None, ...]
    same_shape: tuple[int, ...]
    """Indices of operands whose shapes must be equal: the tensors of an elementwise operation."""
    memories: tuple[int, ...]
    """Indices of operands whose memory the operation accesses."""
    dead: tuple[SSAValue, ...]
    """Values whose last use is this operation."""
    execute: Implementation | None
    run_regions: RegionRunner | None
    pointwise: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a block. `terminator` yields values or branches; it may be absent.

    A plan may also hold a subset of a block's steps. Its `block` is then `None`.
    """

    block: Block | None
    arguments: tuple[SSAValue, ...]
    steps: tuple[Step, ...]
    terminator: Step | None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a region or block was left: its terminator, and the terminator's operand values."""

    operation: Operation | None
    values: Sequence[Value]


class Program:
    """A module that is run: its symbol tables and the plans of its blocks. All devices share it.

    `constants` holds the values of scalar constants that ran: loops ask for them at each iteration.
    """

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.constants: dict[Operation, Array] = {}
        self._plans: dict[Block, Plan] = {}
        self._symbols: dict[Operation, dict[str, Operation]] = {}

    def plan(self, block: Block) -> Plan:
        """Return the prepared steps of a block."""
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = _prepare(block)
        return plan

    def lookup(self, at: Operation, name: str) -> Operation | None:
        """Return the operation that the symbol `@a::@b` refers to at an operation, or `None`.

        The nearest enclosing symbol table that defines it is used.
        """
        root, *nested = name.split("::")
        for scope in enclosing(at):
            found = self._table(scope).get(root)
            for part in nested:
                found = self._table(found).get(part) if found is not None else None
            if found is not None:
                return found
        return None

    def _table(self, scope: Operation) -> dict[str, Operation]:
        table = self._symbols.get(scope)
        if table is None:
            # Publish only the complete table: threads of other devices look up symbols too.
            table = self._symbols[scope] = symbols_of(scope)
        return table


@dataclass(slots=True)
class Process:
    """One process of the grid, or the only process of a program that is not partitioned.

    `memory` holds the state of stateful operations, keyed by names such as `hal.devices`. `freed`
    holds the arrays that were freed by their identity: while they live, no other array gets it.
    """

    program: Program
    grid: Grid | None = None
    index: int = 0
    memory: dict[str, Any] = field(default_factory=dict[str, Any])
    freed: dict[int, Array] = field(default_factory=dict[int, Array])

    def run(self, routine: Routine) -> Generator[Rendezvous, Any, Any]:
        """Run a routine and all that it starts. Yields each rendezvous with other devices."""
        stack = [routine]
        send: Any = None
        while stack:
            try:
                request = stack[-1].send(send)
            except StopIteration as done:
                stack.pop()
                send = done.value
                continue
            if isinstance(request, Rendezvous):
                send = yield request
                continue
            stack.append(request)
            send = None
        return send


class Frame:
    """The SSA values of one activation of a function on one device.

    `depth` is the number of calls around it. `points` is a stack of the current indices of loop
    nests whose bodies run point by point.
    """

    __slots__ = ("depth", "points", "process", "values")

    def __init__(self, process: Process, depth: int = 0) -> None:
        self.process = process
        self.depth = depth
        self.values: dict[SSAValue, Value] = {}
        self.points: list[tuple[int, ...]] = []

    def run_region(self, region: Region, arguments: Sequence[Value]) -> Routine:
        """Run a region from its entry block and return its `Exit`."""
        block = region.blocks.first
        if block is None:
            return Exit(None, ())
        while True:
            exit_ = yield self.run_block(block, arguments)
            terminator = exit_.operation
            successor = find_successor(operation_name(terminator)) if terminator else None
            if successor is None or terminator is None:
                return exit_
            block, arguments = successor(terminator, exit_.values)

    def run_block(self, block: Block, arguments: Sequence[Value]) -> Routine:
        """Run one block and return its `Exit`."""
        values = self.values
        plan = self.process.program.plan(block)
        values.update(zip(plan.arguments, arguments, strict=True))
        for step in plan.steps:
            operands = [values[operand] for operand in step.operands]
            if step.same_shape:
                check_equal_shapes(step.operation, [operands[i].shape for i in step.same_shape])
            if step.memories and self.process.freed:
                check_memory(step.operation, [operands[i] for i in step.memories], self.process)
            if step.execute is not None:
                results = run_implementation(step.operation, step.execute, operands, self)
            else:
                results = yield _region_runner(step)(step.operation, operands, self)
            if step.results:
                _store(step, results, values)
            for value in step.dead:
                values.pop(value, None)
        end = plan.terminator
        if end is None:
            return Exit(None, ())
        return Exit(end.operation, [values[operand] for operand in end.operands])


def run_implementation(
    op: Operation, execute: Implementation, operands: Sequence[Value], frame: Frame
) -> Results:
    """Return the results of an operation.

    Raises OperationError for values that it is not defined on. Any other exception is a bug of the
    implementation; it passes through with a note that names the operation.
    """
    try:
        return execute(op, operands, frame)
    except (ArithmeticError, IndexError, ValueError) as error:
        raise OperationError(op, f"cannot be executed on these values: {error}") from error
    except MemoryError as error:
        raise OperationError(op, f"is out of memory: {error}") from error
    except OperationError:
        raise
    except Exception as bug:
        bug.add_note(f"while running {op.name}")
        raise


def check_equal_shapes(op: Operation, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise OperationError if the tensors of an elementwise operation differ in shape.

    NumPy would broadcast them; the elementwise operations of these dialects do not.
    """
    for shape in shapes[1:]:
        if shape != shapes[0]:
            raise OperationError(
                op, f"has operands of shapes {shape_text(shapes[0])} and {shape_text(shape)}"
            )


def check_memory(op: Operation, memories: Sequence[Array], process: Process) -> None:
    """Raise OperationError if one of the arrays is memory that has been freed, or a view of it."""
    if any(id(owner(array)) in process.freed for array in memories):
        raise OperationError(op, "uses memory that has been freed")


def owner(array: Array) -> Array:
    """Return the array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


UNKNOWN_OPERATION = "is an unknown operation, which the interpreter does not support"


def _region_runner(step: Step) -> RegionRunner:
    if step.run_regions is None:
        raise OperationError(step.operation, UNKNOWN_OPERATION)
    return step.run_regions


def _store(step: Step, results: Results, values: dict[SSAValue, Value]) -> None:
    for index, (result, check, value) in enumerate(
        zip(step.results, step.checks, results, strict=True)
    ):
        if check is not None:
            check_result(step.operation, index, check, value.shape, value.dtype)
        values[result] = value


def check_result(
    op: Operation, index: int, check: ResultType, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    """Raise OperationError if the shape or dtype of a result does not match its type."""
    if not shape_fits(shape, check.shape):
        raise OperationError(
            op,
            f"computes a result #{index} of shape {shape_text(shape)}, but its type is"
            f" {check.type}",
        )
    if dtype != check.dtype:
        raise OperationError(
            op, f"computes a result #{index} of {dtype}, but its type is {check.type}"
        )


def result_check(value_type: Attribute) -> ResultType | None:
    """Return the shape and dtype to expect of a value of a type.

    Return `None` for types that hold no numbers or are unranked.
    """
    try:
        dtype = dtype_of(value_type)
    except UnsupportedType:
        return None
    shape = static_shape(value_type)
    return None if shape is None else ResultType(value_type, shape, dtype)


def _prepare(block: Block) -> Plan:
    operations = list(block.ops)
    dead_after = _last_uses(block, operations)
    steps: list[Step] = []
    terminator: Step | None = None
    for op in operations:
        name = operation_name(op)
        entry = find_entry(name)
        ends = entry is None and (is_terminator(name) or find_successor(name) is not None)
        step = Step(
            op,
            name,
            tuple(op.operands),
            tuple(op.results),
            tuple(result_check(result.type) for result in op.results),
            _same_shape_operands(op, name),
            accessed_memories(op),
            tuple(dead_after.get(op, ())),
            entry.execute if entry else None,
            entry.run_regions if entry else None,
            entry.pointwise if entry else False,
        )
        if ends and op is operations[-1]:
            terminator = step
        else:
            steps.append(step)
    return Plan(block, tuple(block.args), tuple(steps), terminator)


def _same_shape_operands(op: Operation, name: str) -> tuple[int, ...]:
    if not name.startswith(_ELEMENTWISE):
        return ()
    tensors = [i for i, each in enumerate(op.operands) if isinstance(each.type, ShapedType)]
    return tuple(tensors) if len(tensors) > 1 else ()


def accessed_memories(op: Operation) -> tuple[int, ...]:
    """Return the indices of the operands whose memory an operation accesses."""
    name = operation_name(op)
    if not name.startswith(_ACCESSES_MEMORY) or name in _DESCRIPTORS_ONLY:
        return ()
    return tuple(i for i, each in enumerate(op.operands) if isinstance(each.type, MemRefType))


def _last_uses(block: Block, operations: Sequence[Operation]) -> dict[Operation, list[SSAValue]]:
    """Return, for each operation of a block, the values that are dead after it.

    A value that is used in another block stays alive: that block may run again. Values that are not
    arrays stay alive too: they are small, and `shard.get_sharding` reads the sharding through
    another value.
    """
    position = {op: index for index, op in enumerate(operations)}
    dead: dict[Operation, list[SSAValue]] = {}
    defined: list[tuple[int, SSAValue]] = [(-1, argument) for argument in block.args]
    for index, op in enumerate(operations):
        defined.extend((index, result) for result in op.results)
    for start, value in defined:
        if result_check(value.type) is None:
            continue
        last = start
        for use in value.uses:
            reader = block.find_ancestor_op_in_block(use.operation)
            if reader is None:
                break
            last = max(last, position[reader])
        else:
            if last >= 0 and last < len(operations) - 1:
                dead.setdefault(operations[last], []).append(value)
    return dead

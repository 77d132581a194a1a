"""Value flow: which values are forwarded through branches, regions and calls.

In MLIR's terms an operation forwards operands to the inputs of its successors. A successor is a
block, a region, or the parent operation of a region, whose inputs are its results:

    %r = scf.for ... iter_args(%x = %init) {  # %init -> %x, %r
      scf.yield %y                            # %y -> %x, %r
    }
    cf.br ^bb1(%a)                            # %a -> the argument of ^bb1
    %c = func.call @f(%b)                     # %b -> the argument of @f, what it returns -> %c
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Operation, SSAValue

from .host_programs import CALLS, FUNCTIONS, RETURNS
from .symbols import defined_name, root_symbol

T = TypeVar("T")

BRANCHES = frozenset({"cf.br", "cf.cond_br", "cf.switch"})
"""Terminators that forward their trailing operands to their successor blocks."""

_LOOPS = {"scf.for": 1, "scf.while": 0}
"""Loops, with the index of the first body argument that corresponds to a result."""

_ENTERED = frozenset({"stream.async.concurrent", "stream.async.execute"})
"""Operations that forward their operands to the arguments of their region."""

_LEFT = _ENTERED | {"scf.execute_region", "scf.if", "scf.index_switch"}
"""Operations whose results are the operands of their regions' terminators."""


class Forward(NamedTuple):
    """Operands of an operation, starting at `first`, that are forwarded to `inputs` in order."""

    first: int
    inputs: Sequence[SSAValue]


def forwards(operation: Operation) -> Iterator[Forward]:
    """Yield what a branch, loop, region op or terminator forwards; nothing for other ops."""
    parent = operation.parent_op()
    if operation.name in BRANCHES:
        first = len(operation.operands)
        first -= sum(len(block.args) for block in operation.successors)
        for block in operation.successors:
            yield Forward(first, block.args)
            first += len(block.args)
    elif operation.name == "scf.for":
        yield Forward(3, operation.results)
        yield Forward(3, loop_inputs(operation))
    elif operation.name in _ENTERED or operation.name == "scf.while":
        yield Forward(0, operation.regions[0].block.args)
    elif parent is not None and operation.next_op is None:
        yield from _forwards_of_end(operation, parent)


def given_to_successors(branch: Operation, operands: Sequence[T]) -> list[Sequence[T]]:
    """Return, for each successor of a branch, those of its operands that it forwards there.

    `operands` has an entry for each operand, such as its value in a run.
    """
    return [operands[first : first + len(inputs)] for first, inputs in forwards(branch)]


def _forwards_of_end(end: Operation, parent: Operation) -> Iterator[Forward]:
    if parent.name in _LEFT:
        yield Forward(0, parent.results)
    elif parent.name == "scf.while" and end.name != "scf.condition":
        yield Forward(0, parent.regions[0].block.args)
    elif parent.name in _LOOPS:
        first = 1 if end.name == "scf.condition" else 0
        yield Forward(first, parent.results)
        yield Forward(first, loop_inputs(parent))


def loop_inputs(operation: Operation) -> Sequence[SSAValue]:
    """Return the loop-carried body arguments, one per result; empty if it is not a loop."""
    if operation.name not in _LOOPS:
        return ()
    return operation.regions[-1].block.args[_LOOPS[operation.name] :]


def initial_values(loop: Operation) -> Sequence[SSAValue]:
    """Return the initial values of what a loop carries."""
    return loop.operands[3 if loop.name == "scf.for" else 0 :]


def carried_arguments(loop: Operation) -> Sequence[SSAValue]:
    """Return the arguments of a loop's first block that hold what it carries."""
    return loop.regions[0].block.args[int(loop.name == "scf.for") :]


def passed_values(block: Block) -> Sequence[SSAValue]:
    """Return what a block of a loop passes on, without the condition of an `scf.while`."""
    last = block.last_op
    assert last is not None
    return last.operands[int(last.name == "scf.condition") :]


def forwarded_to(operation: Operation, index: int) -> list[SSAValue]:
    """Return the values that an operand of an operation is forwarded to."""
    return [
        inputs[index - first]
        for first, inputs in forwards(operation)
        if 0 <= index - first < len(inputs)
    ]


class Passed(NamedTuple):
    """An operand of an operation that the value `target` is, or may be."""

    operation: Operation
    position: int
    target: SSAValue


def passed_operands(operations: Iterable[Operation]) -> Iterator[Passed]:
    """Yield the operands that are forwarded, selected, passed to functions, or returned by these.

    Calls are followed only to functions with bodies among `operations`.
    """
    operations = tuple(operations)
    functions = {defined_name(each): each for each in operations if each.name in FUNCTIONS}
    for operation in operations:
        for first, inputs in forwards(operation):
            yield from _passed(operation, first, inputs)
        if operation.name == "arith.select":
            yield from _passed(operation, 1, (*operation.results, *operation.results))
        elif operation.name == "util.optimization_barrier":
            yield from _passed(operation, 0, operation.results)
        elif operation.name in CALLS:
            function = functions.get(root_symbol(operation, "callee"))
            if function is not None and (entry := function.regions[0].blocks.first) is not None:
                yield from _passed(operation, 0, entry.args)
                for end in returns_of(function):
                    yield from _passed(end, 0, operation.results)


def _passed(operation: Operation, first: int, targets: Sequence[SSAValue]) -> Iterator[Passed]:
    for index, target in zip(range(first, len(operation.operands)), targets, strict=False):
        yield Passed(operation, index, target)


def value_flow(operations: Iterable[Operation]) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield pairs (value, value that it is passed on as), as `passed_operands` finds them."""
    for operation, index, target in passed_operands(operations):
        yield operation.operands[index], target


def function_with_argument(value: SSAValue) -> Operation | None:
    """Return the function that a value is an argument of, if it is one."""
    block = value.owner
    parent = block.parent_op() if isinstance(block, Block) else None
    if parent is None or parent.name not in FUNCTIONS:
        return None
    return parent if block is parent.regions[0].first_block else None


def returned_values(function: Operation) -> Iterator[Sequence[SSAValue]]:
    """Yield the operands of each return of a function."""
    for end in returns_of(function):
        yield end.operands


def update_function_type(function: Operation) -> None:
    """Give a function the type of its entry block's arguments and of what it returns.

    The function must have a body. One that never returns keeps its result types.
    """
    type_ = cast(FunctionType, function.properties["function_type"])
    returned = next(returned_values(function), None)
    outputs = type_.outputs.data if returned is None else [value.type for value in returned]
    entry = function.regions[0].blocks[0]
    function.properties["function_type"] = FunctionType.from_lists(entry.arg_types, outputs)


def returns_of(function: Operation) -> Iterator[Operation]:
    """Yield the returns of a function."""
    for block in function.regions[0].blocks:
        if block.last_op is not None and block.last_op.name in RETURNS:
            yield block.last_op

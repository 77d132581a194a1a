"""Lower operations without a kernel to calls of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from ...interpreter.frames import Frame, Process, ResultType, check_result, result_check
from ...interpreter.registry import find_entry
from ...interpreter.run import run_operation
from ...ir.attribute_access import operation_name
from ...ir.regions import captured
from ...runtime.abi.arrays import Value, dynamic_sizes
from ...runtime.abi.values import holds_numbers
from ...runtime.host.entry import scalar_of, word_of
from ...runtime.host.pool import view
from ...runtime.host.program import Register, RegisterValues
from ...runtime.host.virtual_machine import VirtualMachine
from .control_flow import bind_results, registers_for
from .function_lowering import FunctionLowering, lowers
from .values import (
    HostObject,
    HostTensor,
    HostValue,
    NotLowered,
    dynamic_words,
    element_dtype,
    filled_words,
    type_shape,
)

NOT_INTERPRETED = ("scf.", "cf.", "func.", "stream.", "hal.", "util.")
"""Prefixes of operations that have a rule of their own or cannot be lowered."""


@lowers("python")
def _python(lowering: FunctionLowering, op: Operation) -> None:
    name = operation_name(op)
    is_known = find_entry(name) is not None and not name.startswith(NOT_INTERPRETED)
    if not is_known or not (op.results or name in WITHOUT_EFFECT):
        raise NotLowered(op, "is an operation that the native backend does not compile")
    if not op.results:
        return
    values = list(dict.fromkeys((*op.operands, *captured(op))))
    contents = [lowering.value(value) for value in values]
    if not any(holds_numbers(result.type) for result in op.results):
        _known_objects(lowering, op, values, contents)
        return
    lowering.program.interpreted[op] = ""
    call_python(lowering, op, "python", _interpreted(lowering, op, values, contents), contents)


def call_python(
    lowering: FunctionLowering,
    op: Operation,
    instruction: str,
    call: Callable[[Any, RegisterValues], RegisterValues],
    contents: Sequence[HostValue],
    recorded: Callable[[int], Any] | None = None,
) -> None:
    """Emit a call of Python that takes the unknown words of some values and returns all results."""
    number = lowering.started.pop(op, None)
    if number is None:
        number = lowering.program.python(operation_name(op), call, recorded)
    registers = registers_for(lowering, op, op.results)
    lowering.builder.emit(instruction, number, tuple(registers), inputs_of(contents))
    bind_results(lowering, op, registers)


def inputs_of(contents: Sequence[HostValue]) -> tuple[Register, ...]:
    """Return the registers that Python gets for some values."""
    return tuple(register for each in contents for register in _registers_of(each))


def _known_objects(
    lowering: FunctionLowering,
    op: Operation,
    values: Sequence[SSAValue],
    contents: Sequence[HostValue],
) -> None:
    """Evaluate an operation without numeric results, such as a sharding, at compile time."""
    frame = Frame(Process(lowering.program.symbols, lowering.program.grid))
    for value, content in zip(values, contents, strict=True):
        if isinstance(content, HostObject):
            frame.values[value] = content.value
        elif isinstance(content, int):
            frame.values[value] = scalar_of(content, element_dtype(value.type, op))
        else:
            raise NotLowered(
                op,
                "computes a value other than a number from operands that are only known at run "
                "time",
            )
    operands = [frame.values[operand] for operand in op.operands]
    for result, content in zip(op.results, run_operation(op, operands, frame), strict=True):
        lowering.bind(result, HostObject(content))


WITHOUT_EFFECT = frozenset(("shard.grid", "sdy.mesh"))


def _registers_of(content: HostValue) -> list[Register]:
    """Return the registers of a value: its address, if it is a tensor, and unknown numbers."""
    if isinstance(content, HostTensor):
        return [content.address, *dynamic_words(content.shape)]
    return [content] if isinstance(content, Register) else []


def _interpreted(
    lowering: FunctionLowering,
    op: Operation,
    values: Sequence[SSAValue],
    contents: Sequence[HostValue],
) -> Any:
    """Return a function that interprets an operation: from operand words to result words."""
    symbols, grid = lowering.program.symbols, lowering.program.grid
    for result in op.results:
        element_dtype(result.type, op)
    checks = [result_check(result.type) for result in op.results]

    def call(machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
        rest = iter(numbers)
        frame = Frame(Process(symbols, grid, machine.process))
        for value, content in zip(values, contents, strict=True):
            frame.values[value] = _value(value, content, rest)
        with np.errstate(all="ignore"):
            operands = [frame.values[operand] for operand in op.operands]
            results = run_operation(op, operands, frame)
        words: list[int] = []
        for result, content, expected in zip(op.results, results, checks, strict=True):
            words += _words(machine, op, result, np.asarray(content), expected)
        return words

    return call


def _value(value: SSAValue, content: HostValue, rest: Any) -> Value:
    if isinstance(content, HostObject):
        return content.value
    if isinstance(content, HostTensor):
        address = next(rest)
        shape = filled_words(content.shape, rest)
        data = view(address, prod(shape) * content.dtype.itemsize)
        return data.view(content.dtype).reshape(shape)
    word = content if isinstance(content, int) else next(rest)
    return scalar_of(word, element_dtype(value.type, _user(value)))


def _user(value: SSAValue) -> Operation:
    use = value.first_use
    if use is None:
        raise ValueError("a value that nothing reads")
    return use.operation


def _words(
    machine: VirtualMachine,
    op: Operation,
    result: OpResult,
    array: Any,
    expected: ResultType | None,
) -> list[int]:
    """Return the words of a result; a tensor is stored to a new block."""
    static = type_shape(result.type, op)
    if static is None:
        return [word_of(array)]
    if expected is not None:
        check_result(op, result.index, expected, array.shape, array.dtype)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    block = machine.pool.store(data)
    return [block, block, *dynamic_sizes(array.shape, static)]

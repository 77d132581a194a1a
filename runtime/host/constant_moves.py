"""Registers that only ever get one constant, such as the size of what a loop passes from turn to
turn: what reads them reads the constant, and checks of constants are carried out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .program import Constant, HostFunction, Instruction, Operand, Register

Accepts = Callable[[int, Sequence[int]], bool]
"""Whether a check, by its number, accepts some numbers."""


def propagate_constants(
    function: HostFunction, hold: Callable[[Constant], Register], accepts: Accepts
) -> None:
    """Replace such registers; `hold` gives a register with a constant."""
    values = _constant_registers(function)
    kept: list[Instruction] = []
    starts: list[int] = []
    for instruction in function.instructions:
        starts.append(len(kept))
        target = instruction.operands[0] if instruction.operands else None
        if instruction.kind.name == "move" and target in values:
            continue
        instruction.operands = tuple(_replaced(each, values, hold) for each in instruction.operands)
        if not _is_settled(instruction, function, accepts):
            kept.append(instruction)
    function.replace(kept, [*starts, len(kept)])


def _constant_registers(function: HostFunction) -> dict[Register, Constant]:
    """Registers all of whose values are moved from one constant, perhaps through others."""
    sources: dict[Register, list[Operand]] = {}
    fixed = {*function.arguments, *function.results, *function.constants}
    for instruction in function.instructions:
        is_move = instruction.kind.name == "move"
        for (_, kind), operand in zip(instruction.kind.operands, instruction.operands, strict=True):
            # A kernel may write to where a register lies.
            if kind not in ("write", "writes") and instruction.kind.name != "address":
                continue
            for target in operand if isinstance(operand, tuple) else (operand,):
                if not isinstance(target, Register):
                    continue
                if is_move:
                    sources.setdefault(target, []).append(instruction.operands[1])
                else:
                    fixed.add(target)
    # At first all of them may be constants; what gets two values, or something else, is none.
    moved = {each for each in sources if each not in fixed}
    values: dict[Register, Constant] = {}
    readers: dict[Operand, list[Register]] = {}
    for target in moved:
        for source in sources[target]:
            readers.setdefault(source, []).append(target)
    varying = {source for source in readers if source not in moved | function.constants.keys()}
    pending: list[Operand] = [*varying, *(each for each in readers if each in function.constants)]
    while pending:
        source = pending.pop()
        for target in readers.get(source, ()):
            if target in varying:
                continue
            if source not in varying:
                value = _value(source, values, function)
                if target not in values:
                    values[target] = value
                    pending.append(target)
                    continue
                if values[target] == value:
                    continue
            varying.add(target)
            pending.append(target)
    return {each: value for each, value in values.items() if each not in varying}


def _value(source: Operand, values: dict[Register, Constant], function: HostFunction) -> Constant:
    assert isinstance(source, Register)
    return function.constants[source] if source in function.constants else values[source]


def _replaced(
    operand: Operand, values: dict[Register, Constant], hold: Callable[[Constant], Register]
) -> Operand:
    if isinstance(operand, tuple):
        return tuple(hold(values[each]) if each in values else each for each in operand)
    if isinstance(operand, Register) and operand in values:
        return hold(values[operand])
    return operand


def _is_settled(instruction: Instruction, function: HostFunction, accepts: Accepts) -> bool:
    """Whether an instruction checks constants, and accepts them."""
    if instruction.kind.name != "check":
        return False
    number, registers = instruction.operands
    if not isinstance(number, int) or not isinstance(registers, tuple):
        return False
    found = [function.constants.get(each) for each in registers if isinstance(each, Register)]
    numbers = [each for each in found if isinstance(each, int)]
    return len(numbers) == len(registers) and accepts(number, numbers)

"""Constant propagation of registers that only ever receive one constant.

An example is a size that a loop passes unchanged to its next iteration. Readers use the constant,
comparisons of constants are folded, and branches and checks on them are removed. If `%4` is 256 in
each iteration:

    %8 = cmpieq_i64 %4, 256     is removed, `%8` is 1
    jump_if %8, ^1              is removed, since it jumps to the next instruction
    check #0, (%4)              is removed, since it is unreachable
    ^1:
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ...ir.index_folding import COMPARISONS
from .instructions import KINDS
from .program import Constant, HostFunction, Instruction, Label, Operand, Register

Accepts = Callable[[int, Sequence[int]], bool]
"""Whether a check, given by its number, accepts some numbers."""


def propagate_constants(
    function: HostFunction, hold: Callable[[Constant], Register], accepts: Accepts
) -> None:
    """Replace registers that hold constants; `hold` returns a register for a constant."""
    values = _constant_registers(function)
    once = {each for each, count in Counter(_written(function)).items() if count == 1}
    kept: list[Instruction | None] = []
    for instruction in function.instructions:
        target = instruction.operands[0] if instruction.operands else None
        if instruction.kind.name == "move" and target in values:
            kept.append(None)
            continue
        instruction.substitute(lambda each: hold(values[each]) if each in values else each)
        known = _condition(instruction, function)
        if known is not None and isinstance(target, Register) and target in once:
            values[target] = known
            kept.append(None)
            continue
        is_settled = _is_settled(instruction, function, accepts)
        kept.append(None if is_settled else _jumped(instruction, function))
    _leave_out_jumps(function, kept)
    function.replace([[] if each is None else [each] for each in kept])


def _condition(instruction: Instruction, function: HostFunction) -> int | None:
    """Fold a comparison or conjunction of constants to 0 or 1; `None` if it is not constant."""
    name = instruction.kind.name
    if name != "andi_i1" and not (name.startswith("cmpi") and name.endswith("_i64")):
        return None
    left, right = (_number(each, function) for each in instruction.operands[1:])
    if left is None or right is None:
        return None
    if name == "andi_i1":
        return left & right
    order = name.removeprefix("cmpi").removesuffix("_i64")
    if order.startswith("u") and min(left, right) >= 0:
        order = f"s{order[1:]}"
    return int(COMPARISONS[order](left, right)) if order in COMPARISONS else None


def _number(operand: Operand, function: HostFunction) -> int | None:
    constant = function.constants.get(operand) if isinstance(operand, Register) else None
    return constant if isinstance(constant, int) else None


def _jumped(instruction: Instruction, function: HostFunction) -> Instruction | None:
    """Replace a conditional jump on a constant by an unconditional one, or by `None`."""
    name = instruction.kind.name
    if name not in ("jump_if", "jump_unless"):
        return instruction
    condition, label = instruction.operands
    known = _number(condition, function)
    if known is None:
        return instruction
    if (known != 0) != (name == "jump_if"):
        return None
    return Instruction(KINDS["jump"], (label,), instruction.source, instruction.scope)


def _leave_out_jumps(function: HostFunction, kept: list[Instruction | None]) -> None:
    """Remove jumps over nothing, and unreachable code between a jump and the next label."""
    reached = {label.position for label in function.labels}
    for at, instruction in enumerate(kept):
        if instruction is None or instruction.kind.name != "jump":
            continue
        end = at + 1
        while end < len(kept) and end not in reached:
            kept[end] = None
            end += 1
        (label,) = instruction.operands
        assert isinstance(label, Label)
        if at < label.position and not any(kept[at + 1 : label.position]):
            kept[at] = None


def _constant_registers(function: HostFunction) -> dict[Register, Constant]:
    """Return registers whose values all come from one constant by moves, perhaps transitively."""
    sources: dict[Register, list[Operand]] = {}
    fixed = {*function.arguments, *function.results, *function.constants}
    for instruction in function.instructions:
        for target in _targets(instruction):
            if instruction.kind.name == "move":
                sources.setdefault(target, []).append(instruction.operands[1])
            else:
                fixed.add(target)
    # Optimistic fixpoint: assume that all are constants, and remove those with two values or
    # another source.
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


def _targets(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that an instruction writes, or whose address it takes."""
    for (_, kind), operand in zip(instruction.kind.operands, instruction.operands, strict=True):
        if kind not in ("write", "writes") and instruction.kind.name != "address":
            continue
        for target in operand if isinstance(operand, tuple) else (operand,):
            if isinstance(target, Register):
                yield target


def _written(function: HostFunction) -> Iterator[Register]:
    yield from function.arguments
    yield from function.results
    for instruction in function.instructions:
        yield from _targets(instruction)


def _value(source: Operand, values: dict[Register, Constant], function: HostFunction) -> Constant:
    assert isinstance(source, Register)
    return function.constants[source] if source in function.constants else values[source]


def _is_settled(instruction: Instruction, function: HostFunction, accepts: Accepts) -> bool:
    """Whether an instruction is a check of constants that accepts them."""
    if instruction.kind.name != "check":
        return False
    number, registers = instruction.operands
    assert isinstance(number, int) and isinstance(registers, tuple)
    found = [_number(each, function) for each in registers]
    numbers = [each for each in found if each is not None]
    return len(numbers) == len(found) and accepts(number, numbers)

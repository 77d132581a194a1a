"""Place `device` instructions directly before the instructions that need them.

A switch is emitted only where another device may be current (a forward dataflow fixpoint).

    device #1                     count ...
    count ...                     device #1
    %1 = allocate 4      ->       %1 = allocate 4
    device #0                     count ...
    count ...                     %2 = allocate 4
    device #1
    %2 = allocate 4
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .instructions import KINDS, NO_SUCCESSOR
from .program import HostFunction, Instruction, Label

DEVICE_DEPENDENT = frozenset(
    (
        *("allocate", "reuse", "own", "python", "exchange"),
        *("run", "copy"),
        *("call", "call_register", "return"),
    )
)
"""Instructions that depend on the current device: those that make blocks, those that a timeline
records, and those after which other code expects the device to be set.
"""


def devices_of(instructions: Sequence[Instruction]) -> list[int]:
    """Return the current device at each instruction, in program order."""
    found: list[int] = []
    current = 0
    for instruction in instructions:
        found.append(current)
        if instruction.kind.name == "device" and isinstance(instruction.operands[0], int):
            current = instruction.operands[0]
    return found


def place_switches(function: HostFunction) -> None:
    """Move the `device` instructions of a function."""
    old = function.instructions
    if all(each.kind.name != "device" for each in old):
        return
    wanted = devices_of(old)
    possible = _possible_devices(old, wanted)
    rows: list[list[Instruction]] = []
    for instruction, device, found in zip(old, wanted, possible, strict=True):
        rows.append([] if instruction.kind.name == "device" else [instruction])
        if instruction.kind.name in DEVICE_DEPENDENT and found != {device}:
            switch = Instruction(KINDS["device"], (device,), instruction.source, instruction.scope)
            rows[-1].insert(0, switch)
    function.replace(rows)


def _possible_devices(instructions: Sequence[Instruction], wanted: Sequence[int]) -> list[set[int]]:
    """Return the devices that may be current before each instruction after the placement."""
    possible: list[set[int]] = [set() for _ in instructions]
    possible[0].add(0)
    is_new = True
    while is_new:
        is_new = False
        for position, instruction in enumerate(instructions):
            is_reader = instruction.kind.name in DEVICE_DEPENDENT
            found = {wanted[position]} if is_reader else possible[position]
            for following in _following(instruction, position):
                if following < len(instructions) and not found <= possible[following]:
                    possible[following] |= found
                    is_new = True
    return possible


def _following(instruction: Instruction, position: int) -> Iterator[int]:
    """Yield the positions where a run may continue after an instruction."""
    if instruction.kind.name not in NO_SUCCESSOR:
        yield position + 1
    for operand in instruction.operands:
        if isinstance(operand, Label):
            yield operand.position

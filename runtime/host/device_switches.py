"""Where host code says which device it works for: right before what makes a block or takes time,
and only if it may have been another one.

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

from .instructions import KINDS
from .program import HostFunction, Instruction, Label

READERS = frozenset(
    (
        *("allocate", "reuse", "own", "python", "exchange"),
        *("run", "copy"),
        *("call", "call_register", "return"),
    )
)
"""What makes blocks, what a timeline notes for a device, and what goes on in code that expects the
device to be as it is."""

_ENDS = frozenset(("jump", "return", "fail"))
"""What is not followed by the next instruction."""


def devices_of(instructions: Sequence[Instruction]) -> list[int]:
    """The device that is set at each instruction, as the code is written."""
    found: list[int] = []
    current = 0
    for instruction in instructions:
        found.append(current)
        if instruction.kind.name == "device" and isinstance(instruction.operands[0], int):
            current = instruction.operands[0]
    return found


def place_switches(function: HostFunction) -> None:
    """Set devices anew; see the module."""
    old = function.instructions
    if all(each.kind.name != "device" for each in old):
        return
    wanted = devices_of(old)
    possible = _possible_devices(old, wanted)
    kept: list[Instruction] = []
    starts: list[int] = []
    for instruction, device, found in zip(old, wanted, possible, strict=True):
        starts.append(len(kept))
        if instruction.kind.name in READERS and found != {device}:
            switch = Instruction(KINDS["device"], (device,), instruction.source, instruction.scope)
            kept.append(switch)
        if instruction.kind.name != "device":
            kept.append(instruction)
    function.replace(kept, [*starts, len(kept)])


def _possible_devices(instructions: Sequence[Instruction], wanted: Sequence[int]) -> list[set[int]]:
    """The devices that may be set before each instruction if every reader gets what it wants."""
    possible: list[set[int]] = [set() for _ in instructions]
    possible[0].add(0)
    is_new = True
    while is_new:
        is_new = False
        for position, instruction in enumerate(instructions):
            is_reader = instruction.kind.name in READERS
            found = {wanted[position]} if is_reader else possible[position]
            for following in _following(instruction, position):
                if following < len(instructions) and not found <= possible[following]:
                    possible[following] |= found
                    is_new = True
    return possible


def _following(instruction: Instruction, position: int) -> Iterator[int]:
    """Where a run may go on after an instruction."""
    if instruction.kind.name not in _ENDS:
        yield position + 1
    for operand in instruction.operands:
        if isinstance(operand, Label):
            yield operand.position

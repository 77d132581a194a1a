"""Shorten the lifetimes of blocks: allocate at the first use, release after the last one.

Instructions of a scope execute together, each once and in order. So within a scope an `allocate`
may move down to the first use of its block, and a `release` up to the last one. A block whose first
use is in an inner scope, such as a loop, is allocated before that scope begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from .device_switches import devices_of
from .program import HostFunction, Instruction, Label, Register

ADDRESS_OPS = frozenset(("addi_i64",))
"""Instructions whose results are addresses in the block of an operand."""


def shorten_lifetimes(function: HostFunction) -> None:
    """Move allocations down and releases up."""
    instructions = function.instructions
    blocks, passed_on = _blocks_of(instructions)
    uses: dict[Register, list[int]] = {block: [] for block in set(blocks.values())}
    devices = devices_of(instructions)
    for position, instruction in enumerate(instructions):
        for block in {blocks[each] for each in instruction.registers if each in blocks}:
            uses[block].append(position)
    # Moved instructions, by the instruction that they are placed before or after.
    before: dict[int, list[Instruction]] = {}
    after: dict[int, list[Instruction]] = {}
    moved: set[int] = set()
    for block, places in uses.items():
        first, last = places[0], places[-1]
        to = _sunk(instructions, devices, first, places[1]) if len(places) > 1 else first
        if to > first:
            before.setdefault(to, []).append(instructions[first])
            moved.add(first)
        if (
            len(places) > 2
            and block not in passed_on
            and instructions[last].kind.name == "release"
            and instructions[last].scope == instructions[places[-2]].scope
        ):
            after.setdefault(places[-2], []).append(instructions[last])
            moved.add(last)
    function.replace(
        [
            [] if at in moved else [*before.get(at, ()), instruction, *after.get(at, ())]
            for at, instruction in enumerate(instructions)
        ]
    )


def _blocks_of(
    instructions: Sequence[Instruction],
) -> tuple[dict[Register, Register], set[Register]]:
    """Return the block of each address register, and the blocks that may have other references."""
    blocks: dict[Register, Register] = {}
    written: set[Register] = set()
    excluded: set[Register] = set()
    for instruction in instructions:
        name = instruction.kind.name
        result = instruction.operands[0] if instruction.operands else None
        kinds = [kind for _, kind in instruction.kind.operands]
        if kinds[:1] == ["write"] and isinstance(result, Register):
            if result in written:
                excluded.add(blocks.get(result, result))
            written.add(result)
            if name in ("allocate", "reuse", "own"):
                blocks[result] = result
        own = {blocks[each] for each in instruction.registers if each in blocks}
        if name in ADDRESS_OPS and isinstance(result, Register) and len(own) == 1:
            blocks[result] = own.pop()
        elif name in ("move", "retain", "address", "python", "exchange"):
            excluded |= own
    return blocks, excluded


def _sunk(instructions: Sequence[Instruction], devices: Sequence[int], start: int, use: int) -> int:
    """Return the instruction before which a block can be allocated, given its first use."""
    scope = instructions[start].scope
    if instructions[start].kind.name != "allocate":
        return start
    to = use
    while to > start:
        if instructions[to].scope == scope and devices[to] == devices[start]:
            passing = _passing(instructions, start, to)
            if passing is None:
                break
            to = passing
        else:
            to -= 1
    return to


def _passing(instructions: Sequence[Instruction], start: int, to: int) -> int | None:
    """Return the first instruction after `start` that may jump past `to`; `None` if there is none.

    A jump to a `fail` does not count, since it needs no block.
    """
    for position in range(start + 1, to):
        for label in instructions[position].operands:
            if (
                isinstance(label, Label)
                and label.position > to
                and instructions[label.position].kind.name != "fail"
            ):
                return position
    return None

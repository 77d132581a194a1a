"""Tracing of host code: a line for each executed instruction."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from .instructions import SCALARS, signature
from .printer import number_text, print_instructions
from .program import Instruction, LinkedProgram, Register


class Tracer:
    """Writes the instructions that a machine executes.

    A line has the function, the instruction as `print_program` prints it, and the values it wrote:
    `@f  %4 = addi_i64 %2, 1 -> 7`.
    """

    def __init__(self, linked: LinkedProgram, write: Callable[[str], object]) -> None:
        self._linked = linked
        self._write = write
        self._texts: dict[Instruction, tuple[int, str]] = {}
        for number, function in enumerate(linked.program.functions):
            texts = print_instructions(linked.program, function)
            for instruction, text in zip(function.instructions, texts, strict=True):
                self._texts[instruction] = number, text

    def show(self, address: int, frame: int | None = None) -> None:
        """Write a line about the instruction at an address, with the values it wrote to `frame`."""
        instruction = self._linked.instruction(address)
        number, text = self._texts[instruction]
        slot = self._linked.layouts[number].slot
        element = ""
        if instruction.kind.name in SCALARS:
            element = signature(instruction.kind.name)[2].name
        written: list[str] = []
        for (_, kind), operand in zip(instruction.kind.operands, instruction.operands, strict=True):
            for each in operand if isinstance(operand, tuple) else (operand,):
                if frame is not None and kind in ("write", "writes") and isinstance(each, Register):
                    value = ctypes.c_int64.from_address(frame + 8 * slot(each)).value
                    written.append(number_text(value, element))
        result = f" -> {', '.join(written)}" if written else ""
        name = self._linked.program.functions[number].name
        self._write(f"@{name}  {text}{result}\n")

"""Printer of host code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..abi.lapack import LapackFunction
from ..abi.memory import word_at
from .instructions import SCALARS, signature
from .program import (
    ArrayAddress,
    HostFunction,
    HostProgram,
    Instruction,
    Label,
    LinkedProgram,
    Operand,
    Outgoing,
    Register,
)


def print_program(program: HostProgram) -> str:
    """Return the text of all functions of a program."""
    return "\n".join(
        "\n".join(_FunctionPrinter(program, function).lines()) + "\n"
        for function in program.functions
    )


def print_instructions(program: HostProgram, function: HostFunction) -> list[str]:
    """Return the text of each instruction of a function, as `print_program` prints it."""
    return list(_FunctionPrinter(program, function).texts())


class _FunctionPrinter:
    """Printer of one function; registers are numbered in the order in which they first occur."""

    def __init__(self, program: HostProgram, function: HostFunction) -> None:
        self._program = program
        self._function = function
        self._names: dict[Register, str] = {}
        for number, register in enumerate(function.arguments):
            self._names[register] = f"%arg{number}"
        for number, register in enumerate(function.results):
            self._names[register] = f"%result{number}"
        places = sorted({label.position for label in function.labels if label.position >= 0})
        used = {
            operand.position
            for instruction in function.instructions
            for operand in instruction.operands
            if isinstance(operand, Label)
        }
        self._places = {
            place: f"^{number}" for number, place in enumerate(p for p in places if p in used)
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the function."""
        arguments = ", ".join(self._names[each] for each in self._function.arguments)
        results = ", ".join(self._names[each] for each in self._function.results)
        yield f"func @{self._function.name}({arguments}) -> ({results}) {{"
        for number, text in enumerate(self.texts()):
            if number in self._places:
                yield f"{self._places[number]}:"
            yield f"  {text}"
        yield "}"

    def texts(self) -> Iterator[str]:
        """Yield the text of each instruction; must run in order, since it numbers registers."""
        return map(self._line, self._function.instructions)

    def _line(self, instruction: Instruction) -> str:
        written: list[str] = []
        read: list[str] = []
        element = _element(instruction)
        pairs = zip(instruction.kind.operands, instruction.operands, strict=True)
        for (name, kind), operand in pairs:
            if kind in ("write", "writes") and name != "index":
                texts = operand if isinstance(operand, tuple) else (operand,)
                written += [self._text(each, "") for each in texts]
            elif kind == "target":
                read.append(self._label(operand))
            elif kind == "reads":
                read.append(f"{name}({self._list(operand)})")
            elif kind == "number":
                read.append(self._named(name, operand))
            elif name in ("tiles", "work"):
                read.append(f"{name} {self._text(operand, '')}")
            elif kind != "frame":
                read.append(self._text(operand, element))
        head = f"{', '.join(written)} = " if written else ""
        return f"{head}{instruction.kind.name} {', '.join(read)}".rstrip()

    def _label(self, operand: Operand) -> str:
        return self._places[operand.position] if isinstance(operand, Label) else "?"

    def _list(self, operand: Operand) -> str:
        texts = operand if isinstance(operand, tuple) else (operand,)
        return ", ".join(self._text(each, "") for each in texts)

    def _named(self, name: str, operand: Operand) -> str:
        number = operand if isinstance(operand, int) else 0
        if name == "function":
            return f"@{self._program.functions[number].name}"
        if name == "kernel":
            return f"@{self._program.kernels[number].name}"
        return f"#{number}"

    def _text(self, operand: Operand, element: str) -> str:
        if isinstance(operand, Outgoing):
            return f"%out{operand.number}"
        if not isinstance(operand, Register):
            return str(operand)
        constant = self._function.constants.get(operand)
        if isinstance(constant, ArrayAddress):
            return f"@constant_{constant.number}"
        if isinstance(constant, LapackFunction):
            return f"@{constant.name}"
        if isinstance(constant, int):
            return number_text(constant, element)
        return self._names.setdefault(operand, f"%{len(self._names)}")


def _element(instruction: Instruction) -> str:
    """Return the element type of a scalar instruction's last operand, in which constants print."""
    if instruction.kind.name not in SCALARS:
        return ""
    return signature(instruction.kind.name)[1][-1].name


def number_text(value: int, element: str) -> str:
    """Return a register word as a number of an element type."""
    if element == "f32":
        return str(np.array([value], np.int64).view(np.float32)[0])
    if element == "f64":
        return str(np.array([value], np.int64).view(np.float64)[0])
    return str(value)


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
                    value = word_at(frame + 8 * slot(each)).value
                    written.append(number_text(value, element))
        result = f" -> {', '.join(written)}" if written else ""
        name = self._linked.program.functions[number].name
        self._write(f"@{name}  {text}{result}\n")

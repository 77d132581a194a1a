"""Host code programs: functions of instructions, and the tables that instructions refer to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..abi.arrays import Words
from ..abi.lapack import LapackFunction
from ..abi.memory import word_at
from ..abi.native_code import Native
from ..native_registry import runtime_function
from .instructions import BY_OPCODE, SCALAR_WORDS, SCALARS, Kind
from .machine_state import FUNCTION_WORDS
from .scalar_code import run_scalars
from .size_rules import KnownSizes


@dataclass(frozen=True, slots=True)
class Register:
    """A word in the frame of a function, identified by a number."""

    number: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A word in the frame of the next callee: its results come first, then its arguments."""

    number: int


@dataclass(frozen=True, slots=True)
class ArrayAddress:
    """The address of the elements of one of the program's constant arrays."""

    number: int


@dataclass(slots=True, eq=False)
class Label:
    """A position in a function: the number of an instruction, -1 until it is placed."""

    position: int = -1


AnyRegister = Register | Outgoing
Operand = AnyRegister | int | Label | tuple[AnyRegister, ...]
Constant = int | ArrayAddress | LapackFunction
RegisterValues = Sequence[int]

FRAME_SIZE = 0
"""Stands for the size of the function's frame in an instruction, until the function is complete."""


@dataclass(slots=True, eq=False)
class Instruction:
    """An instruction: its operands, in the order of its kind, and the operation to name in errors.

    Instructions with the same `scope` execute together, each exactly once, in their order.
    """

    kind: Kind
    operands: tuple[Operand, ...]
    source: object
    scope: int = 0

    @property
    def registers(self) -> Iterator[AnyRegister]:
        """The registers among the operands and in their lists, in order."""
        for operand in self.operands:
            for each in operand if isinstance(operand, tuple) else (operand,):
                if isinstance(each, AnyRegister):
                    yield each

    def substitute(self, found: Callable[[AnyRegister], AnyRegister]) -> None:
        """Replace each register by what `found` returns for it."""
        self.operands = tuple(
            tuple(map(found, each))
            if isinstance(each, tuple)
            else (found(each) if isinstance(each, AnyRegister) else each)
            for each in self.operands
        )


@dataclass(slots=True, eq=False)
class HostFunction:
    """A function: its registers for arguments and results, constants, and instructions.

    Constants are registers that are set when the function begins.
    """

    name: str
    arguments: list[Register] = field(default_factory=list[Register])
    results: list[Register] = field(default_factory=list[Register])
    constants: dict[Register, Constant] = field(default_factory=dict[Register, Constant])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: list[Label] = field(default_factory=list[Label])

    def replace(self, rows: Sequence[Sequence[Instruction]]) -> None:
        """Replace each instruction by those of a row, and move labels along."""
        starts = list(accumulate(map(len, rows), initial=0))
        for label in self.labels:
            if label.position >= 0:
                label.position = starts[label.position]
        self.instructions[:] = chain.from_iterable(rows)


@dataclass(frozen=True, slots=True)
class HostKernel:
    """A kernel: its display name, and descriptions of its checks."""

    name: str
    failures: tuple[Any, ...] = ()


def not_started(machine: Any) -> None:
    """Do nothing: the default `prepare` of calls without a `start`."""


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A Python function that maps the machine and register values to register values.

    For an `exchange`, the first two results are a tensor's address and block. `recorded` gives what
    a process does there as an `Exchange`, if it does not depend on the run. For an exchange with a
    `start`, `prepare` gives its commands to a machine in advance.
    """

    name: str
    function: Callable[[Any, RegisterValues], RegisterValues]
    recorded: Callable[[int], Any] | None = None
    prepare: Callable[[Any], None] = not_started


def _no_kernels(numbers: Sequence[int]) -> Sequence[Native]:
    raise ValueError("a program without kernels has no native code of some")


@dataclass(slots=True, eq=False)
class HostProgram:
    """Functions, and the tables that their instructions refer to.

    - `compile_kernels`: returns the native code of kernels by number;
    - `failures`: map register values to the exception to raise;
    - `checks`: raise an exception if register values (sizes) are inconsistent;
    - `known_sizes`: for each check, sizes that are known to pass;
    - `arrays`: constants, which must not change;
    - `globals`: the initial words of globals;
    - `global_blocks`: the numbers of those that hold blocks;
    - `devices`: the number of device ids that blocks may have, including the id of no device.
    """

    functions: list[HostFunction] = field(default_factory=list[HostFunction])
    kernels: list[HostKernel] = field(default_factory=list[HostKernel])
    compile_kernels: Callable[[Sequence[int]], Sequence[Native]] = _no_kernels
    failures: list[Callable[[RegisterValues], Exception]] = field(
        default_factory=list[Callable[[RegisterValues], Exception]]
    )
    checks: list[Callable[[RegisterValues], None]] = field(
        default_factory=list[Callable[[RegisterValues], None]]
    )
    known_sizes: list[KnownSizes] = field(default_factory=list[KnownSizes])
    python: list[PythonCall] = field(default_factory=list[PythonCall])
    arrays: list[npt.NDArray[Any]] = field(default_factory=list[npt.NDArray[Any]])
    globals: list[Constant] = field(default_factory=list[Constant])
    global_blocks: list[int] = field(default_factory=list[int])
    devices: int = 1


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function as words: its start in the program's words, and its frame layout.

    A frame has the results, arguments, constants and other registers, `size` words in all, followed
    by `outgoing` words for the functions that it calls.
    """

    start: int
    results: int
    arguments: int
    constants: tuple[Constant, ...]
    size: int
    outgoing: int


@dataclass(frozen=True, slots=True)
class ProgramCode:
    """A program as position-independent words."""

    words: Words
    functions: tuple[FunctionCode, ...]


@dataclass(frozen=True, slots=True)
class FunctionStart:
    """What a call of a function needs to know.

    - `code`, `row`: the addresses of its first instruction, and of its row (`FUNCTION_WORDS`);
    - `frame_bytes`: the size of its frame;
    - `results`, `arguments`: their words in the frame; constants follow.
    """

    code: int
    row: int
    frame_bytes: int
    results: slice
    arguments: slice


class LinkedProgram:
    """A program as words that the native loop reads; all machines share it."""

    def __init__(self, program: HostProgram, code: ProgramCode | None = None) -> None:
        """`code` is the program as words, for functions without instructions (a saved program)."""
        self.program = program
        self.natives: list[Native | None] = [None] * len(program.kernels)
        self.kernels: Words = np.zeros(max(1, len(program.kernels)), np.int64)
        self.layouts: list[FrameLayout] = []
        """The frame layouts of functions that have instructions."""
        self._starts: list[int] = []
        self._instructions: list[Instruction] = []
        self.program_code = code or self._assembled()
        functions = self.program_code.functions
        self.globals: Words = self._words(program.globals)
        self.code = self.program_code.words
        self._constants = [self._words(each.constants) for each in functions]
        self.functions: Words = np.zeros((max(1, len(functions)), FUNCTION_WORDS), np.int64)
        self.starts = [
            self._start(row, each, constants)
            for row, each, constants in zip(
                self.functions, functions, self._constants, strict=False
            )
        ]

    def _start(self, row: Words, function: FunctionCode, constants: Words) -> FunctionStart:
        """Fill the row of a function; return how it is called."""
        code, size = self.code.ctypes.data + 8 * function.start, function.size + function.outgoing
        first_constant = function.results + function.arguments
        row[:5] = code, 8 * size, 8 * first_constant, constants.ctypes.data, len(constants)
        results, arguments = slice(0, function.results), slice(function.results, first_constant)
        return FunctionStart(code, int(row.ctypes.data), 8 * size, results, arguments)

    def _words(self, constants: Sequence[Constant]) -> Words:
        return np.array([self._address(each) for each in constants], np.int64)

    def _address(self, constant: Constant) -> int:
        if isinstance(constant, int):
            return constant
        if isinstance(constant, LapackFunction):
            return constant.address
        return int(self.program.arrays[constant.number].ctypes.data)

    def _assembled(self) -> ProgramCode:
        code: list[int] = []
        functions: list[FunctionCode] = []
        for function in self.program.functions:
            layout = FrameLayout(function)
            self.layouts.append(layout)
            functions.append(
                FunctionCode(
                    len(code),
                    len(function.results),
                    len(function.arguments),
                    tuple(function.constants.values()),
                    layout.size,
                    layout.outgoing,
                )
            )
            self._assemble(function, layout, code)
        return ProgramCode(np.array(code or [0], np.int64), tuple(functions))

    def _assemble(self, function: HostFunction, frame: FrameLayout, code: list[int]) -> None:
        starts: list[int] = []
        at = len(code)
        for instruction in function.instructions:
            starts.append(at)
            at += _length(instruction)
        starts.append(at)
        for start, instruction in zip(starts, function.instructions, strict=False):
            self._starts.append(start)
            self._instructions.append(instruction)
            row = [instruction.kind.opcode]
            for (_, kind), operand in zip(
                instruction.kind.operands, instruction.operands, strict=True
            ):
                if isinstance(operand, Label):
                    row.append(8 * (starts[operand.position] - start))
                elif isinstance(operand, tuple):
                    row += [len(operand), *(8 * frame.slot(each) for each in operand)]
                elif isinstance(operand, int):
                    row.append(8 * frame.size if kind == "frame" else operand)
                else:
                    row.append(8 * frame.slot(operand))
            row += [0] * (_length(instruction) - len(row))
            code += row

    def instruction(self, address: int) -> Instruction:
        """Return the instruction at an address.

        If the program has words only, just the kind of the instruction is set.
        """
        if not self._instructions:
            return Instruction(BY_OPCODE[word_at(address).value], (), None)
        word = (address - int(self.code.ctypes.data)) // 8
        return self._instructions[bisect_right(self._starts, word) - 1]

    def compile_kernels(self, numbers: Sequence[int]) -> None:
        """Compile the native code of kernels."""
        wanted = [each for each in dict.fromkeys(numbers) if self.natives[each] is None]
        for number, native in zip(wanted, self.program.compile_kernels(wanted), strict=True):
            self.natives[number] = native
            self.kernels[number] = native.address

    def compile(self) -> None:
        """Compile all native code that a run may need: kernels, and the scalar instructions."""
        self.compile_kernels(range(len(self.natives)))
        if self.has_scalars:
            runtime_function(run_scalars)

    @property
    def has_scalars(self) -> bool:
        """Whether instructions compute registers; `False` for a program that has words only."""
        return any(each.kind.name in SCALARS for each in self._instructions)

    def kernels_from(self, address: int) -> list[int]:
        """Return the kernel run at an address, and those after it up to the next choice.

        A jump back to the start of a loop is no choice.
        """
        found = [word_at(address + 8).value]
        first = bisect_right(self._starts, (address - int(self.code.ctypes.data)) // 8)
        for position in range(first, len(self._instructions)):
            instruction = self._instructions[position]
            kind = instruction.kind.name
            if kind == "run":
                found.append(cast("int", instruction.operands[0]))
            elif kind == "return" or (
                kind != "loop" and any(isinstance(each, Label) for each in instruction.operands)
            ):
                break
        return found


def _length(instruction: Instruction) -> int:
    if instruction.kind.name in SCALARS:
        return SCALAR_WORDS
    return 1 + sum(1 + len(each) if isinstance(each, tuple) else 1 for each in instruction.operands)


class FrameLayout:
    """The slots of a function's registers: results, arguments, constants, then others."""

    def __init__(self, function: HostFunction) -> None:
        first = [*function.results, *function.arguments, *function.constants]
        self._slots = {register: slot for slot, register in enumerate(first)}
        self.outgoing = 0
        for instruction in function.instructions:
            for each in instruction.registers:
                if isinstance(each, Register):
                    self._slots.setdefault(each, len(self._slots))
                else:
                    self.outgoing = max(self.outgoing, each.number + 1)
            if instruction.kind.name == "run":
                lists = (each for each in instruction.operands if isinstance(each, tuple))
                self.outgoing = max(self.outgoing, sum(map(len, lists)))
        self.size = len(self._slots)

    def slot(self, register: AnyRegister) -> int:
        """Return the index of a register's word in the frame."""
        if isinstance(register, Outgoing):
            return self.size + register.number
        return self._slots[register]

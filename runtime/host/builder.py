"""Builder for host functions: registers, labels, and index arithmetic with constant folding."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

import numpy as np

from ...ir.index_folding import FoldingIndices, SizeFolding, known_first
from ..abi.arrays import MAX_INT64
from .constant_propagation import Accepts, propagate_constants
from .device_switches import place_switches
from .instructions import KINDS
from .lifetimes import shorten_lifetimes
from .program import (
    AnyRegister,
    Constant,
    HostFunction,
    Instruction,
    Label,
    Operand,
    Outgoing,
    Register,
)

IndexOrInt = int | Register
"""An index: a constant, or in a register."""


class Builder(FoldingIndices[Register], SizeFolding[Register]):
    """Writes one function."""

    def __init__(self, function: HostFunction) -> None:
        self.function = function
        self.source: object = None
        """The operation that the next instructions belong to."""
        self._count = 0
        self._scopes = 1
        self._scope = 0
        self._constants: dict[Constant, Register] = {}
        self._later: list[tuple[Label, Callable[[], None], object]] = []

    # Registers --------------------------------------------------------------------------------

    def register(self) -> Register:
        """Return a new register."""
        self._count += 1
        return Register(self._count)

    def argument(self) -> Register:
        """Add an argument and return its register, which the caller sets."""
        register = self.register()
        self.function.arguments.append(register)
        return register

    def result(self) -> Register:
        """Add a result and return its register, which the caller reads."""
        register = self.register()
        self.function.results.append(register)
        return register

    def constant(self, value: Constant) -> Register:
        """Return a register that holds a constant."""
        found = self._constants.get(value)
        if found is None:
            found = self._constants[value] = self.register()
            # Larger numbers occur only in code that a failing check makes unreachable.
            fitting = min(value, MAX_INT64) if isinstance(value, int) else value
            self.function.constants[found] = fitting
        return found

    def hold(self, value: IndexOrInt) -> Register:
        """Return a register with the value of an index."""
        return self.constant(value) if isinstance(value, int) else value

    def hold_all(self, values: Sequence[IndexOrInt]) -> tuple[Register, ...]:
        """Return registers with the values of indices."""
        return tuple(self.hold(value) for value in values)

    # Instructions -----------------------------------------------------------------------------

    def emit(self, name: str, *operands: Operand) -> None:
        """Append an instruction."""
        instruction = Instruction(KINDS[name], operands, self.source, self._scope)
        self.function.instructions.append(instruction)

    def compute(self, name: str, *operands: Operand) -> Register:
        """Append an instruction whose first operand is its result; return the result."""
        result = self.register()
        self.emit(name, result, *operands)
        return result

    def load_element(self, address: Register, dtype: np.dtype[Any]) -> Register:
        """Load an element: integers are sign- or zero-extended, other types are loaded as bits."""
        if dtype.itemsize == 8:
            return self.compute("load_i64", address)
        sign = "i" if dtype.kind == "i" else "u"
        return self.compute(f"load_{sign}{8 * dtype.itemsize}", address)

    def store_element(self, address: Register, value: Register, dtype: np.dtype[Any]) -> None:
        """Store a register as an element, truncated to its size."""
        self.emit(f"store_{8 * dtype.itemsize}", address, value)

    def copied(self, address: Register, size: IndexOrInt) -> Register:
        """Return a new block that holds a copy of `size` bytes."""
        held = self.hold(size)
        block = self.compute("allocate", held)
        self.emit("copy", block, address, held)
        return block

    def move(self, target: AnyRegister, value: IndexOrInt | Outgoing) -> None:
        """Copy a register."""
        source = self.hold(value) if isinstance(value, int) else value
        if source != target:
            self.emit("move", target, source)

    def move_all(self, targets: Sequence[Register], values: Sequence[IndexOrInt]) -> None:
        """Copy registers in parallel: all values are read before any target is written."""
        pairs = [(t, v) for t, v in zip(targets, values, strict=True) if t != v]
        written = {target for target, _ in pairs}
        kept: dict[Register, Register] = {}
        for position, (_, value) in enumerate(pairs):
            overwritten = {target for target, _ in pairs[:position]}
            if isinstance(value, Register) and value in written and value in overwritten:
                kept[value] = self.register()
        for value, copy in kept.items():
            self.move(copy, value)
        for target, value in pairs:
            self.move(target, kept.get(value, value) if isinstance(value, Register) else value)

    # Labels and scopes ------------------------------------------------------------------------

    def label(self) -> Label:
        """Return a label that is to be placed later."""
        label = Label()
        self.function.labels.append(label)
        return label

    def bind_label(self, label: Label) -> None:
        """Place a label at the current position."""
        label.position = len(self.function.instructions)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Open a scope: its instructions may execute another number of times than those around."""
        outer, self._scope = self._scope, self._scopes
        self._scopes += 1
        try:
            yield
        finally:
            self._scope = outer

    def merge(self, block: Register, target: Register, size: IndexOrInt) -> bool:
        """Replace a block by another of `size` bytes and remove its allocation, if possible.

        It is possible if the block has this size, if only kernels and copies have used it, in the
        scope of its allocation, and if the other block is not used from there on. Returns whether
        the block was replaced.
        """
        first, instructions = self._own_allocation(block), self.function.instructions
        if first is None or instructions[first].operands[1] != self.hold(size):
            return False
        uses = instructions[first + 1 :]
        if any(target in each.registers for each in uses):
            return False
        for each in uses:
            each.substitute(lambda one: target if one == block else one)
        rows = [[] if at == first else [each] for at, each in enumerate(instructions)]
        self.function.replace(rows)
        return True

    def is_unshared(self, block: Register) -> bool:
        """Return whether a block was allocated in this scope, and has one reference since."""
        return self._own_allocation(block) is not None

    def _own_allocation(self, block: Register) -> int | None:
        """Return the position of a block's allocation if only kernels and copies have used it."""
        instructions = self.function.instructions
        for position in reversed(range(len(instructions))):
            each = instructions[position]
            if block not in each.registers:
                continue
            if each.scope != self._scope:
                return None
            if each.kind.name == "allocate":
                return position
            if each.kind.name not in ("run", "copy"):
                return None
        return None

    def jump(self, label: Label) -> None:
        """Jump to a label."""
        self.emit("jump", label)

    def jump_if(self, condition: IndexOrInt, label: Label) -> None:
        """Jump to a label if a condition is true."""
        self.emit("jump_if", self.hold(condition), label)

    def jump_unless(self, condition: IndexOrInt, label: Label) -> None:
        """Jump to a label if a condition is false."""
        self.emit("jump_unless", self.hold(condition), label)

    @contextmanager
    def loop(
        self, start: IndexOrInt, stop: IndexOrInt, step: IndexOrInt = 1
    ) -> Generator[IndexOrInt]:
        """Emit a loop over `range(start, stop, step)`; yield its index.

        A loop that is known to run once is left out.
        """
        if (
            isinstance(start, int)
            and isinstance(stop, int)
            and isinstance(step, int)
            and start < stop <= start + step
        ):
            yield start
            return
        index = self.register()
        self.move(index, start)
        with self.turns(index, start, stop, step):
            yield index

    @contextmanager
    def turns(
        self, index: Register, start: IndexOrInt, stop: IndexOrInt, step: IndexOrInt
    ) -> Generator[None]:
        """Emit what runs for each number of `range(start, stop, step)`, which `index` holds."""
        top, end = self.label(), self.label()
        self.jump_unless(self.compare("slt", start, stop), end)
        with self.scope():
            self.bind_label(top)
            yield
            self.emit("loop", index, self.hold(stop), self.hold(step), top)
        self.bind_label(end)

    def later(self, write: Callable[[], None]) -> Label:
        """Return a label of code that is emitted at the end, because it rarely runs."""
        label = self.label()
        self._later.append((label, write, self.source))
        return label

    def finish(self, accepts: Accepts = lambda check, numbers: False) -> HostFunction:
        """Emit the code of `later`, optimise and return the function.

        `accepts` tells which checks of constants can be removed.
        """
        while self._later:
            label, write, self.source = self._later.pop(0)
            with self.scope():
                self.bind_label(label)
                write()
        propagate_constants(self.function, self.constant, accepts)
        shorten_lifetimes(self.function)
        place_switches(self.function)
        return self.function

    # Index arithmetic -------------------------------------------------------------------------

    def index_instruction(self, name: str, left: IndexOrInt, right: IndexOrInt) -> Register:
        return self.compute(name, self.hold(left), self.hold(right))

    def all_of(self, conditions: Sequence[Register]) -> Register:
        """Return the conjunction of at least one condition."""
        return reduce(partial(self.compute, "andi_i1"), conditions)

    def divide(self, left: IndexOrInt, right: IndexOrInt) -> IndexOrInt:
        return self.floor_divide(left, right)

    def broadcast_instruction(self, left: Register, right: Register) -> Register:
        is_one = self.hold(self.compare("eq", left, 1))
        return self.compute("select_i64", is_one, right, left)

    def size(self, factors: Sequence[IndexOrInt]) -> IndexOrInt:
        """Return a product of sizes that are not negative; overflow ends the run with an error."""
        result: IndexOrInt = 1
        for factor in known_first(factors):
            if isinstance(result, int) and isinstance(factor, int):
                result *= factor
            elif result in (0, 1):
                result = self.multiply(result, factor)
            else:
                result = self.index_instruction("size", result, factor)
        return result

"""Write operations on scalars as instructions of the virtual machine."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ...ir.diagnostics import OperationError
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.instructions import SCALARS
from ...runtime.host.program import Register
from ..kernels.code.ast_builder import AstBuilder, Term
from ..kernels.elements.scalar_operations import is_scalar_operation, write_scalar_operation


class _Names(AstBuilder):
    """Collects the primitives that an operation calls."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def call(self, primitive: str, *arguments: Term) -> str:
        """Record a primitive."""
        self.names.add(primitive)
        return "r0"


class ScalarCode(AstBuilder):
    """Emits instructions instead of calls of primitives; a term is the name of a register."""

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self._builder = builder
        self._registers: dict[str, Register] = {}

    def term(self, register: Register) -> str:
        """Return the term of a register."""
        name = f"r{register.number}"
        self._registers[name] = register
        return name

    def value(self, term: Term) -> IndexOrInt:
        """Return the register, or the number, of a term."""
        return term if isinstance(term, int) else self._registers[term]

    def call(self, primitive: str, *arguments: Term) -> str:
        """Emit the instruction of a primitive."""
        operands = [self._builder.hold(self.value(each)) for each in arguments]
        return self.term(self._builder.compute(primitive, *operands))

    def integer_constant(self, value: int, element: str) -> str:
        """Return a register that holds a constant."""
        return self.term(self._builder.constant(value))


def has_instructions(operation: Operation) -> bool:
    """Return whether every primitive of a scalar operation is an instruction."""
    if not is_scalar_operation(operation.name) or any(
        isinstance(each.type, TensorType) for each in (*operation.operands, *operation.results)
    ):
        return False
    names = _Names()
    try:
        write_scalar_operation(names, operation, ["r0"] * len(operation.operands))
    except OperationError:
        return False
    return all(name in SCALARS for name in names.names)


FOLDED = {
    "arith.addi": "add",
    "arith.subi": "subtract",
    "arith.muli": "multiply",
}
"""Index operations that are folded at compile time if the operands are known."""

MAX_FOLDED_NUMBER = 1 << 40
"""Larger operands and products are not folded, because the result could wrap in 64 bits."""


def write_instructions(
    builder: Builder, operation: Operation, operands: Sequence[IndexOrInt]
) -> list[IndexOrInt]:
    """Emit an operation that `has_instructions`; return the registers or numbers of its results."""
    folded = FOLDED.get(operation.name)
    if folded is not None and operation.results[0].type.name == "index":
        left, right = operands
        if isinstance(left, Register) or isinstance(right, Register):
            if left in (0, 1) or right in (0, 1):
                return [getattr(builder, folded)(left, right)]
        elif all(abs(each) < MAX_FOLDED_NUMBER for each in (left, right, left * right)):
            return [getattr(builder, folded)(left, right)]
    code = ScalarCode(builder)
    terms = [code.term(builder.hold(each)) for each in operands]
    return [code.value(each) for each in write_scalar_operation(code, operation, terms)]

"""Operations on numbers: instructions of the virtual machine, or kernels of one element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ...ir.diagnostics import OperationError
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.instructions import SCALARS
from ...runtime.host.program import Register
from ..kernels.ast_builder import AstBuilder, Term
from ..scalar_ops.scalars import is_scalar_operation, write_scalar_operation


class _Names(AstBuilder):
    """Collects which primitives an operation takes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def call(self, primitive: str, *arguments: Term) -> str:
        """Note a primitive."""
        self.names.add(primitive)
        return "r0"


class ScalarCode(AstBuilder):
    """Writes instructions where a kernel would call primitives; terms name registers."""

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self._builder = builder
        self._registers: dict[str, Register] = {}

    def term(self, register: Register) -> str:
        """A term for a register."""
        name = f"r{register.number}"
        self._registers[name] = register
        return name

    def value(self, term: Term) -> IndexOrInt:
        """The register, or the number, of a term."""
        return term if isinstance(term, int) else self._registers[term]

    def call(self, primitive: str, *arguments: Term) -> str:
        """Write the instruction of a primitive."""
        operands = [self._builder.hold(self.value(each)) for each in arguments]
        return self.term(self._builder.compute(primitive, *operands))

    def integer_constant(self, value: int, element: str) -> str:
        """A register that holds a constant."""
        return self.term(self._builder.constant(value))


def has_instructions(operation: Operation) -> bool:
    """Whether an operation on numbers is carried out by instructions."""
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
"""Operations on indices that are carried out at once if the numbers are known."""

LIMIT = 1 << 40
"""Numbers beyond which arithmetic could wrap: it is left to the machine."""


def write_instructions(
    builder: Builder, operation: Operation, operands: Sequence[IndexOrInt]
) -> list[IndexOrInt]:
    """The registers of the results of an operation that `has_instructions`."""
    folded = FOLDED.get(operation.name)
    if folded is not None and _is_index(operation.results[0].type):
        left, right = operands
        if isinstance(left, Register) or isinstance(right, Register):
            if left in (0, 1) or right in (0, 1):
                return [getattr(builder, folded)(left, right)]
        elif abs(left) < LIMIT and abs(right) < LIMIT and abs(left * right) < LIMIT:
            return [getattr(builder, folded)(left, right)]
    code = ScalarCode(builder)
    terms = [code.term(builder.hold(each)) for each in operands]
    return [code.value(each) for each in write_scalar_operation(code, operation, terms)]


def _is_index(value_type: Attribute) -> bool:
    return value_type.name == "index"

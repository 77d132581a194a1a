"""The globals of the `ml_program` dialect of MLIR, as torch-mlir and TensorFlow write them.

    ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
    %0 = ml_program.global_load @seed : tensor<i64>
    ml_program.global_store @seed = %0 : tensor<i64>

Functions, subgraphs, tokens and `#ml_program.extern` are not known.
"""

from __future__ import annotations

import sys
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..ir.dialect_extension import dialect_of
from ..ir.symbols import find_symbol, root_symbol
from ..ir.syntax.assembly_format import Parsed, Syntax
from ..ir.syntax.operations import SyntaxOperation
from ..ir.syntax.rows import READS
from ..ir.syntax.symbol_directives import Visibility


class _InitialValue:
    """`(value)`, or nothing."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("value",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_punctuation("(") is not None:
            parsed.attributes["value"] = parser.parse_attribute()
            parser.parse_punctuation(")")

    def print(self, printer: Printer, operation: Operation) -> None:
        value = operation.properties.get("value")
        if value is not None:
            with printer.in_parens():
                printer.print_attribute(value)


@irdl_op_definition
class GlobalOp(SyntaxOperation):
    """Define a global of the module. One that is not mutable must have an initial value."""

    name = "ml_program.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    type = prop_def(Attribute)
    is_mutable = opt_prop_def(UnitAttr)
    value = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (
        Visibility(),
        "( mutable$is_mutable)? @$sym_name",
        _InitialValue(),
        " : $type attr-dict",
    )

    def verify_(self) -> None:
        super().verify_()
        if self.is_mutable is None and self.value is None:
            raise VerifyException("immutable global must have an initial value")


def _global_of(access: Operation) -> GlobalOp:
    """Return the global that is read or written. Raises VerifyException if there is none."""
    name = root_symbol(access, "global")
    found = find_symbol(access, name)
    if not isinstance(found, GlobalOp):
        raise VerifyException(f"undefined global: {name}")
    return found


class _LoadOp(SyntaxOperation):
    global_ = prop_def(SymbolRefAttr, prop_name="global")
    result = result_def()

    SYNTAX: ClassVar[Syntax] = " @$global : type($result) attr-dict"

    def verify_(self) -> None:
        super().verify_()
        found = _global_of(self)
        if found.type != self.result.type:
            raise VerifyException(
                f"cannot load from global typed '{found.type}' as '{self.result.type}'"
            )


@irdl_op_definition
class GlobalLoadOp(_LoadOp):
    """Return the value that a global has now."""

    name = "ml_program.global_load"
    traits = traits_def(*READS)


@irdl_op_definition
class GlobalLoadConstOp(_LoadOp):
    """Return the value of a global that is not mutable."""

    name = "ml_program.global_load_const"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        if _global_of(self).is_mutable is not None:
            name = root_symbol(self, "global")
            raise VerifyException(f"cannot load as const from mutable global @{name}")


@irdl_op_definition
class GlobalStoreOp(SyntaxOperation):
    """Set the value of a mutable global."""

    name = "ml_program.global_store"
    value = operand_def()
    global_ = prop_def(SymbolRefAttr, prop_name="global")

    SYNTAX: ClassVar[Syntax] = " @$global = $value : type($value) attr-dict"

    def verify_(self) -> None:
        super().verify_()
        found = _global_of(self)
        if found.is_mutable is None:
            name = root_symbol(self, "global")
            raise VerifyException(f"cannot store to an immutable global @{name}")
        if found.type != self.value.type:
            raise VerifyException(
                f"cannot store to a global typed '{found.type}' from '{self.value.type}'"
            )


MlProgram = dialect_of("ml_program", sys.modules[__name__])

"""The op of the `llvm` dialect that IREE's programs contain and xDSL lacks."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, i1, i32
from xdsl.dialects.llvm import LLVM
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..ir.dialect_extension import extended
from ..ir.syntax.typed_values import parse_typed_operands, print_typed_operands


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """State that a condition is true. Nothing is defined if it is not.

    Bundles say more about further operands, as `"align"(%p, %c64 : !llvm.ptr, i64)`.
    """

    name = "llvm.intr.assume"

    cond = operand_def(i1)
    op_bundle_operands = var_operand_def()
    op_bundle_sizes = prop_def(DenseArrayBase.constr(i32))
    op_bundle_tags = opt_prop_def(ArrayAttr[StringAttr])

    # Custom parser: bundles are listed before the type of the condition.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        bundles = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_bundle(parser)
        )
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(condition, parser.parse_type())
        attributes = parser.parse_optional_attr_dict()
        tags = ArrayAttr([StringAttr(tag) for tag, _ in bundles]) if bundles else None
        sizes = [len(operands) for _, operands in bundles or ()]
        return cls.build(
            operands=[operand, [each for _, operands in bundles or () for each in operands]],
            properties={
                "op_bundle_sizes": DenseArrayBase.from_list(i32, sizes),
                "op_bundle_tags": tags,
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        if tags := self._tags():
            printer.print_string(" ")
            with printer.in_square_brackets():
                printer.print_list(
                    range(len(tags)), lambda index: self._print_bundle(printer, index)
                )
        printer.print_string(" : ")
        printer.print_attribute(self.cond.type)
        printer.print_op_attributes(self.attributes)

    def _tags(self) -> tuple[StringAttr, ...]:
        return () if self.op_bundle_tags is None else self.op_bundle_tags.data

    def _print_bundle(self, printer: Printer, index: int) -> None:
        sizes = self.op_bundle_sizes.get_values()
        first = sum(sizes[:index])
        operands = self.op_bundle_operands[first : first + sizes[index]]
        printer.print_attribute(self._tags()[index])
        with printer.in_parens():
            if operands:
                print_typed_operands(printer, operands)

    def verify_(self) -> None:
        sizes, tags = self.op_bundle_sizes.get_values(), self._tags()
        if len(sizes) != len(tags):
            raise VerifyException(
                f"expected {len(sizes)} operand bundle tags, but actually got {len(tags)}"
            )
        if sum(sizes) != len(self.op_bundle_operands):
            raise VerifyException(
                f"expected {sum(sizes)} operands in bundles, found {len(self.op_bundle_operands)}"
            )


def _parse_bundle(parser: Parser) -> tuple[str, list[SSAValue]]:
    """Parse the tag of a bundle and its operands, `"tag"(%a, %b : type, type)`."""
    tag = parser.parse_str_literal()
    parser.parse_punctuation("(")
    if parser.parse_optional_punctuation(")") is not None:
        return tag, []
    unresolved, types = parse_typed_operands(parser)
    position = parser.pos
    parser.parse_punctuation(")")
    return tag, list(parser.resolve_operands(unresolved, types, position))


ExtendedLlvm = extended(LLVM, [AssumeOp])

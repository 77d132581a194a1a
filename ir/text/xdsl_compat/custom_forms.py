"""Parsers and printers that replace those of xDSL's operations where these are incomplete.

Other passes look for xDSL's op classes, so the classes are kept, and only parsing and printing are
replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...syntax.typed_values import parse_typed_operands
from .func_syntax import is_declaration, parse_function, print_function


def _scf(name: str) -> Callable[..., Any]:
    """Return a function of `scf_syntax`, which is imported at the first call."""

    def call(*arguments: object) -> Any:
        return getattr(import_module(".scf_syntax", __package__), name)(*arguments)

    return call


def _parse_exact(parser: Parser, name: str) -> Operation:
    """Read an integer division or shift with an optional `exact` flag, after its name."""
    unresolved = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    unresolved.append(parser.parse_unresolved_operand())
    exact = parser.parse_optional_keyword("exact") is not None
    attributes = parser.parse_optional_attr_dict()
    if exact:
        attributes["isExact"] = UnitAttr()
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    return parser.ctx.get_op(name).create(
        operands=[parser.resolve_operand(each, kind) for each in unresolved],
        result_types=[kind],
        attributes=attributes,
    )


_EXACT = ("arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui")


def _parse_cond_br(parser: Parser) -> Operation:
    """Read a `cf.cond_br` with optional branch weights, after its name."""
    condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
    weights: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("weights"):
        with parser.in_parens():
            numbers = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
        weights["branch_weights"] = DenseArrayBase.from_list(i32, numbers)
    parser.parse_punctuation(",")
    then_block, then_values = _parse_successor(parser)
    parser.parse_punctuation(",")
    else_block, else_values = _parse_successor(parser)
    branch = cf.ConditionalBranchOp(condition, then_block, then_values, else_block, else_values)
    branch.attributes.update(parser.parse_optional_attr_dict() | weights)
    return branch


def _parse_successor(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    """Read `^block(%a, %b : t, u)`, or a block without arguments."""
    block, position = parser.parse_successor(), parser.pos
    if parser.parse_optional_punctuation("(") is None:
        return block, ()
    values, types = parse_typed_operands(parser)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(values, types, position)


UNKNOWN_PROPERTIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_EXACT, ("isExact",)),
    "bufferization.alloc_tensor": ("memory_space",),
    "cf.cond_br": ("branch_weights",),
    "func.call": ("arg_attrs", "no_inline", "res_attrs"),
    "func.call_indirect": ("arg_attrs", "res_attrs"),
    "scf.execute_region": ("no_inline",),
}
"""Properties in MLIR that xDSL's operations lack. They are kept as discardable attributes.

None of them changes what is computed.
"""

PARSERS: dict[str, Callable[[Parser], Operation]] = {
    **{name: partial(_parse_exact, name=name) for name in _EXACT},
    "cf.cond_br": _parse_cond_br,
    "func.func": parse_function,
    "scf.execute_region": _scf("parse_execute_region"),
    "scf.for": _scf("parse_for"),
    "scf.if": _scf("parse_if"),
    "scf.index_switch": _scf("parse_index_switch"),
    "scf.parallel": _scf("parse_parallel"),
    "scf.reduce": _scf("parse_reduce"),
    "scf.while": _scf("parse_while"),
}
"""Parsers by operation name; they read the operation after its name."""


@dataclass(frozen=True, slots=True)
class CustomPrinter:
    """A printer of an operation's custom form, and which operations it applies to."""

    print: Callable[[Printer, Operation], None]
    """Prints what follows the name of the operation."""
    applies: Callable[[Operation], bool] = lambda operation: True


PRINTERS: dict[str, CustomPrinter] = {
    "func.func": CustomPrinter(print_function, is_declaration),
    "scf.execute_region": CustomPrinter(_scf("print_execute_region")),
    "scf.parallel": CustomPrinter(_scf("print_parallel")),
    "scf.reduce": CustomPrinter(_scf("print_reduce")),
}
"""Printers of custom forms, by operation name."""

WITHOUT_ATTRIBUTES = frozenset({"arith.cmpf", "arith.cmpi", "tensor.empty"})
"""xDSL's operations whose custom forms omit discardable attributes."""

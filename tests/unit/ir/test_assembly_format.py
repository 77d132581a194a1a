"""Formats of operations: what their notation means, and that all of ours can be read."""

from __future__ import annotations

from io import StringIO
from typing import ClassVar

import pytest
from mesh_opt.dialects.registry import OWN_DIALECTS
from mesh_opt.ir.syntax.assembly_format import Syntax, pieces_of
from mesh_opt.ir.syntax.operations import SyntaxOperation
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, StringAttr, UnitAttr
from xdsl.dialects.test import Test
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError


@irdl_op_definition
class PickOp(SyntaxOperation):
    name = "t.pick"
    default = operand_def()
    choices = var_operand_def()
    index = operand_def(IndexType())
    label = opt_prop_def(StringAttr)
    exact = opt_prop_def(UnitAttr)
    place = opt_prop_def(Attribute)
    result = result_def(IndexType())

    SYNTAX: ClassVar[Syntax] = (
        "( exact$exact)? on($choices) at($index)( $label)?",
        "(( to $place))? attr-dict : type($default, $choices) else",
        " $default",
    )


@irdl_op_definition
class MistakenOp(SyntaxOperation):
    name = "t.mistaken"
    source = prop_def(Attribute)

    SYNTAX: ClassVar[Syntax] = " $sourse"


def reprinted(text: str) -> str:
    context = Context()
    context.register_dialect("test", lambda: Test)
    context.register_dialect("t", lambda: Dialect("t", [PickOp, MistakenOp]))
    values = '%i, %a, %b = "test.op"() : () -> (index, i32, i32)\n'
    module = Parser(context, values + text).parse_module()
    module.verify()
    output = StringIO()
    Printer(output).print_op(list(module.body.block.ops)[-1])
    return output.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "t.pick on(%a, %b) at(%i)( to 1 : i8) : i32 else %a",
        't.pick exact on() at(%i) "l"( to 1 : i8) {x} : i32 else %a',
    ],
)
def test_text_comes_out_as_it_went_in(text: str) -> None:
    assert reprinted("%r = " + text) == "%r = " + text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t.pick on(%a) at %i : i32 else %a", "Expected '('"),
        ("t.pick on(%a) on(%i)( to 1 : i8) : i32 else %a", "expected 'at'"),
    ],
)
def test_errors_say_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ParseError) as found:
        reprinted("%r = " + text)
    assert message in str(found.value)


def test_a_name_that_is_not_defined_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"'t\.mistaken' defines no 'sourse'"):
        pieces_of(MistakenOp)


def test_all_formats_can_be_compiled() -> None:
    operations = [each for make in OWN_DIALECTS.values() for each in make().operations]
    formats = [pieces_of(each) for each in operations if issubclass(each, SyntaxOperation)]
    assert len(formats) > 100 and all(formats)

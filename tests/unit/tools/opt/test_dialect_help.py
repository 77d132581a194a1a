"""What dialects and operations say of themselves."""

from __future__ import annotations

import pytest
from mesh_opt.dialects.registry import all_dialects
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.opt.help import help_dialect
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Join tensors
    into one. They are of one rank.

    A second paragraph.
    """

    name = "parts.join"
    first = operand_def(TensorType)
    others = var_operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr)
    order = opt_prop_def()
    body = opt_region_def()
    traits = traits_def(Pure())


@irdl_op_definition
class SilentOp(IRDLOperation):
    name = "parts.silent"
    input_ = operand_def()
    result = result_def()


@irdl_attr_definition
class PartType(ParametrizedAttribute, TypeAttribute):
    """A part."""

    name = "parts.part"


PARTS = Dialect("parts", [SilentOp, JoinOp], [PartType])


@pytest.fixture
def context() -> Context:
    found = Context()
    found.load_dialect(PARTS)
    return found


def test_a_dialect(context: Context) -> None:
    assert help_dialect("parts", context) == (
        "parts: a dialect (--help-dialect=parts.OP describes an operation)\n"
        "\n"
        "Operations:\n"
        f"  {'parts.join':<40} Join tensors into one.\n"
        f"  {'parts.silent':<40} (input) -> (result)\n"
        "\n"
        "Types:\n"
        f"  {'!parts.part':<40} A part.\n"
    )


def test_an_operation(context: Context) -> None:
    assert help_dialect("parts.join", context) == (
        "parts.join: Join tensors into one.\n"
        "\n"
        "They are of one rank.\n"
        "\n"
        "A second paragraph.\n"
        "\n"
        "Operands:\n  first\n  others*\n"
        "\n"
        "Results:\n  result\n"
        "\n"
        "Attributes:\n  axis: integer\n  order?\n"
        "\n"
        "Regions:\n  body?\n"
        "\n"
        "Traits:\n  Pure\n"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("part", "there is no dialect 'part'; did you mean 'parts'?"),
        ("parts.joi", "there is no operation 'parts.joi'; did you mean 'parts.join'?"),
        ("parts.", "there is no operation 'parts.'"),
    ],
)
def test_unknown_dialect(context: Context, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        help_dialect(name, context)


def test_every_dialect_describes_itself() -> None:
    context = new_context()
    for name in all_dialects():
        assert help_dialect(name, context).startswith(f"{name}: a dialect")


def test_every_operation_of_shard_says_what_it_does() -> None:
    operations = help_dialect("shard", new_context()).partition("Types:")[0]
    assert ") -> (" not in operations

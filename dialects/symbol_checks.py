"""What MLIR requires of symbols and of `func.func`, and xDSL's own verifiers do not ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

VISIBILITY = ("private", "public", "nested")


def verify_visibility(operation: Operation) -> None:
    """Verify that a symbol's visibility, if it is given, is one of MLIR's."""
    attribute = operation.properties.get("sym_visibility")
    if isinstance(attribute, StringAttr) and attribute.data not in VISIBILITY:
        raise VerifyException(
            f"visibility expected to be one of {', '.join(VISIBILITY)}, found '{attribute.data}'"
        )


def _function(operation: Operation) -> None:
    verify_visibility(operation)
    parent = operation.parent_op()
    if parent is not None and not parent.has_trait(SymbolTable):
        raise VerifyException("symbol's parent must have the SymbolTable trait")
    signature = cast(FunctionType, operation.properties["function_type"])
    for what, name, types in (
        ("argument", "arg_attrs", signature.inputs),
        ("result", "res_attrs", signature.outputs),
    ):
        entries = cast(ArrayAttr[Attribute] | None, operation.properties.get(name))
        if entries is not None and len(entries) != len(types):
            raise VerifyException(
                f"expects {what} attribute array to have the same number of elements as the "
                f"number of function {what}s, got {len(entries)}, but expected {len(types)}"
            )


SYMBOL_CHECKS: dict[str, Callable[[Operation], None]] = {"func.func": _function}
"""What to check of xDSL's operations beyond their own verifiers, by name."""

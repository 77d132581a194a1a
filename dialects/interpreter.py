"""The `interpreter` dialect of StableHLO, whose tests run several processes with it."""

from __future__ import annotations

from itertools import chain
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import attribute
from ..ir.symbols import find_visible_symbol
from .stablehlo.syntax import define


def program_rows(operation: Operation) -> list[list[str]]:
    """Return the names of the functions that `run_parallel` runs, a row for each replica.

    Raises VerifyException unless they are a table of names.
    """
    found = attribute(operation, "programs")
    rows = [function_names(each) for each in _elements(found)]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise VerifyException(
            "expected 'programs' to have a row for each replica, with a function for each"
            f" partition, got {found}"
        )
    return rows


def _elements(found: Attribute | None) -> tuple[Attribute, ...]:
    return cast("ArrayAttr[Any]", found).data if isinstance(found, ArrayAttr) else ()


def function_names(row: Attribute | None) -> list[str]:
    """Return the names in a list, which are symbols or strings.

    Raises VerifyException for others.
    """
    names = _elements(row)
    for each in names:
        if not isinstance(each, SymbolRefAttr | StringAttr):
            raise VerifyException(f"expected names of functions, got {each}")
    return [
        each.string_value() if isinstance(each, SymbolRefAttr) else cast(StringAttr, each).data
        for each in names
    ]


def _verify_run_parallel(operation: Operation) -> None:
    """Check that operands and results are those of all programs, in order."""
    inputs: list[Attribute] = []
    outputs: list[Attribute] = []
    for name in chain.from_iterable(program_rows(operation)):
        function = find_visible_symbol(operation, SymbolRefAttr(name))
        if not isinstance(function, FuncOp) or len(function.body.blocks) != 1:
            raise VerifyException(f"runs @{name}, which is not a function of one block")
        if function.is_ancestor(operation):
            raise VerifyException(f"runs @{name}, which it is in")
        inputs += function.function_type.inputs
        outputs += function.function_type.outputs
    for what, found, expected in (
        ("operands", operation.operand_types, inputs),
        ("results", operation.result_types, outputs),
    ):
        if list(found) != expected:
            raise VerifyException(
                f"expected the {what} of its programs, ({', '.join(map(str, expected))}), got"
                f" ({', '.join(map(str, found))})"
            )


Interpreter = Dialect(
    "interpreter",
    [
        define(
            "interpreter.run_parallel",
            "inputs* -> results_* | programs infeed?",
            pure=False,
            verify=_verify_run_parallel,
        ),
        define(
            "interpreter.probe",
            "operand -> result | probe_id",
            " $operand, probe_id = $probe_id attr-dict : type($operand, $result)",
            pure=False,
        ),
        define(
            "interpreter.print",
            "operand -> result",
            " $operand attr-dict : type($operand, $result)",
            pure=False,
        ),
    ],
    [],
)

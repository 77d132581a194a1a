"""Names of results in printed text: those of constants, and which results share one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation

from ..attribute_access import attribute

_GENERATED = re.compile(r"c-?[0-9]+(_(i|si|ui)[0-9]+)?|true|false|cst")


def constant_name(value: SSAValue) -> str | None:
    """Return the name that `mlir-opt` generates for a constant: `%c2`, `%c2_i64`, `%true`, `%cst`.

    A constant that has no name or a generated one gets the name of its value, also after a pass
    changes it. Returns `None` for constants with names that a person chose, such as `%zero`, and
    for other values.
    """
    if not isinstance(value, OpResult) or value.op.name != "arith.constant":
        return None
    hint = value.name_hint
    return _name_of(value.op) if hint is None or _GENERATED.fullmatch(hint) else None


def _name_of(constant: Operation) -> str:
    """Return `c2` for index, `c2_i64`, `true`, and `cst` for constants that are not integers."""
    value = attribute(constant, "value")
    if not isinstance(value, IntegerAttr):
        return "cst"
    integer = cast("IntegerAttr[IntegerType | IndexType]", value)
    number, kind = integer.value.data, integer.type
    if isinstance(kind, IndexType):
        return f"c{number}"
    if kind.width.data == 1:
        return "true" if number else "false"
    return f"c{number}_{kind}"


def result_groups(op: Operation) -> Sequence[Sequence[OpResult]]:
    """Split the results of an operation into groups that may share a name.

    Results that are defined separately have a name each; those of one variadic definition share
    one. A method `result_groups()` of the operation has precedence.
    """
    if len(op.results) < 2:
        return [op.results] if op.results else []
    own: Callable[[], Sequence[Sequence[OpResult]]] | None = getattr(op, "result_groups", None)
    if own is not None:
        return own()
    definitions = op.get_irdl_definition().results if isinstance(op, IRDLOperation) else ()
    if len(definitions) < 2:
        return [op.results]
    groups: list[Sequence[OpResult]] = []
    at = 0
    for name, _ in definitions:
        value = getattr(op, name)
        length = 0 if value is None else 1 if isinstance(value, SSAValue) else len(value)
        if length:
            groups.append(op.results[at : at + length])
        at += length
    return groups

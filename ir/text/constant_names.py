"""Value names that `mlir-opt` generates for constants: `%c2`, `%c2_i64`, `%true`, `%cst`."""

from __future__ import annotations

import re
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from ..attribute_access import attribute

_GENERATED = re.compile(r"c-?[0-9]+(_(i|si|ui)[0-9]+)?|true|false|cst")


def constant_name(value: SSAValue) -> str | None:
    """Return the generated name of a constant that has no name or a generated one.

    The name follows the value, also after a pass changes it. Returns `None` for constants with
    names that a person chose, such as `%zero`, and for other values.
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

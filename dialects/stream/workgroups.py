"""Workgroup ids, counts and sizes in kernels, for the `flow`, `stream` and `hal` dialects."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.rows import PURE, RowOperation, Rows

NUMBERS = {
    "id": "Return the index of the workgroup along a dimension.",
    "count": "Return the number of workgroups along a dimension.",
    "size": "Return the number of invocations of a workgroup along a dimension.",
}


def _verify(operation: Operation) -> None:
    dimension = cast(IntegerAttr, operation.properties["dimension"]).value.data
    if not 0 <= dimension < 3:
        raise VerifyException(
            f"dimension {dimension} out of bounds of workgroup dimensions; must be in [0, 3)"
        )


def _numbers(prefix: str, *, bounded: bool = False) -> dict[str, type[RowOperation]]:
    """Return the classes of the ops on workgroups along one dimension, by name.

    With `bounded` they have the attribute `upper_bound`.
    """
    row = Rows(prefix, {})
    bound = "( upper_bound index($upper_bound))?" if bounded else ""
    return {
        f"{prefix}.{name}": row(
            name,
            "-> result | dimension:indexattr" + (" upper_bound:indexattr?" if bounded else ""),
            f"[index($dimension)]{bound} attr-dict : type($result)",
            traits=PURE,
            verify=_verify,
            doc=doc,
        )
        for name, doc in NUMBERS.items()
    }


OF_STREAM = _numbers("stream.dispatch.workgroup")
OF_HAL = _numbers("hal.interface.workgroup", bounded=True)
"""The ops of `stream` and `hal` by name."""

ROWS = (
    *_numbers("flow.dispatch.workgroup").values(),
    *OF_STREAM.values(),
    *OF_HAL.values(),
)

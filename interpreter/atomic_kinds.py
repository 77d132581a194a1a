"""Combine an element with a value by a kind of `memref.atomic_rmw` and `affine.parallel`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from ..ir.combiners import COMBINERS
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array
from ..runtime.abi.values import dtype_of, integer_width
from .collectives import reduced
from .numbers import wrapped

_SCALAR_OPERATIONS = {"maxs": "maxsi", "maxu": "maxui", "mins": "minsi", "minu": "minui"}
_NAN_DROPPING = {"maxnumf": np.fmax, "minnumf": np.fmin}


def combined(
    op: Operation, kind: str | None, old: Array, value: Array, element: Attribute
) -> Array:
    """Return what replaces `old`. Raises OperationError for a kind that does not fit `element`."""
    if kind == "assign":
        return value
    if kind in _NAN_DROPPING:
        return _NAN_DROPPING[kind](old, value)
    combiner = COMBINERS.get(f"arith.{_SCALAR_OPERATIONS.get(kind or '', kind)}")
    width = integer_width(element)
    if combiner is None or (width is None) != (combiner.operation[-1] == "f"):
        raise OperationError(op, f"cannot combine elements of {element} by '{kind}'")
    unsigned = width is not None and combiner.operation[-2:] == "ui"
    of = IntegerType(width, Signedness.UNSIGNED) if unsigned and width is not None else element
    result = reduced([old, value], combiner.kind, of)
    return result if width is None else wrapped(result, element).astype(dtype_of(element))


def neutral(kind: str | None, element: Attribute) -> Array:
    """Return the value that a kind leaves as it is; zero for `assign`."""
    combiner = COMBINERS.get(f"arith.{_SCALAR_OPERATIONS.get(kind or '', kind)}")
    number = 0 if combiner is None else combiner.neutral(element)
    return np.asarray(number).astype(dtype_of(element))

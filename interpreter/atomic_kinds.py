"""Combine an element with a value by a kind of `memref.atomic_rmw` and `affine.parallel`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from ..ir.combiners import COMBINERS, Combiner
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
    combiner, width = _combiner(kind), integer_width(element)
    if combiner is None or (width is None) != (combiner.operation[-1] == "f"):
        raise OperationError(op, f"cannot combine elements of {element} by '{kind}'")
    if width is None:
        return reduced([old, value], combiner.kind, element)
    is_unsigned = combiner.operation.endswith("ui")
    of = IntegerType(width, Signedness.UNSIGNED) if is_unsigned else element
    result = reduced([old, value], combiner.kind, of)
    return wrapped(result, element).astype(dtype_of(element))


def _combiner(kind: str | None) -> Combiner | None:
    return COMBINERS.get(f"arith.{_SCALAR_OPERATIONS.get(kind or '', kind)}")


def neutral(kind: str | None, element: Attribute) -> Array:
    """Return the value that a kind leaves as it is; zero for `assign`."""
    combiner = _combiner(kind)
    number = 0 if combiner is None else combiner.neutral(element)
    return np.asarray(number).astype(dtype_of(element))

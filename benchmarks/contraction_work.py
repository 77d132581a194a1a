"""Count the multiplications and additions of tensor products on each device."""

from __future__ import annotations

from math import prod

from mesh_opt.dialects.linalg.structured_view import IteratorType, structured_view
from xdsl.ir import Operation


def contraction_work(module: Operation) -> int:
    """Return the sum over all products of a module with static shapes. Loops count once.

    An operation is a product if it has at least two inputs and a reduction loop.
    """
    return sum(map(_work, module.walk()))


def _work(operation: Operation) -> int:
    view = structured_view(operation)
    if view is None or len(view.inputs) < 2 or IteratorType.REDUCTION not in view.iterators:
        return 0
    return 2 * prod(size or 1 for size in view.loop_sizes())

"""Which results of an operation may share one name: `%results:2, %timepoint = ...`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation


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

"""Tensors that are joined: a process fetches of each what lies in its own part of the result.

Sizes may differ from process to process, which tosa does not provide for: its operation becomes
that of the `tensor` dialect.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.tensor import ConcatOp
from xdsl.ir import Operation, SSAValue

from ...ir.tensor_types import ranked, shape_of
from .local_types import local_type, with_shape
from .partition_by_rule import SpreadOperation, choose, run_whole, spread_by_rule
from .partition_registry import partitions
from .partitioner import Partitioner, shape
from .reductions import finish_result
from .rules.builder import integer
from .sections import Section, fetch_sections
from .shifted import Shift, shifted, shifts, windows_by_dimension


@partitions("tensor.concat")
def concat(partitioner: Partitioner, operation: Operation) -> None:
    """Join the parts of all operands that lie in this process's part of the result."""
    _join(partitioner, operation, integer(operation, "dim"))


@partitions("tosa.concat")
def tosa_concat(partitioner: Partitioner, operation: Operation) -> None:
    """The same as `tensor.concat`."""
    _join(partitioner, operation, integer(operation, "axis"))


def _join(partitioner: Partitioner, operation: Operation, joined: int | None) -> None:
    spread = choose(partitioner, operation, shifted)
    if spread is None or not spread.is_split or joined is None:
        run_whole(partitioner, operation)
        return
    found = next((shift for shift in shifts(spread) if shift.dimension == joined), None)
    if found is None:
        spread_by_rule(partitioner, operation, shifted, partial(_join_whole, dimension=joined))
        return
    local = _joined_parts(partitioner, spread, found)
    finish_result(partitioner, spread, 0, local)


def _join_whole(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue], dimension: int
) -> Operation:
    """Join local operands that have all of the joined dimension."""
    whole = ranked(spread.operation.results[0])
    assert whole is not None
    return ConcatOp(operands, dimension, local_type(whole, spread.result_shardings[0]))


def _joined_parts(partitioner: Partitioner, spread: SpreadOperation, split: Shift) -> SSAValue:
    emitter, operation, dimension = partitioner.emitter, spread.operation, split.dimension
    parts: list[SSAValue] = []
    for index, (value, sharding) in enumerate(
        zip(operation.operands, spread.operand_shardings, strict=True)
    ):
        window = windows_by_dimension(spread, index)[dimension]
        intervals = [window.read(start, end) for start, end in split.parts]
        if any(first < end for first, end in intervals):
            section = Section(dimension, split.axes, intervals)
            parts.append(fetch_sections(partitioner, value, sharding, [section]))
    whole = ranked(operation.results[0])
    assert whole is not None
    target = local_type(whole, spread.result_shardings[0])
    if len(parts) == 1:
        return emitter.cast(parts[0], target)
    sizes = [shape(part)[dimension] for part in parts]
    extents = list(shape_of(target))
    extents[dimension] = None if None in sizes else sum(size or 0 for size in sizes)
    made = emitter.help(ConcatOp(parts, dimension, with_shape(target, extents)))
    return emitter.cast(made, target)

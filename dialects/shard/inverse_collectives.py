"""Slices and gathers that undo each other."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, integer, integers, symbol
from ...ir.locations import made_by
from ...ir.regions import captured, walk
from ...sharding.collective_rows import ALL_GATHER, ALL_SLICE, COLLECTIVES, PURE_COLLECTIVES
from .boundary import boundary_of


def restored_source(operation: Operation) -> SSAValue | None:
    """Return the value that a slice of a gather, or a gather of a slice, restores.

    A gather of slices restores their source only if all devices of a group hold the same value.
    """
    is_slice = operation.name == ALL_SLICE.operation
    inverse = made_by(operation.operands[0], (ALL_GATHER if is_slice else ALL_SLICE).operation)
    if inverse is None or inverse.operands[0].type != operation.results[0].type:
        return None
    piece, gather = (operation, inverse) if is_slice else (inverse, operation)
    axes, grid = integers(piece, "grid_axes"), attribute(piece, "grid")
    if (axes, grid) != (integers(gather, "grid_axes"), attribute(gather, "grid")):
        return None
    if integer(piece, ALL_SLICE.divides, -1) != integer(gather, ALL_GATHER.joins, -1):
        return None
    source = inverse.operands[0]
    is_same = is_slice or _is_same_along(source, frozenset(axes), symbol(piece, "grid"))
    return source if is_same else None


def _is_same_along(value: SSAValue, axes: frozenset[int], grid: str) -> bool:
    """Return whether processes that differ only along `axes` are known to hold the same value.

    Function arguments may differ between processes unless their boundary tells otherwise: a gather
    of `all_slice(%argument)` mixes the arguments of all processes, while one of
    `all_slice(all_reduce(%argument))` does not.
    """
    pending = [(value, axes)]
    seen: set[tuple[SSAValue, frozenset[int]]] = set()
    while pending:
        entry = pending.pop()
        if entry in seen or not entry[1]:
            continue
        seen.add(entry)
        operation, left = entry[0].owner, entry[1]
        if isinstance(operation, Block):
            if _is_same_argument(entry[0], operation, left, grid):
                continue
            return False
        if operation.name in PURE_COLLECTIVES and symbol(operation, "grid") == grid:
            group = frozenset(integers(operation, "grid_axes"))
            if COLLECTIVES[operation.name].replicates:
                left -= group
            elif left & group:
                return False
        elif not is_side_effect_free(operation) or any(
            inner.name.startswith("shard.") for inner in walk(operation)
        ):
            return False
        pending += [(read, left) for read in (*operation.operands, *captured(operation))]
    return True


def _is_same_argument(value: SSAValue, block: Block, axes: frozenset[int], grid: str) -> bool:
    """Return whether the boundary of a function says that an argument is not split along axes."""
    function = block.parent_op()
    if not isinstance(function, FuncOp) or function.body.blocks.first is not block:
        return False
    try:
        boundary = boundary_of(function, "arg_attrs", block.args.index(value))
    except VerifyException:
        return False
    return (
        boundary is not None
        and boundary.sharding.grid.name == grid
        and boundary.sharding.used_axes.isdisjoint(axes)
    )

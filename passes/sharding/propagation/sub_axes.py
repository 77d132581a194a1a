"""Support sub-axes by moving the annotations of a program to a finer grid.

Reshaping 8 rows that are split along an axis of extent 4 into 2 x 4 splits the first of the two
dimensions along half of the axis. MLIR's `shard` dialect cannot express half an axis, but the same
devices also form a grid of 2 x 2, on which it is a whole axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Operation

from ....dialects.shard.attributes import AxesArrayAttr, axes_attribute
from ....dialects.shard.checks import AXIS_NAMES, DEVICES, grid_value
from ....dialects.shard.grids import GridOp
from ....dialects.shard.syntax import grid_reference
from ....ir.attribute_access import integers
from ....ir.symbols import find_visible_symbol
from ....sharding.axis_names import sub_axis_names
from ....sharding.factors import FactorRule
from ....sharding.grid import Grid, extents_text
from ....sharding.refinement import Refinement, needed_cuts
from ....sharding.sharding import Axes
from ..annotations.access import MANUAL_ATTRIBUTE, REPLICATED_AXES_ATTRIBUTE, SHARD
from .graph import ShardingGraph


def refinement_for(graph: ShardingGraph, grid: Grid) -> Refinement | None:
    """Return the finer grid that the reshapes of a graph need; `None` if there is none."""
    rules = {id(node.rule): node.rule for node in graph.operations}
    refinement = Refinement.cut(grid, needed_cuts(grid, rules.values()))
    return None if refinement.is_trivial else refinement


def refine_nodes(graph: ShardingGraph, refinement: Refinement) -> None:
    """Convert the axes of all tensors on the coarse grid to axes of the finer grid."""
    for index, tensor in enumerate(graph.tensors):
        if graph.grids[index] == refinement.coarse:
            tensor.axes = refinement.refine_all(tensor.axes)
            tensor.replicated = refinement.refine(tensor.replicated)
    _renumber_reserved(graph, refinement.refine)


def coarsen_nodes(graph: ShardingGraph, refinement: Refinement) -> bool:
    """Convert the axes of all tensors back to the coarse grid; return whether that is possible.

    If it is not, the table is not changed.
    """
    nodes = [index for index, grid in enumerate(graph.grids) if grid == refinement.coarse]
    coarse = {index: refinement.coarsen_all(graph.tensors[index].axes) for index in nodes}
    if None in coarse.values():
        return False
    for index, axes in coarse.items():
        tensor = graph.tensors[index]
        tensor.axes = axes or ()
        tensor.replicated = refinement.coarsen(tensor.replicated) or ()
        tensor.origins = [
            replace(origin, before=before, after=after)
            for origin in tensor.origins
            # Axes that were propagated in parts are not explained.
            if (before := refinement.coarsen_all(origin.before)) is not None
            and (after := refinement.coarsen_all(origin.after)) is not None
        ]
    _renumber_reserved(graph, lambda axes: refinement.coarsen(axes) or ())
    return True


def _renumber_reserved(graph: ShardingGraph, renumber: Callable[[Axes], Axes]) -> None:
    """Renumber the axes that rules reserve; a rule stays one object for all its operations."""
    renewed: dict[FactorRule, FactorRule] = {}

    def renew(rule: FactorRule) -> FactorRule:
        if not rule.reserved:
            return rule
        if rule not in renewed:
            axes = renumber(tuple(sorted(rule.reserved)))
            renewed[rule] = replace(rule, reserved=frozenset(axes))
        return renewed[rule]

    graph.operations = [replace(node, rule=renew(node.rule)) for node in graph.operations]
    for entry in graph.entries:
        entry.rule = None if entry.rule is None else renew(entry.rule)


def annotate_on_finer_grid(graph: ShardingGraph, refinement: Refinement) -> None:
    """Define the finer grid beside the coarse one, and move the functions' annotations to it."""
    fine: str | None = None
    moved: set[Operation] = set()
    for function in graph.functions:
        for operation in function.walk():
            for name in (REPLICATED_AXES_ATTRIBUTE, MANUAL_ATTRIBUTE):
                listed = operation.attributes.get(name)
                if isinstance(listed, DenseArrayBase):
                    axes = refinement.refine(integers(operation, name))
                    operation.attributes[name] = DenseArrayBase.from_list(i64, axes)
            if operation.name != SHARD:
                continue
            sharding = operation.operands[1].owner
            if not isinstance(sharding, Operation) or sharding in moved:
                continue
            if sharding.properties.get("grid") != grid_reference(refinement.coarse.name):
                continue
            if fine is None:
                fine = define_finer_grid(sharding, refinement.coarse.name, refinement.fine)
            moved.add(sharding)
            _move(sharding, fine, refinement)


def define_finer_grid(user: Operation, coarse_name: str, fine: Grid) -> str:
    """Define a finer grid of the same processes beside `coarse_name`, and return its name.

    An equal grid that was defined earlier is reused. `user` is an operation that sees the coarse
    grid. Raises ValueError if the coarse grid is not found.
    """
    coarse = find_visible_symbol(user, grid_reference(coarse_name))
    block = None if coarse is None else coarse.parent
    if coarse is None or block is None:
        raise ValueError(f"there is no grid @{coarse_name} beside which to define a finer one")
    taken = {
        name.data: operation
        for operation in block.ops
        if isinstance(name := operation.properties.get("sym_name"), StringAttr)
    }
    grid = GridOp("x", fine.shape)
    if DEVICES in coarse.attributes:
        # Both grids have the same processes in the same order.
        grid.attributes[DEVICES] = coarse.attributes[DEVICES]
    names = coarse.attributes.get(AXIS_NAMES)
    listed = cast("ArrayAttr[Attribute]", names).data if isinstance(names, ArrayAttr) else ()
    called = [each.data for each in listed if isinstance(each, StringAttr)]
    if called:
        parts = sub_axis_names(called, grid_value(coarse).shape, fine.shape)
        grid.attributes[AXIS_NAMES] = ArrayAttr([StringAttr(each) for each in parts])
    name = f"{coarse_name}_{extents_text(fine.shape)}"
    while name in taken:
        other = taken[name]
        if (
            other.name == grid.name
            and other.properties["shape"] == grid.properties["shape"]
            and other.attributes.get(DEVICES) == grid.attributes.get(DEVICES)
        ):
            return name
        name += "_"
    grid.properties["sym_name"] = StringAttr(name)
    grid.location = coarse.location
    block.insert_op_after(grid, coarse)
    return name


def _move(sharding: Operation, fine: str, refinement: Refinement) -> None:
    sharding.properties["grid"] = grid_reference(fine)
    lists = sharding.properties["split_axes"]
    assert isinstance(lists, AxesArrayAttr)
    sharding.properties["split_axes"] = AxesArrayAttr.from_lists(
        refinement.refine_all(lists.lists())
    )
    partial = sharding.properties.get("partial_axes")
    if isinstance(partial, DenseArrayBase):
        axes = tuple(int(axis) for axis in partial.get_values())
        sharding.properties["partial_axes"] = axes_attribute(refinement.refine(axes))

"""Questions about `flow.dispatch.region` and the tensors that regions pass to each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ....dialects.flow.dispatches import DispatchRegionOp
from ....dialects.iree_encoding.interfaces import Tensor
from ....ir.attribute_access import integer_lists
from ....ir.host_programs import DISPATCH_REGION
from ....ir.index import BuilderIndices, IndexList
from ....ir.index_lists import mixed_list
from ....ir.locations import builder_before
from ....ir.regions import detach_regions, enclosing
from ....ir.syntax.resource_directives import sizes_by_type

RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})

ATTENTION = "iree_linalg_ext.attention"

COMPILATION_INFO = "compilation_info"
"""An attribute of operations for which the program already says how they are compiled."""


def dispatch_region_of(operation: Operation) -> Operation | None:
    """Return the `flow.dispatch.region` around an operation; `None` if there is none."""
    around = enclosing(operation.parent_op())
    return next((scope for scope in around if scope.name == DISPATCH_REGION), None)


def is_compilation_chosen(operation: Operation) -> bool:
    """Return whether the program says how to compile an operation, or its workgroup count."""
    region = dispatch_region_of(operation)
    is_counted = region is not None and len(region.regions) > 1 and bool(region.regions[1].blocks)
    return COMPILATION_INFO in operation.attributes or is_counted


def result_dims_of(value: OpResult) -> tuple[SSAValue, ...]:
    """Return the sizes of the dynamic dimensions of a region's result."""
    region = cast(DispatchRegionOp, value.op)
    return sizes_by_type(region.result_types, region.result_dims)[value.index]


def is_before(value: SSAValue, region: Operation) -> bool:
    """Return whether a value is available in front of an operation."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    if block is not region.parent:
        return isinstance(block, Block) and block.is_ancestor(region)
    return isinstance(owner, Block) or owner.is_before_in_block(region)


def reshaped_dims(value: OpResult, reshapes: Sequence[Operation]) -> tuple[SSAValue, ...] | None:
    """Return the sizes of a region's result after reshapes: those of its dynamic dimensions.

    They are computed in front of the region. Return `None` if they are not known there.
    """
    shape = cast(Tensor, value.type).get_shape()
    sizes: IndexList = mixed_list(shape, result_dims_of(value))
    if not all(
        is_before(size, value.op)
        for reshape in reshapes
        if reshape.name == "tensor.expand_shape"
        for size in reshape.operands[1:]
    ):
        return None
    indices = BuilderIndices(builder_before(value.op))
    for reshape in reshapes:
        shape = cast(Tensor, reshape.results[0].type).get_shape()
        if reshape.name == "tensor.expand_shape":
            sizes = mixed_list(shape, reshape.operands[1:])
            continue
        groups = integer_lists(reshape, "reassociation")
        sizes = [
            reduce(indices.multiply, (sizes[index] for index in group), 1)
            if size == DYNAMIC_INDEX
            else size
            for group, size in zip(groups, shape, strict=True)
        ]
    return tuple(size for size in sizes if isinstance(size, SSAValue))


def reshape_inside(value: OpResult, reshapes: Sequence[Operation]) -> tuple[Builder, SSAValue]:
    """Repeat reshapes of a region's result at the end of the region; return a builder after them.

    Also return the reshaped tensor.
    """
    returned = cast(Operation, value.op.regions[0].block.last_op)
    inside = builder_before(returned)
    inner = returned.operands[value.index]
    for reshape in reshapes:
        inner = inside.insert(reshape.clone({reshape.operands[0]: inner})).results[0]
    return inside, inner


def region_with_result(
    region: DispatchRegionOp, index: int, value: SSAValue, dims: Sequence[SSAValue]
) -> DispatchRegionOp:
    """Insert a region that takes over another one's operations, with a result replaced or appended.

    `value` is what it returns at `index`, and `dims` are the sizes of that result. The caller
    replaces the old region by the new one.
    """
    returned = cast(Operation, region.body.block.last_op)
    types = [result.type for result in region.results]
    values = list(returned.operands)
    listed = sizes_by_type(types, region.result_dims)
    types[index : index + 1] = [value.type]
    values[index : index + 1] = [value]
    listed[index : index + 1] = [tuple(dims)]
    returned.operands = values
    rebuilt = DispatchRegionOp.build(
        operands=[[size for sizes in listed for size in sizes], list(region.workload)],
        result_types=[types],
        regions=detach_regions(region),
        attributes=dict(region.attributes),
    )
    return builder_before(region).insert(rebuilt)

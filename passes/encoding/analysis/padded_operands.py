"""Pad the rows of tensors that one dispatch computes and a contraction in another one reads."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects.flow.dispatches import DispatchRegionOp
from ....dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ....dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ....dialects.iree_encoding.layouts import PaddingAttr
from ....dialects.linalg.structured_view import IteratorType
from ....ir.host_programs import DISPATCH_REGION
from ....ir.locations import builder_before
from ....ir.regions import enclosing
from ....ir.syntax.resource_directives import dynamic_dimensions
from ....ir.tensor_types import ranked
from .contraction_matching import TiledContraction

COMPILATION_INFO = "compilation_info"
"""An attribute of operations for which the program already says how they are compiled."""

FEWEST_POINTS = 64
"""A result with fewer elements than this does not pay for padding."""


def pad_operands(contraction: TiledContraction) -> None:
    """Pad factors that other dispatch regions compute (`padding<[0, ..., ?]>`), if that may pay.

    The producing region encodes the tensor last, and each reading region decodes it first.
    """
    view = contraction.view
    if dispatch_region_of(view.operation) is None:
        return
    loops = tuple(zip(view.iterators, contraction.sizes, strict=True))
    summed = [size for kind, size in loops if kind is IteratorType.REDUCTION]
    points = [size for kind, size in loops if kind is not IteratorType.REDUCTION]
    if None in summed:
        return
    known = [size for size in points if size is not None]
    if len(known) == len(points) and prod(known) < FEWEST_POINTS:
        return
    for value in dict.fromkeys(view.inputs):
        if _is_passed_between_regions(value):
            _pad(cast(OpResult, value))


def dispatch_region_of(operation: Operation) -> Operation | None:
    """Return the `flow.dispatch.region` around an operation; `None` if there is none."""
    around = enclosing(operation.parent_op())
    return next((scope for scope in around if scope.name == DISPATCH_REGION), None)


def is_compilation_chosen(operation: Operation) -> bool:
    """Return whether the program says how to compile an operation, or its workgroup count."""
    region = dispatch_region_of(operation)
    is_counted = region is not None and len(region.regions) > 1 and bool(region.regions[1].blocks)
    return COMPILATION_INFO in operation.attributes or is_counted


def _is_passed_between_regions(value: SSAValue) -> bool:
    """Return whether a dispatch region computes a tensor and only other regions read it."""
    tensor = ranked(value)
    return (
        isinstance(value, OpResult)
        and value.op.name == DISPATCH_REGION
        and tensor is not None
        and bool(tensor.get_shape())
        and tensor_encoding(tensor) is None
        and len(value.op.regions[0].blocks) == 1
        and all(dispatch_region_of(use.operation) is not None for use in value.uses)
    )


def result_dims_of(value: OpResult) -> tuple[SSAValue, ...]:
    """Return the sizes of the dynamic dimensions of a region's result."""
    region = cast(DispatchRegionOp, value.op)
    counts = [dynamic_dimensions(result.type) for result in region.results_]
    start = sum(counts[: value.index])
    return tuple(region.result_dims)[start : start + counts[value.index]]


def _pad(value: OpResult) -> None:
    tensor = cast(Tensor, value.type)
    dims = result_dims_of(value)
    free = [0] * (tensor.get_num_dims() - 1) + [DYNAMIC_INDEX]
    encoding = PaddingAttr.new([ArrayAttr(IntegerAttr(size, i64) for size in free)])
    padded = with_encoding(tensor, encoding)
    readers = dict.fromkeys(use.operation for use in value.uses)
    returned = cast(Operation, value.op.regions[0].block.last_op)
    builder = builder_before(returned)
    encode = SetEncodingOp.build(
        operands=[returned.operands[value.index], ()], result_types=[padded]
    )
    returned.operands[value.index] = builder.insert(encode).result
    result = Rewriter.replace_value_with_new_type(value, padded)
    for reader in readers:
        decode = UnsetEncodingOp.build(operands=[result, dims, ()], result_types=[tensor])
        plain = builder_before(reader).insert(decode).result
        for index, operand in enumerate(reader.operands):
            if operand is result:
                reader.operands[index] = plain

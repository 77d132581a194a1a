"""Hoist encodings out of dispatch regions, so that they can join the kernels that make the tensors.

    flow.dispatch.region { %1 = set_encoding %a; %2 = linalg.matmul ins(%1, ...) }

becomes a `set_encoding` in front of the region. Inside the region, `set_encoding` first moves up
through operations that widen, scale or broadcast one tensor, and `unset_encoding` moves down
through elementwise operations. Tensors of another shape get encodings with the map by which they
are read. An encoding that is only returned from the region stays. So does padding, which is no
layout of its own: the kernel that makes the tensor leaves room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
)
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.attributes import EncodingAttr
from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ...dialects.iree_encoding.layouts import PaddingAttr
from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.host_programs import DISPATCH_REGION, host_operations
from ...ir.locations import builder_before, made_by, rebuilt
from ...ir.tensor_types import element_of, ranked
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.contraction_matching import WIDENING
from .propagate_encodings import SET, TRAPPING, UNSET, elementwise_view, on_encoded, only_read_by

CONSTANTS = frozenset({"arith.constant", "flow.tensor.constant"})
COPIED = CONSTANTS | {"tensor.extract_slice"}
"""Producers that move out of a region together with the encoding of their result."""


@dataclass(frozen=True)
class HoistEncodingOpsPass(ModulePass):
    """Move encodings out of `flow.dispatch.region`."""

    name = "iree-dispatch-creation-hoist-encoding-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = DimensionSizes()
        for region in tuple(o for o in host_operations(op) if o.name == DISPATCH_REGION):
            for block in region.regions[0].blocks:
                for operation in tuple(block.ops):
                    if operation.parent is block:
                        sink_decoding(operation, sizes)
                for operation in reversed(tuple(block.ops)):
                    if operation.name == SET:
                        rise(cast(SetEncodingOp, operation), sizes)
                for operation in tuple(block.ops):
                    if operation.name == SET:
                        _leave(cast(SetEncodingOp, operation), region)


def _elementwise(operation: Operation) -> StructuredView | None:
    """Return the view of an operation that reads one element per input for each result element."""
    view = elementwise_view(operation)
    if view is None or operation.results[0].type.name != "tensor":
        return None
    if _inverse(view.output_maps[0]) is None:
        return None
    dimensions = (result for map_ in view.input_maps for result in map_.results)
    return view if all(isinstance(result, AffineDimExpr) for result in dimensions) else None


def _inverse(map_: AffineMap) -> AffineMap | None:
    """Return the inverse of a permutation; `None` if the map is no permutation."""
    return map_.inverse_permutation() if map_.is_projected_permutation() else None


def _read_by(encoding: EncodingAttr, view: StructuredView, map_: AffineMap) -> EncodingAttr | None:
    """Return the encoding for an input read by `map_` if the operation's result has `encoding`.

    The operand's entry in the indexing maps gets one more map: from the encoded tensor to the
    input.
    """
    inverse = _inverse(view.output_maps[0])
    return None if inverse is None else _with_maps(encoding, (map_.compose(inverse),))


def _with_maps(encoding: EncodingAttr, added: Sequence[AffineMap]) -> EncodingAttr | None:
    """The encoding of what is read by some maps, one after the other, of an encoded tensor."""
    maps = encoding.user_indexing_maps
    if isinstance(maps, NoneAttr) or encoding.spelling == "2024":
        return None
    index = encoding.operand_index.value.data
    slots = list(maps)
    before = slots[index]
    parts = (
        cast("ArrayAttr[Attribute]", before).data if isinstance(before, ArrayAttr) else (before,)
    )
    slots[index] = ArrayAttr[Attribute]((*parts, *map(AffineMapAttr, added)))
    fields = list(encoding.parameters)
    fields[encoding.parameters.index(maps)] = ArrayAttr(slots)
    return EncodingAttr.new(fields)


def _encode(
    value: SSAValue, encoding: EncodingAttr, dims: Sequence[SSAValue], before: Operation
) -> SSAValue:
    type_ = with_encoding(cast(Tensor, value.type), encoding)
    encode = SetEncodingOp.build(operands=[value, list(dims)], result_types=[type_])
    return builder_before(before).insert(encode).result


def sink_decoding(operation: Operation, sizes: DimensionSizes) -> None:
    """Rewrite `f(unset(x), y)` to `unset(f(x, set(y)))`, with `y` encoded as `f` reads it.

    An `unset(x)` with other readers stays, so that nothing is decoded twice. The last of several
    decoded operands determines the encoding.
    """
    view = _parallel(operation)
    found = None if view is None else _decoded(view, operation)
    if view is None or found is None:
        return
    decode, whole = found
    reads = _reads(decode, whole, view)
    if None in reads:
        return
    operands: list[SSAValue] = []
    for value, map_, read in zip((*view.inputs, *view.outputs), view.maps, reads, strict=True):
        if value is decode.result and map_ == whole:
            operands.append(decode.source)
        elif read is None or ranked(value) is None:
            operands.append(value)
        elif made_by(value, "tensor.empty") is not None:
            tensor = with_encoding(cast(Tensor, value.type), read)
            empty = EmptyOp(sizes.dynamic_sizes(value), tensor)
            operands.append(builder_before(operation).insert(empty).results[0])
        else:
            operands.append(_encode(value, read, decode.encoding_dims, operation))
    types = [each.type for each in operands[len(view.inputs) :]]
    made = builder_before(operation).insert(rebuilt(operation, operands, types))
    extents = _extents(decode, whole)
    results: list[SSAValue] = []
    for old, new, map_ in zip(operation.results, made.results, view.output_maps, strict=True):
        dims = [extents[loop] for loop in map_.results if loop in extents]
        unset = UnsetEncodingOp.build(
            operands=[new, dims, list(decode.encoding_dims)], result_types=[old.type]
        )
        results.append(builder_before(operation).insert(unset).results[0])
    Rewriter.replace_op(operation, [], results)
    for one in dict.fromkeys([decode, *(value.owner for value in view.outputs)]):
        if isinstance(one, Operation) and one.name in (UNSET, "tensor.empty") and _is_unused(one):
            Rewriter.erase_op(one)


def _parallel(operation: Operation) -> StructuredView | None:
    """The view of an operation each of whose loops computes elements of its own.

    What padding holds does no harm: the operation traps on no number.
    """
    view = structured_view(operation)
    if view is None or not all(isinstance(value.type, TensorType) for value in view.outputs):
        return None
    if any(iterator is not IteratorType.PARALLEL for iterator in view.iterators):
        return None
    if any(inner.name in TRAPPING for inner in view.body.ops):
        return None
    dimensions = (result for map_ in view.maps for result in map_.results)
    return view if all(isinstance(result, AffineDimExpr) for result in dimensions) else None


def _decoded(
    view: StructuredView, operation: Operation
) -> tuple[UnsetEncodingOp, AffineMap] | None:
    """The last decode of what an operation reads whole, and nobody else reads; and by which map."""
    for value, map_ in reversed(tuple(zip(view.inputs, view.input_maps, strict=True))):
        decode = made_by(value, UNSET)
        if decode is None or not only_read_by(decode, operation) or _inverse(map_) is None:
            continue
        if isinstance(tensor_encoding(decode.operands[0].type), EncodingAttr):
            return cast(UnsetEncodingOp, decode), map_
    return None


def _reads(
    decode: UnsetEncodingOp, whole: AffineMap, view: StructuredView
) -> list[EncodingAttr | None]:
    """The encodings of the operands of an operation that works on what a decode decodes.

    They are told by the way from that tensor to the loops, and from there to the operand.
    """
    encoding = cast(EncodingAttr, tensor_encoding(decode.source.type))
    inverse = cast(AffineMap, _inverse(whole))
    ways = ([way for way in (inverse, map_) if not _is_identity(way)] for map_ in view.maps)
    return [_with_maps(encoding, way) if way else encoding for way in ways]


def _is_identity(map_: AffineMap) -> bool:
    return map_ == AffineMap.identity(map_.num_dims)


def _extents(decode: UnsetEncodingOp, whole: AffineMap) -> dict[AffineExpr, SSAValue]:
    """The sizes of the loops along dynamic dimensions of what is decoded."""
    shape = decode.result.type.get_shape()
    open_loops = (
        loop for loop, size in zip(whole.results, shape, strict=True) if size == DYNAMIC_INDEX
    )
    return dict(zip(open_loops, decode.result_dims, strict=False))


def rise(operation: SetEncodingOp, sizes: DimensionSizes) -> None:
    """Rewrite `set(f(x, y))` to `f(set(x), set(y))` if `f` widens, scales or broadcasts `x`."""
    encoding = tensor_encoding(operation.result.type)
    if not isinstance(operation.source, OpResult) or not isinstance(encoding, EncodingAttr):
        return
    source = operation.source.op
    view = _elementwise(source) if source.parent is operation.parent else None
    if view is None or len(tuple(operation.source.uses)) != 1:
        return
    if not _only_widens(view) and not _scales(view):
        return
    reads = [_read_by(encoding, view, map_) for map_ in view.input_maps]
    encodes = [
        _encode(value, read, operation.encoding_dims, operation)
        for value, read in zip(view.inputs, reads, strict=True)
        if read is not None
    ]
    if len(encodes) < len(reads):
        return
    result = on_encoded(source, view, encodes, encoding, operation, sizes)
    operation.result.replace_all_uses_with(result)
    empty = cast(Operation, view.outputs[0].owner)
    is_last = len(tuple(empty.results[0].uses)) == 1
    for one in (operation, source, *([empty] if is_last else [])):
        Rewriter.erase_op(one)
    for encode in encodes:
        rise(cast(SetEncodingOp, encode.owner), sizes)


def _only_widens(view: StructuredView) -> bool:
    """Return whether an operation widens or broadcasts one tensor, and does nothing else."""
    computed = [inner.name for inner in view.body.ops if inner is not view.body.last_op]
    return (
        len(view.inputs) == 1
        and ranked(view.inputs[0]) is not None
        and all(name in WIDENING for name in computed)
    )


def _scales(view: StructuredView) -> bool:
    """Return whether an operation computes wide elements from one narrow tensor and others.

    The other tensors have lower rank: they are scales, zero points and the like.
    """
    tensors = [ranked(value) for value in view.inputs]
    result = ranked(view.outputs[0])
    whole = view.output_maps[0]
    read = [tensor for tensor, map_ in zip(tensors, view.input_maps, strict=True) if map_ == whole]
    if result is None or None in tensors or len(read) != 1 or read[0] is None:
        return False
    others = (map_ for map_ in view.input_maps if map_ != whole)
    if not all(len(map_.results) < len(whole.results) for map_ in others):
        return False
    return element_of(read[0]).bits < element_of(result).bits


def _leave(operation: SetEncodingOp, region: Operation) -> None:
    """Move an encoding in front of its region if its operands are available there."""
    tensor = ranked(operation.result)
    if tensor is None or isinstance(tensor.encoding, PaddingAttr) or not tensor.get_shape():
        return
    if all(use.operation.name == "flow.return" for use in operation.result.uses):
        return
    copied = made_by(operation.source, *COPIED)
    needed = list(operation.operands)
    if copied is not None and region.is_ancestor(copied):
        needed = [*copied.operands, *operation.encoding_dims]
    constants = [value.owner for value in needed if _is_constant(value)]
    values = [value for value in needed if not _is_constant(value)]
    if any(region.is_ancestor(value.owner) for value in values):
        return
    builder = builder_before(region)
    mapped: dict[SSAValue, SSAValue] = {}
    for one in dict.fromkeys([*constants, *([copied] if copied is not None else [])]):
        if isinstance(one, Operation) and region.is_ancestor(one):
            clone = builder.insert(one.clone(value_mapper=dict(mapped)))
            mapped.update(zip(one.results, clone.results, strict=True))
    encode = builder.insert(operation.clone(value_mapper=dict(mapped)))
    operation.result.replace_all_uses_with(encode.results[0])
    Rewriter.erase_op(operation)
    for one in (copied, *constants):
        if isinstance(one, Operation) and one.parent is not None and _is_unused(one):
            Rewriter.erase_op(one)


def _is_constant(value: SSAValue) -> bool:
    return made_by(value, *CONSTANTS) is not None


def _is_unused(operation: Operation) -> bool:
    return not any(result.first_use for result in operation.results)

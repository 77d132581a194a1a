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
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.attributes import EncodingAttr
from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ...dialects.iree_encoding.layouts import PaddingAttr
from ...dialects.linalg.structured_view import StructuredView
from ...ir.host_programs import DISPATCH_REGION, host_operations
from ...ir.locations import builder_before, made_by, replace_by
from ...ir.tensor_types import element_of, ranked
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.contraction_matching import WIDENING
from .propagate_encodings import SET, UNSET, elementwise_view, on_encoded, only_read_by

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
    maps = encoding.user_indexing_maps
    if inverse is None or isinstance(maps, NoneAttr) or encoding.spelling == "2024":
        return None
    index = encoding.operand_index.value.data
    slots = list(maps)
    before = slots[index]
    parts = (
        cast("ArrayAttr[Attribute]", before).data if isinstance(before, ArrayAttr) else (before,)
    )
    slots[index] = ArrayAttr[Attribute]((*parts, AffineMapAttr(map_.compose(inverse))))
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

    An `unset(x)` with other readers stays, so that nothing is decoded twice.
    """
    view = _elementwise(operation)
    if view is None:
        return
    pairs = tuple(zip(view.inputs, view.input_maps, strict=True))
    decodes = [
        cast(UnsetEncodingOp, decode)
        for value, map_ in pairs
        if (decode := made_by(value, UNSET)) is not None
        and map_ == view.output_maps[0]
        and only_read_by(decode, operation)
    ]
    encodings = {tensor_encoding(decode.source.type) for decode in decodes}
    encoding = next(iter(encodings), None)
    if len(encodings) != 1 or not isinstance(encoding, EncodingAttr):
        return
    decode = decodes[0]
    reads = [
        _read_by(encoding, view, map_)
        if isinstance(value.type, TensorType) and made_by(value, UNSET) not in decodes
        else encoding
        for value, map_ in pairs
    ]
    if None in reads:
        return
    inputs: list[SSAValue] = []
    for value, read in zip(view.inputs, reads, strict=True):
        undone = made_by(value, UNSET)
        if undone in decodes:
            inputs.append(cast(UnsetEncodingOp, undone).source)
        elif isinstance(value.type, TensorType) and read is not None:
            inputs.append(_encode(value, read, decode.encoding_dims, operation))
        else:
            inputs.append(value)
    result = on_encoded(operation, view, inputs, encoding, operation, sizes)
    empty = view.outputs[0].owner
    unset = UnsetEncodingOp.build(
        operands=[result, list(decode.result_dims), list(decode.encoding_dims)],
        result_types=operation.result_types,
    )
    replace_by(operation, unset)
    for one in dict.fromkeys([*decodes, empty]):
        if isinstance(one, Operation) and _is_unused(one):
            Rewriter.erase_op(one)


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

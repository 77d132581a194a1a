"""Move encodings up to the inputs of operations, and decodings down to their results.

A tensor of another shape gets the encoding with the map by which it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, NoneAttr, TensorType
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.arith.divisions import INTEGER_DIVISIONS
from ...dialects.iree_encoding.attributes import EncodingAttr
from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ...dialects.iree_encoding.layouts import PaddingAttr
from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.locations import builder_before, erase_if_unused, located_builder, made_by, rebuilt
from ...ir.tensor_types import element_of, ranked
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.contraction_matching import WIDENING

SET, UNSET = "iree_encoding.set_encoding", "iree_encoding.unset_encoding"

# Operations that may run on encoded tensors, padding included, and their encoded forms -----------


def parallel_view(operation: Operation) -> StructuredView | None:
    """Return the view of an operation that may run on padding, with parallel loops only."""
    view = structured_view(operation)
    if view is None or any(kind is not IteratorType.PARALLEL for kind in view.iterators):
        return None
    return None if any(inner.name in INTEGER_DIVISIONS for inner in view.body.ops) else view


def elementwise_view(operation: Operation) -> StructuredView | None:
    """Return the view of an elementwise operation that may run on padding, or `None`.

    It has one result, does not read the output's contents, and does not use `linalg.index`.
    """
    view = parallel_view(operation)
    if view is None or len(operation.results) != 1 or view.body.args[-1].uses:
        return None
    if any(inner.name == "linalg.index" for inner in view.body.ops):
        return None
    return view if made_by(view.outputs[0], "tensor.empty") is not None else None


def only_read_by(unset: Operation, operation: Operation) -> bool:
    """Return whether an operation is the only reader of a decoded tensor."""
    return all(use.operation is operation for use in unset.results[0].uses)


def only_widens(view: StructuredView) -> bool:
    """Return whether an operation widens or broadcasts one tensor, and does nothing else."""
    computed = [inner.name for inner in view.body.ops if inner is not view.body.last_op]
    narrow = ranked(view.inputs[0]) if len(view.inputs) == 1 else None
    wide = ranked(view.outputs[0])
    if narrow is None or wide is None or any(name not in WIDENING for name in computed):
        return False
    if computed:
        return element_of(narrow).bits < element_of(wide).bits
    result_map = view.output_maps[0]
    is_in_order = result_map == AffineMap.identity(result_map.num_dims)
    return is_in_order and len(narrow.get_shape()) < len(wide.get_shape())


def on_encoded(
    operation: Operation,
    view: StructuredView,
    inputs: Sequence[SSAValue],
    encoding: Attribute | None,
    before: Operation,
    sizes: DimensionSizes,
) -> SSAValue:
    """Emit an operation on encoded inputs in front of `before`, and return its encoded result."""
    type_ = with_encoding(cast(Tensor, operation.results[0].type), encoding)
    builder = located_builder(InsertPoint.before(before), operation)
    empty = builder.insert(EmptyOp(sizes.dynamic_sizes(view.outputs[0]), type_)).tensor
    return builder.insert(rebuilt(operation, [*inputs, empty], [type_])).results[0]


# Propagation -------------------------------------------------------------------------------------


def propagate_encodings(
    operations: Callable[[], Iterable[Operation]],
    sizes: DimensionSizes,
    sinks: Callable[[Operation], bool] = lambda _: True,
    hoists: Callable[[StructuredView], bool] = lambda view: only_widens(view) or _scales(view),
) -> None:
    """Move decodings down through operations, and then encodings up.

    `sinks` and `hoists` tell which operations decodings and encodings move through.
    """
    for operation in tuple(operations()):
        if operation.parent is not None and sinks(operation):
            _sink_unset_encoding(operation, sizes)
    for operation in reversed(tuple(operations())):
        if isinstance(operation, SetEncodingOp) and operation.parent is not None:
            _hoist_set_encoding(operation, sizes, hoists)


def _inverse(map_: AffineMap) -> AffineMap | None:
    """Return the inverse of a permutation; `None` if the map is not a permutation."""
    return map_.inverse_permutation() if map_.is_projected_permutation() else None


def _with_maps(encoding: Attribute, added: Sequence[AffineMap]) -> Attribute | None:
    """Return the encoding of what is read by some maps, one after the other, of an encoded tensor.

    The operand's entry in the indexing maps gets these maps. An encoding that does not take maps
    holds for what is read in the same order; return `None` for other orders.
    """
    if not isinstance(encoding, EncodingAttr) or encoding.spelling == "2024":
        return encoding if all(map(_is_identity, added)) else None
    maps = encoding.user_indexing_maps
    if isinstance(maps, NoneAttr):
        return encoding if all(map(_is_identity, added)) else None
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


def _is_identity(map_: AffineMap) -> bool:
    return map_ == AffineMap.identity(map_.num_dims)


def _set_encoding(
    value: SSAValue, encoding: Attribute, dims: Sequence[SSAValue], before: Operation
) -> SSAValue:
    type_ = with_encoding(cast(Tensor, value.type), encoding)
    encode = SetEncodingOp.build(operands=[value, list(dims)], result_types=[type_])
    return builder_before(before).insert(encode).result


def _sink_unset_encoding(operation: Operation, sizes: DimensionSizes) -> None:
    """Rewrite `f(unset(x), y)` to `unset(f(x, set(y)))`, with `y` encoded as `f` reads it.

    An `unset(x)` with other readers stays, so that nothing is decoded twice. The last of several
    decoded operands determines the encoding.
    """
    view = _indexed_view(operation)
    last_unset = None if view is None else _last_unset(view, operation)
    if view is None or last_unset is None:
        return
    unset, unset_map = last_unset
    encodings = _operand_encodings(unset, unset_map, view)
    if encodings is None:
        return
    operands: list[SSAValue] = []
    tensors = zip((*view.inputs, *view.outputs), view.maps, encodings, strict=True)
    for value, map_, encoding in tensors:
        if value is unset.result and map_ == unset_map:
            operands.append(unset.source)
        elif ranked(value) is None:
            operands.append(value)
        elif made_by(value, "tensor.empty") is not None:
            tensor = with_encoding(cast(Tensor, value.type), encoding)
            empty = EmptyOp(sizes.dynamic_sizes(value), tensor)
            operands.append(builder_before(operation).insert(empty).results[0])
        else:
            operands.append(_set_encoding(value, encoding, unset.encoding_dims, operation))
    types = [output.type for output in operands[len(view.inputs) :]]
    encoded = builder_before(operation).insert(rebuilt(operation, operands, types))
    loop_sizes = _dynamic_loop_sizes(unset, unset_map)
    results: list[SSAValue] = []
    outputs = zip(view.outputs, operation.results, encoded.results, view.output_maps, strict=True)
    for output, old, new, map_ in outputs:
        dims = [
            loop_sizes.get(loop) or sizes.value(output, index)
            for index, loop in enumerate(map_.results)
            if cast(Tensor, old.type).get_shape()[index] == DYNAMIC_INDEX
        ]
        decode = UnsetEncodingOp.build(
            operands=[new, dims, list(unset.encoding_dims)], result_types=[old.type]
        )
        results.append(builder_before(operation).insert(decode).results[0])
    Rewriter.replace_op(operation, [], results)
    empties = (made_by(value, UNSET, "tensor.empty") for value in view.outputs)
    erase_if_unused(*dict.fromkeys([unset, *(empty for empty in empties if empty is not None)]))


def _indexed_view(operation: Operation) -> StructuredView | None:
    """Return the view of a parallel operation whose tensors are indexed by single loops only."""
    view = parallel_view(operation)
    if view is None or not all(isinstance(value.type, TensorType) for value in view.outputs):
        return None
    return view if all(map(_has_single_loops, view.maps)) else None


def _has_single_loops(map_: AffineMap) -> bool:
    return all(isinstance(result, AffineDimExpr) for result in map_.results)


def _last_unset(
    view: StructuredView, operation: Operation
) -> tuple[UnsetEncodingOp, AffineMap] | None:
    """Return the last decode of an input that only this operation reads, and reads whole.

    The map by which the input is read is returned with it. An input that is read by two maps would
    have to be decoded and encoded again for one of them.
    """
    for value, map_ in reversed(tuple(zip(view.inputs, view.input_maps, strict=True))):
        unset = made_by(value, UNSET)
        if unset is None or not only_read_by(unset, operation) or _inverse(map_) is None:
            continue
        maps = {
            other for read, other in zip(view.inputs, view.input_maps, strict=True) if read is value
        }
        if len(maps) == 1 and tensor_encoding(unset.operands[0].type) is not None:
            return cast(UnsetEncodingOp, unset), map_
    return None


def _operand_encodings(
    unset: UnsetEncodingOp, unset_map: AffineMap, view: StructuredView
) -> list[Attribute] | None:
    """Return the encodings of all operands of an operation, given that of one which it decodes.

    Two maps lead to an operand: from the decoded tensor, read by `unset_map`, to the loops, and
    from the loops to the operand. Return `None` if the encoding does not take such maps.
    """
    encoding = cast(Attribute, tensor_encoding(unset.source.type))
    inverse = cast(AffineMap, _inverse(unset_map))
    encodings: list[Attribute] = []
    for map_ in view.maps:
        added = [step for step in (inverse, map_) if not _is_identity(step)]
        extended = _with_maps(encoding, added) if added else encoding
        if extended is None:
            return None
        encodings.append(extended)
    return encodings


def _dynamic_loop_sizes(unset: UnsetEncodingOp, unset_map: AffineMap) -> dict[AffineExpr, SSAValue]:
    """Return the sizes of the loops along dynamic dimensions of a decoded tensor."""
    shape = unset.result.type.get_shape()
    loops = (
        loop for loop, size in zip(unset_map.results, shape, strict=True) if size == DYNAMIC_INDEX
    )
    return dict(zip(loops, unset.result_dims, strict=False))


def _hoist_set_encoding(
    operation: SetEncodingOp, sizes: DimensionSizes, hoists: Callable[[StructuredView], bool]
) -> None:
    """Rewrite `set(f(x, y))` to `f(set(x), set(y))` if `hoists` says so of `f`."""
    encoding = tensor_encoding(operation.result.type)
    if not isinstance(operation.source, OpResult) or encoding is None:
        return
    if isinstance(encoding, PaddingAttr):
        # The kernel that makes the tensor leaves room for padding.
        return
    source = operation.source.op
    view = elementwise_view(source) if source.parent is operation.parent else None
    if view is None or source.results[0].type.name != "tensor":
        return
    inverse = _inverse(view.output_maps[0])
    if inverse is None or not all(map(_has_single_loops, view.input_maps)):
        return
    if not operation.source.has_one_use() or not hoists(view):
        return
    found = [_with_maps(encoding, (map_.compose(inverse),)) for map_ in view.input_maps]
    encodings = [each for each in found if each is not None]
    if len(encodings) < len(found):
        return
    encodes = [
        _set_encoding(value, input_encoding, operation.encoding_dims, operation)
        for value, input_encoding in zip(view.inputs, encodings, strict=True)
    ]
    result = on_encoded(source, view, encodes, encoding, operation, sizes)
    Rewriter.replace_op(operation, [], [result])
    Rewriter.erase_op(source)
    erase_if_unused(cast(Operation, view.outputs[0].owner))
    for encode in encodes:
        _hoist_set_encoding(cast(SetEncodingOp, encode.owner), sizes, hoists)


def _scales(view: StructuredView) -> bool:
    """Return whether an operation computes wide elements from one narrow tensor and others.

    The other tensors have lower rank: they are scales, zero points and the like.
    """
    tensors = [ranked(value) for value in view.inputs]
    result = ranked(view.outputs[0])
    result_map = view.output_maps[0]
    inputs = zip(tensors, view.input_maps, strict=True)
    narrow = [tensor for tensor, map_ in inputs if map_ == result_map]
    if result is None or None in tensors or len(narrow) != 1 or narrow[0] is None:
        return False
    others = (map_ for map_ in view.input_maps if map_ != result_map)
    if not all(len(map_.results) < len(result_map.results) for map_ in others):
        return False
    return element_of(narrow[0]).bits < element_of(result).bits

"""Canonicalization of `flow` and `iree_tensor_ext` ops on whole tensors, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import attribute, constant_integer, is_splat
from ...ir.canonicalization import Patterns
from ...ir.index_lists import INDEX, mixed_list
from ...ir.locations import made_by
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import dynamic_dimensions
from ...ir.tensor_types import shape_of
from ..iree_encoding.interfaces import Tensor
from ..stream.copy_patterns import drop_unused
from ..util.canonicalization import unfoldable
from .dialect import TensorReshapeOp
from .sizes import sizes_of
from .tensors import TensorBitCastOp, TensorConstantOp, TensorEmptyOp, TensorSplatOp, TensorUpdateOp

rewrites = Patterns()

Dense = DenseIntOrFPElementsAttr[Any]

_FLOW_CONVERSIONS = ("flow.tensor.reshape", "flow.tensor.bitcast")
_CONVERSIONS = (*_FLOW_CONVERSIONS, "iree_tensor_ext.bitcast")

rewrites("flow.dispatch", "flow.dispatch.region", "flow.dispatch.workgroups")(drop_unused)


@rewrites("tensor.dim")
def fold_dimension(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a dynamic size of a tensor of `flow` or `hal` to the operand that gives it."""
    tensor, index = op.operands
    at = constant_integer(index)
    if not isinstance(tensor, OpResult) or not tensor.op.name.startswith(("flow.", "hal.")):
        return
    shape = shape_of(cast(Tensor, tensor.type))
    if at is None or not 0 <= at < len(shape) or shape[at] is not None:
        return
    sizes = sizes_of(tensor)
    if len(sizes) == shape.count(None):
        rewriter.replace(op, (), (sizes[shape[:at].count(None)],))


@rewrites("flow.tensor.encode", *_CONVERSIONS)
def drop_conversion_to_same_type(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop a conversion to the same type, unless it may reorder dynamic sizes."""
    source, (result,) = op.operands[0], op.results
    sizes = sizes_of(result)
    before = op.operands[1 : 1 + len(sizes)]
    if source.type == result.type and (len(sizes) < 2 or tuple(before) == sizes):
        rewriter.replace(op, (), (source,))


def _is_empty(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and 0 in type_.get_shape()


@rewrites("flow.tensor.update")
def fold_update(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold an update with nothing to the target, and one of a whole static tensor to the update."""
    (target,), (update,) = values(op, "target"), values(op, "update")
    if _is_empty(update.type):
        rewriter.replace(op, (), (target,))
    elif update.type == target.type and not dynamic_dimensions(target.type):
        rewriter.replace(op, (), (update,))


@rewrites(
    "flow.tensor.bitcast",
    "flow.tensor.clone",
    "flow.tensor.reshape",
    "flow.tensor.slice",
    "flow.tensor.splat",
    "flow.tensor.update",
)
def fold_empty(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a tensor without elements, or one computed from such, to `flow.tensor.empty`."""
    (result,) = op.results
    if _is_empty(result.type) or _is_empty(op.operands[0].type):
        new = TensorEmptyOp.build(operands=[sizes_of(result)], result_types=[result.type])
        rewriter.replace(op, new)


@rewrites("flow.tensor.tie_shape")
def drop_static_tie(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop the tie of a tensor of static shape to no sizes."""
    if not dynamic_dimensions(op.results[0].type):
        rewriter.replace(op, (), (op.operands[0],))


@rewrites(
    "flow.tensor.transfer",
    "iree_tensor_ext.compute_barrier.end",
    "iree_tensor_ext.compute_barrier.start",
    "iree_tensor_ext.dispatch.workload.ordinal",
)
def drop_repeated(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop an op that does what the producer of its operand has done, with equal properties."""
    inner = made_by(op.operands[0], op.name)
    if inner is not None and inner.properties == op.properties:
        rewriter.replace(op, (), (op.operands[0],))


@rewrites("flow.tensor.reshape")
def reshape_of_created(op: Operation, rewriter: PatternRewriter) -> None:
    """Create a tensor of one number, or of undefined contents, in the shape of its reshape."""
    source, sizes = op.operands[0], values(op, "result_dims")
    types = [op.results[0].type]
    if (splat := made_by(source, "flow.tensor.splat")) is not None:
        operands = [splat.operands[0], sizes]
        rewriter.replace(op, TensorSplatOp.build(operands=operands, result_types=types))
    elif made_by(source, "flow.tensor.empty") is not None:
        rewriter.replace(op, TensorEmptyOp.build(operands=[sizes], result_types=types))


@rewrites(*_CONVERSIONS)
def join_conversions(op: Operation, rewriter: PatternRewriter) -> None:
    """Join reshapes and bitcasts of one dialect in a row; a reshape keeps the element type."""
    joined = _FLOW_CONVERSIONS if op.name in _FLOW_CONVERSIONS else (op.name,)
    inner = made_by(op.operands[0], *joined)
    if inner is None:
        return
    source = inner.operands[0]
    types = cast(Tensor, source.type), cast(Tensor, op.results[0].type)
    kind = cast("type[IRDLOperation]", type(op))
    if op.name in _FLOW_CONVERSIONS:
        is_reshape = types[0].element_type == types[1].element_type
        kind = TensorReshapeOp if is_reshape else TensorBitCastOp
    sizes = inner.operands[1 : 1 + dynamic_dimensions(source.type)]
    operands = [source, sizes, values(op, "result_dims")]
    rewriter.replace(op, kind.build(operands=operands, result_types=[op.results[0].type]))


@rewrites("flow.tensor.clone")
def clone_of_created(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop a clone of a constant or of undefined contents."""
    source = op.operands[0]
    if made_by(source, "flow.tensor.empty") is not None or _dense(source) is not None:
        rewriter.replace(op, (), (source,))


# Constants ---------------------------------------------------------------------------------------


def _dense(value: SSAValue) -> Dense | None:
    """Return the elements of a constant tensor of numbers."""
    constant = made_by(value, "arith.constant", "flow.tensor.constant")
    dense = None if constant is None else attribute(constant, "value")
    return cast(Dense, dense) if isinstance(dense, DenseIntOrFPElementsAttr) else None


def _position(indices: tuple[SSAValue, ...], shape: tuple[int, ...]) -> int | None:
    """Return the row-major position of constant indices; `None` for others or outside."""
    position = 0
    for value, size in zip(indices, shape, strict=True):
        index = constant_integer(value)
        if index is None or not 0 <= index < size:
            return None
        position = position * size + index
    return position


def _elements(dense: Dense) -> list[Attribute]:
    return list(dense.iter_attrs())


def _replace_by_elements(
    op: Operation, elements: list[Attribute], rewriter: PatternRewriter
) -> None:
    """Replace an op by a constant tensor. The elements are integers or floats of its type."""
    type_ = cast("TensorType[Any]", op.results[0].type)
    numbers = [cast("IntegerAttr | FloatAttr", element).value.data for element in elements]
    constant = DenseIntOrFPElementsAttr.from_list(type_, cast("list[Any]", numbers))
    rewriter.replace(op, ConstantOp(constant))


@rewrites("flow.tensor.load")
def load_of_created(op: Operation, rewriter: PatternRewriter) -> None:
    """Load an element of a constant, or of a tensor of one number."""
    source, indices = op.operands[0], values(op, "indices")
    splat, dense = made_by(source, "flow.tensor.splat"), _dense(source)
    if splat is not None:
        rewriter.replace(op, (), (splat.operands[0],))
    elif dense is not None:
        at = _position(indices, dense.get_shape())
        if at is not None and isinstance(element := _elements(dense)[at], IntegerAttr | FloatAttr):
            rewriter.replace(op, ConstantOp(cast("IntegerAttr", element)))


@rewrites("flow.tensor.store")
def store_to_constant(op: Operation, rewriter: PatternRewriter) -> None:
    """Store a constant in a constant tensor."""
    (target,), stored = values(op, "target"), made_by(op.operands[0], "arith.constant")
    dense = _dense(target)
    if dense is None or stored is None:
        return
    at, number = _position(values(op, "indices"), dense.get_shape()), attribute(stored, "value")
    if at is not None and isinstance(number, IntegerAttr | FloatAttr):
        elements = _elements(dense)
        elements[at] = cast(Attribute, number)
        _replace_by_elements(op, elements, rewriter)


@rewrites("flow.tensor.slice")
def slice_of_constant(op: Operation, rewriter: PatternRewriter) -> None:
    """Slice a constant at constant positions."""
    dense, shape = _dense(op.operands[0]), shape_of(cast(Tensor, op.results[0].type))
    starts = [constant_integer(value) for value in values(op, "start_indices")]
    if dense is None or None in starts or None in shape:
        return
    element = cast(Attribute, next(dense.iter_attrs()))
    if not isinstance(element, IntegerAttr | FloatAttr):
        return
    sizes = cast("tuple[int, ...]", shape)
    if is_splat(dense):
        _replace_by_elements(op, [element] * prod(sizes), rewriter)
        return
    first = cast("list[int]", starts)
    whole = dense.get_shape()
    if _is_within(first, sizes, whole):
        elements = _elements(dense)
        picked = [elements[at] for at in _positions(first, sizes, whole)]
        _replace_by_elements(op, picked, rewriter)


@rewrites("flow.tensor.update")
def update_of_constant(op: Operation, rewriter: PatternRewriter) -> None:
    """Update a constant with a constant at constant positions."""
    (target,), (update,) = map(_dense, values(op, "target")), map(_dense, values(op, "update"))
    starts = [constant_integer(value) for value in values(op, "start_indices")]
    if target is None or update is None or None in starts:
        return
    first, sizes, whole = cast("list[int]", starts), update.get_shape(), target.get_shape()
    if not _is_within(first, sizes, whole):
        return
    elements, written = _elements(target), _elements(update)
    if all(isinstance(element, IntegerAttr | FloatAttr) for element in written):
        for at, element in zip(_positions(first, sizes, whole), written, strict=True):
            elements[at] = element
        _replace_by_elements(op, elements, rewriter)


def _is_within(starts: list[int], sizes: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Return whether all elements of a part are elements of the whole."""
    parts = zip(starts, sizes, whole, strict=True)
    return all(at >= 0 and at + n <= size for at, n, size in parts)


def _positions(starts: list[int], sizes: tuple[int, ...], whole: tuple[int, ...]) -> Iterator[int]:
    """Yield the row-major positions of the elements of a slice."""
    if not sizes:
        yield 0
        return
    row = prod(whole[1:])
    for index in range(starts[0], starts[0] + sizes[0]):
        for inner in _positions(starts[1:], sizes[1:], whole[1:]):
            yield index * row + inner


@rewrites("flow.tensor.dynamic_constant")
def expand_dynamic_constant(op: Operation, rewriter: PatternRewriter) -> None:
    """Reshape a constant to sizes that folds cannot see through."""
    value = op.properties["value"]
    type_, wanted_type = cast(Tensor, cast(Any, value).type), cast(Tensor, op.results[0].type)
    constant = TensorConstantOp.build(result_types=[type_], properties={"value": value})
    rewriter.insert(constant)
    sizes: list[SSAValue] = []
    for size, wanted in zip(shape_of(type_), shape_of(wanted_type), strict=True):
        if wanted is None:
            known = IntegerAttr.from_index_int_value(cast(int, size))
            sizes.append(unfoldable(known, rewriter))
    reshape = TensorReshapeOp.build(
        operands=[constant.results[0], [], sizes], result_types=[wanted_type]
    )
    rewriter.replace(op, reshape)


# Updates and transfers ---------------------------------------------------------------------------


@rewrites("flow.tensor.update")
def update_without_casts(op: Operation, rewriter: PatternRewriter) -> None:
    """Update with, and in, what is cast for it; list the sizes that its type does not tell."""
    parts: list[tuple[SSAValue, Sequence[SSAValue]]] = []
    for name in ("target", "update"):
        (value,), dims = values(op, name), values(op, f"{name}_dims")
        cast_ = made_by(value, "tensor.cast")
        if cast_ is not None and isinstance(cast_.operands[0].type, TensorType):
            dims = _sizes_before(cast_, dims, rewriter)
            value = cast_.operands[0]
        parts.append((value, dims))
    (target, target_dims), (update, update_dims) = parts
    if (target, update) == (*values(op, "target"), *values(op, "update")):
        return
    starts = values(op, "start_indices")
    new = TensorUpdateOp.build(
        operands=[target, target_dims, starts, update, update_dims],
        result_types=[target.type],
    )
    type_ = op.results[0].type
    if target.type == type_:
        rewriter.replace(op, new)
    else:
        rewriter.replace(op, (new, CastOp(new.results[0], cast(Tensor, type_))))


def _sizes_before(
    cast_: Operation, dims: Sequence[SSAValue], rewriter: PatternRewriter
) -> list[SSAValue]:
    """Return the dynamic sizes of the operand of a cast; `dims` are those of its result."""
    before, after = (cast(Tensor, value.type) for value in (*cast_.operands, *cast_.results))
    sizes = mixed_list(after.get_shape(), dims)
    dynamic = [size for size, known in zip(sizes, shape_of(before), strict=True) if known is None]
    return [
        rewriter.insert(ConstantOp.from_int_and_width(size, INDEX)).result
        if isinstance(size, int)
        else size
        for size in dynamic
    ]


@rewrites("flow.tensor.transfer")
def transfer_from_first(op: Operation, rewriter: PatternRewriter) -> None:
    """Transfer what was transferred before from where it was first."""
    inner = made_by(op.operands[0], op.name)
    if inner is not None and inner.properties["target"] != op.properties["target"]:
        op.operands = inner.operands
        rewriter.notify_op_modified(op)


# Dispatches --------------------------------------------------------------------------------------


@rewrites("flow.dispatch", "stream.async.dispatch", "stream.cmd.dispatch", "stream.tensor.dispatch")
def dispatch_entry_once(op: Operation, rewriter: PatternRewriter) -> None:
    """List an entry point of a dispatch once."""
    entries = cast("ArrayAttr[Attribute]", op.properties["entry_points"])
    distinct = ArrayAttr(dict.fromkeys(entries))
    if distinct != entries:
        op.properties["entry_points"] = distinct
        rewriter.notify_op_modified(op)

"""Pack constants at compile time: an encode of known contents becomes the packed constant.

    %0 = stream.tensor.constant : tensor<40x33xf32> in ... = dense<...>
    %1 = stream.tensor.encode %0 : tensor<40x33xf32> in ... -> tensor<40x33xf32, #layout> in ...

becomes a constant of the packed tensor, `tensor<3x40x16x1xf32>`. It has the bytes of the encoded
tensor, so readers of the encoded tensor are not changed. Each pair of contents and layout is packed
once. The pass runs after specialize-encodings, which resolves layouts.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import EncodingError, Tensor, tensor_encoding
from ...dialects.stream.tensor_ops import TensorConstantOp, TensorEncodeOp
from ...ir.attribute_access import is_splat
from ...ir.host_programs import host_operations_of
from ...ir.locations import builder_before
from ...ir.tensor_types import shape_of
from ...tiling.packed_layouts import PackedLayout
from ..manager.module_pass import module_pass
from ..stream.analysis.encoded_globals import COPIES
from ..stream.conversion.stored_tensors import PlacedBuilder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_SPLAT = 1 << 20
"""A splat constant is packed only if the packed constant has at most so many bytes."""

DROPPED = COPIES | {"stream.resource.size", "stream.tensor.constant"}
"""Operations that are erased with a constant that is no longer read."""

Dense = DenseIntOrFPElementsAttr[AnyDenseElement]


@module_pass("fold-constant-encodes")
def fold_constant_encodes(module: ModuleOp) -> None:
    """Replace encodes of constants by packed constants."""
    packed: dict[tuple[Attribute, Attribute], Dense | None] = {}
    for encode in host_operations_of(module, TensorEncodeOp):
        source = _constant(encode.source)
        if source is None or source.result_encoding != encode.source_encoding:
            continue
        key = source.value, encode.result_encoding
        if key not in packed:
            packed[key] = pack_elements(source.value, encode.result_encoding)
        if (value := packed[key]) is not None:
            _replace(encode, value)


def _constant(value: SSAValue) -> TensorConstantOp | None:
    """Return the constant whose bytes a resource holds, found through copies."""
    while isinstance(value, OpResult):
        operation: Operation = value.op
        if isinstance(operation, TensorConstantOp):
            return operation
        if operation.name not in COPIES:
            return None
        value = operation.operands[0]
    return None


def _replace(encode: TensorEncodeOp, value: Dense) -> None:
    result = PlacedBuilder(builder_before(encode), encode.affinity).make(
        TensorConstantOp,
        [()],
        encode.result.type,
        value=value,
        result_encoding=cast(Attribute, value.type),
    )
    read = list(encode.operands)
    Rewriter.replace_op(encode, [], [result])
    # The unpacked constant may have no reader left.
    while read:
        operand = read.pop()
        if not isinstance(operand, OpResult) or operand.op.parent is None or operand.uses:
            continue
        operation: Operation = operand.op
        if operation.name in DROPPED:
            read = [*operation.operands, *read]
            Rewriter.erase_op(operation)


def pack_elements(value: Attribute, type_: Attribute) -> Dense | None:
    """Return a constant in the layout of an encoded type; `None` if it is to be packed at run time.

    `None` is returned if the contents are not in the module, if the layout is open or does not make
    a packed tensor, and for splats that would grow beyond `MAX_SPLAT`.
    """
    layout = _layout(type_)
    if layout is None or not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    constant = cast(Dense, value)
    element = constant.get_element_type()
    shape = constant.get_shape()
    if not prod(shape):
        return None
    from ...tiling.packed_arrays import pack, packed_extents

    extents = packed_extents(shape, layout)
    packed_type = TensorType(element, extents)
    data = constant.data.data
    splat = is_splat(constant) and prod(shape) > 1
    width = len(data) if splat and len(data) < prod(shape) else len(data) // prod(shape)
    if splat and prod(extents) == prod(shape):
        # Packing adds no padding, so the packed constant is a splat as well.
        return DenseIntOrFPElementsAttr(packed_type, BytesAttr(data[:width]))
    if splat and prod(extents) * width > MAX_SPLAT:
        return None
    packed = pack(_elements(data, width, tuple(shape)), layout)
    return DenseIntOrFPElementsAttr(packed_type, BytesAttr(packed.tobytes()))


def _elements(data: bytes, width: int, shape: tuple[int, ...]) -> npt.NDArray[np.void]:
    """Return the elements as opaque items of `width` bytes; padding with zero bytes means zero."""
    import numpy as np

    elements = np.frombuffer(data, np.dtype((np.void, width)))
    return np.broadcast_to(elements, shape) if elements.size == 1 else elements.reshape(shape)


def _layout(type_: Attribute) -> PackedLayout | None:
    """Return the layout of an encoded type; `None` if it is open, plain or not unique."""
    encoding = tensor_encoding(type_)
    if encoding is None or None in shape_of(cast(Tensor, type_)):
        return None
    tensor = cast(Tensor, type_)
    try:
        layouts = {layout.packed_layout(tensor) for layout in encoding.layouts()}
    except EncodingError:
        return None
    (layout,) = layouts if len(layouts) == 1 else (None,)
    return None if layout is None or layout.is_identity else layout

"""Pack constants when the program is compiled: an encode of known contents becomes its result.

    %0 = stream.tensor.constant : tensor<40x33xf32> in ... = dense<...>
    %1 = stream.tensor.encode %0 : tensor<40x33xf32> in ... -> tensor<40x33xf32, #layout> in ...

becomes a constant of the packed tensor, `tensor<3x40x16x1xf32>`: the same bytes, so whoever reads
them as the encoded tensor finds it. Each (contents, layout) is packed once.

Runs behind specialize-encodings, which resolves layouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import EncodingError, Tensor, tensor_encoding
from ...dialects.stream.tensor_ops import TensorConstantOp, TensorEncodeOp
from ...ir.attribute_access import is_splat
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before
from ...ir.tensor_types import shape_of
from ...tiling.packed_layouts import PackedLayout
from ..stream.analysis.encoded_globals import COPIES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST_SPLAT = 1 << 20
"""Bytes to which a constant with one value everywhere may grow when it is packed."""

DROPPED = COPIES | {"stream.resource.size", "stream.tensor.constant"}
"""What only constants that nobody needs leave behind."""

Dense = DenseIntOrFPElementsAttr[AnyDenseElement]


@dataclass(frozen=True)
class PackConstantsPass(ModulePass):
    """Replace encodes of constants by packed constants."""

    name = "pack-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        packed: dict[tuple[Attribute, Attribute], Dense | None] = {}
        for operation in tuple(host_operations(op)):
            if operation.name != "stream.tensor.encode":
                continue
            encode = cast(TensorEncodeOp, operation)
            source = _constant(encode.source)
            if source is None or source.result_encoding != encode.source_encoding:
                continue
            key = source.value, encode.result_encoding
            if key not in packed:
                packed[key] = pack_elements(source.value, encode.result_encoding)
            if (value := packed[key]) is not None:
                _replace(encode, value)


def _constant(value: SSAValue) -> TensorConstantOp | None:
    """The constant that a resource has the bytes of."""
    while isinstance(value, OpResult):
        operation: Operation = value.op
        if operation.name == "stream.tensor.constant":
            return cast(TensorConstantOp, operation)
        if operation.name not in COPIES:
            return None
        value = operation.operands[0]
    return None


def _replace(encode: TensorEncodeOp, value: Dense) -> None:
    constant = TensorConstantOp.build(
        operands=[()],
        result_types=[encode.result.type],
        properties={
            "value": value,
            "result_encoding": cast(Attribute, value.type),
            "affinity": encode.properties.get("affinity"),
        },
    )
    result = builder_before(encode).insert(constant).result
    read = list(encode.operands)
    Rewriter.replace_op(encode, [], [result])
    # Nobody may need the constant as it was.
    while read:
        operand = read.pop()
        if not isinstance(operand, OpResult) or operand.op.parent is None or operand.uses:
            continue
        operation: Operation = operand.op
        if operation.name in DROPPED:
            read = [*operation.operands, *read]
            Rewriter.erase_op(operation)


def pack_elements(value: Attribute, type_: Attribute) -> Dense | None:
    """A constant in the layout of an encoded type; `None` where that is left to the program.

    That is so for contents that are not here, layouts that are open or make bytes that are no
    packed tensor, and for large constants whose value is the same everywhere.
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
        # No tile is filled up, so the value is the same everywhere after packing as well.
        return DenseIntOrFPElementsAttr(packed_type, BytesAttr(data[:width]))
    if splat and prod(extents) * width > LARGEST_SPLAT:
        return None
    packed = pack(_elements(data, width, tuple(shape)), layout)
    return DenseIntOrFPElementsAttr(packed_type, BytesAttr(packed.tobytes()))


def _elements(data: bytes, width: int, shape: tuple[int, ...]) -> npt.NDArray[np.void]:
    """The elements of a constant as so many bytes each, whatever they mean; zero is zero."""
    import numpy as np

    elements = np.frombuffer(data, np.dtype((np.void, width)))
    return np.broadcast_to(elements, shape) if elements.size == 1 else elements.reshape(shape)


def _layout(type_: Attribute) -> PackedLayout | None:
    """The one layout of an encoded type whose packed tensor has all its bytes."""
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

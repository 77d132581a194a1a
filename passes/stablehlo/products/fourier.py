"""Split Fourier transforms along several dimensions into those along the last one.

Those have kernels (`codegen/kernels/linear_algebra/fourier.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, DenseArrayBase, TensorType, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import FftTypeAttr, fft_kind
from ....dialects.stablehlo.products import FftOp
from ....ir.attribute_access import element_type, integers
from ..calls.kept_ops import keep
from ..data_movement.shapes import transpose
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule


@tensor_rule("stablehlo.fft")
def _transforms(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    kind, lengths = fft_kind(op), integers(op, "fft_length")
    sizes = *shape(operands[0]), *shape(op.results[0])
    is_plain = kind in FftTypeAttr.WORDS and min(sizes, default=0) > 0
    if len(lengths) < 2 or not is_plain:
        return keep(lowering, op, operands)
    return [transform(lowering.emit, operands[0], kind, lengths)]


def transform(e: Emitter, value: SSAValue, kind: str, lengths: Sequence[int]) -> SSAValue:
    """Transform a tensor of static shape along its last dimensions, of which each has a length.

    `kind` is one of StableHLO. The dimensions before the last are transformed between transposes.
    """
    rank = len(shape(value))
    inner = "IFFT" if kind in ("IFFT", "IRFFT") else "FFT"
    if kind != "IRFFT":
        value = _transform_rows(e, value, kind, lengths[-1])
    for dimension, length in zip(range(rank - len(lengths), rank - 1), lengths[:-1], strict=True):
        order = list(range(rank))
        order[dimension], order[-1] = rank - 1, dimension
        turned = _transform_rows(e, transpose(e, value, order), inner, length)
        value = transpose(e, turned, order)
    return _transform_rows(e, value, kind, lengths[-1]) if kind == "IRFFT" else value


def _transform_rows(e: Emitter, value: SSAValue, kind: str, length: int) -> SSAValue:
    """Transform along the last dimension; the result has the length that belongs to the kind."""
    element = element_type(value.type)
    if kind == "RFFT":
        element = ComplexType(cast("AnyFloat", element))
    elif kind == "IRFFT":
        element = cast("ComplexType[AnyFloat]", element).element_type
    size = length // 2 + 1 if kind == "RFFT" else length
    properties = {
        "fft_type": FftTypeAttr(kind),
        "fft_length": DenseArrayBase.from_list(i64, [length]),
    }
    made = TensorType(element, (*shape(value)[:-1], size))
    return e.insert(FftOp.create(operands=[value], result_types=[made], properties=properties))

"""Keep ops that have no conversion: Cholesky, FFT, triangular solves and LAPACK calls.

Small factorizations and triangular solves have kernels (`codegen/kernels/factorizations.py`).
Others of known sizes have kernels that call LAPACK (`codegen/kernels/lapack_kernels.py`).
Transforms along the last dimension have kernels (`codegen/kernels/fourier.py`); those along several
are one after another. The interpreter executes the rest, for native code as well, which emits a
remark.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import FftTypeAttr, fft_kind
from ....ir.attribute_access import element_type, integers
from ....ir.locations import rebuilt
from ..data_movement.shapes import transpose
from ..lowering.element_types import converted
from ..lowering.emitter import shape
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule

LAPACK = (
    *("potrf", "getrf", "geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "syevd", "heevd"),
    *("geev", "gesdd", "gesvd", "trsm", "gtsv", "gehrd", "sytrd", "hetrd", "gees"),
)
"""The LAPACK functions that the interpreter implements, without the letter of their type."""


@tensor_rule("stablehlo.cholesky", "stablehlo.triangular_solve")
@call_rule(*(f"lapack_{letter}{name}_ffi" for name in LAPACK for letter in "sdcz"))
def _kept(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    kept = rebuilt(op, operands, [converted(each) for each in op.result_types])
    return lowering.emit.add_op(kept).results


@tensor_rule("stablehlo.fft")
def _transforms(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Transform along the last dimension, and along the others between two transposes."""
    kind, lengths = fft_kind(op), integers(op, "fft_length")
    sizes = *shape(operands[0]), *shape(op.results[0])
    rank = len(shape(operands[0]))
    is_plain = kind in FftTypeAttr.WORDS and min(sizes, default=0) > 0
    if len(lengths) < 2 or not is_plain:
        return _kept(lowering, op, operands)
    others = [*range(rank - len(lengths), rank - 1)]
    inner = "IFFT" if kind in ("IFFT", "IRFFT") else "FFT"
    value = operands[0]
    if kind != "IRFFT":
        value = _transform(lowering, op, value, kind, lengths[-1])
    for dimension, length in zip(others, lengths[:-1], strict=True):
        order = list(range(rank))
        order[dimension], order[-1] = rank - 1, dimension
        turned = transpose(lowering.emit, value, order)
        turned = _transform(lowering, op, turned, inner, length)
        value = transpose(lowering.emit, turned, order)
    return [_transform(lowering, op, value, kind, lengths[-1]) if kind == "IRFFT" else value]


def _transform(
    lowering: Lowering, op: Operation, value: SSAValue, kind: str, length: int
) -> SSAValue:
    """Transform along the last dimension; the result has the length that belongs to the kind."""
    size = length // 2 + 1 if kind == "RFFT" else length
    given = element_type((op.operands if kind == "IFFT" else op.results)[0].type)
    made = TensorType(given, (*shape(value)[:-1], size))
    new = {
        "fft_type": FftTypeAttr(kind),
        "fft_length": DenseArrayBase.from_list(i64, [length]),
    }
    each = type(op).create(
        operands=[value], result_types=[made], properties={**op.properties, **new}
    )
    return lowering.emit.add_op(each).results[0]

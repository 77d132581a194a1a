"""Convert the Fourier transforms of TOSA, of real and imaginary parts, to those of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ComplexType
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_access import flag
from ..stablehlo.lowering.element_types import operand_kind
from ..stablehlo.lowering.emitter import Emitter, shape
from ..stablehlo.products.fourier import transform
from .rules import tosa_rule


@tosa_rule("tosa.fft2d", "tosa.rfft2d")
def _transform(e: Emitter, op: Operation) -> Sequence[SSAValue] | None:
    """Transform numbers, or conjugates for the inverse: `fft*(x) = conj(fft(conj(x)))`.

    The result is not divided by the number of points.
    """
    sizes, part = shape(op.operands[0]), operand_kind(op).type
    joined = ComplexType(cast("AnyFloat", part))
    if min(sizes) < 1 or 1 in sizes[1:]:
        return None
    if op.name == "tosa.rfft2d":
        numbers, is_inverse = transform(e, op.operands[0], "RFFT", sizes[1:]), False
    else:
        is_inverse = flag(op, "inverse")

        def join(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            real, imaginary = args
            if is_inverse:
                imaginary = inner.op("arith.negf", imaginary)
            return [inner.op("complex.create", real, imaginary, to=joined)]

        numbers = transform(e, e.pointwise(op.operands, joined, join), "FFT", sizes[1:])

    def part_of(name: str) -> SSAValue:
        def take(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = inner.op(name, args[0], to=part)
            is_conjugated = is_inverse and name == "complex.im"
            return [inner.op("arith.negf", value) if is_conjugated else value]

        return e.pointwise([numbers], part, take)

    return [part_of("complex.re"), part_of("complex.im")]

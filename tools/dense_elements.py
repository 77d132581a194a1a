"""Elements of `dense<...>` that are written as bits: `dense<0xFF800000> : tensor<f32>` is -inf.

xDSL reads such a number as an integer and converts it, which silently gives another constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType
from xdsl.parser import AttrParser
from xdsl.utils.lexer import Span

Number = int | float | tuple[int, int] | tuple[float, float]


class BitsElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element: for float types, and complex ones of these, it is their bits."""

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> Number:
        """The value of this element in a tensor of a type."""
        if isinstance(type, AnyFloat) and isinstance(self.value, int):
            return _from_bits(parser, self.span, type, [self.value])[0]
        if isinstance(type, ComplexType) and isinstance(type.element_type, AnyFloat):
            parts = self.value
            if isinstance(parts, tuple) and all(isinstance(part, int) for part in parts):
                integers = [int(part) for part in parts]
                real, imaginary = _from_bits(parser, self.span, type.element_type, integers)
                return real, imaginary
        return super().to_type(parser, type)


def _from_bits(
    parser: AttrParser, span: Span, float_type: AnyFloat, numbers: Sequence[int]
) -> list[float]:
    size = float_type.compile_time_size
    if any(not 0 <= number < 1 << (8 * size) for number in numbers):
        parser.raise_error(
            f"hexadecimal float constant out of range for {float_type}", span.start, span.end
        )
    raw = b"".join(number.to_bytes(size, "little") for number in numbers)
    return list(float_type.iter_unpack(raw))

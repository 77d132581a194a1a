"""Write formulas on floats with Python operators, for functions of many ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ..lowering.element_types import kind
from ..lowering.emitter import Emitter


class Number:
    """A scalar of a float type. Python operators emit arith ops of this type."""

    def __init__(self, e: Emitter, value: SSAValue) -> None:
        self.e = e
        self.value = value

    @property
    def type(self) -> Attribute:
        """The float type."""
        return self.value.type

    def of(self, other: Number | float) -> Number:
        """Return a number or Python float as a `Number` of this type."""
        if isinstance(other, Number):
            return other
        return Number(self.e, self.e.constant(other, self.type))

    def _binary(self, name: str, left: Number | float, right: Number | float) -> Number:
        return Number(self.e, self.e.op(name, self.of(left).value, self.of(right).value))

    def __add__(self, other: Number | float) -> Number:
        return self._binary("arith.addf", self, other)

    def __radd__(self, other: float) -> Number:
        return self._binary("arith.addf", other, self)

    def __sub__(self, other: Number | float) -> Number:
        return self._binary("arith.subf", self, other)

    def __rsub__(self, other: float) -> Number:
        return self._binary("arith.subf", other, self)

    def __mul__(self, other: Number | float) -> Number:
        return self._binary("arith.mulf", self, other)

    def __rmul__(self, other: float) -> Number:
        return self._binary("arith.mulf", other, self)

    def __truediv__(self, other: Number | float) -> Number:
        return self._binary("arith.divf", self, other)

    def __rtruediv__(self, other: float) -> Number:
        return self._binary("arith.divf", other, self)

    def __neg__(self) -> Number:
        return self.function("arith.negf")

    def __abs__(self) -> Number:
        return self.function("math.absf")

    def function(self, name: str, *others: Number | float) -> Number:
        """Emit a math or arith op by name, with this number as first operand."""
        return Number(self.e, self.e.op(name, self.value, *(self.of(o).value for o in others)))

    def compare(self, predicate: str, other: Number | float) -> SSAValue:
        """Emit `arith.cmpf` with a predicate such as `olt`."""
        return self.e.compare_floats(predicate, self.value, self.of(other).value)

    def where(self, condition: SSAValue, other: Number | float) -> Number:
        """Return this number where a condition holds, else the other."""
        return Number(self.e, self.e.select(condition, self.value, self.of(other).value))

    def sign(self) -> Number:
        """Return -1 or 1; zeros and NaN are returned unchanged."""
        one = self.of(1.0).function("math.copysign", self)
        return one.where(self.compare("one", 0.0), self)

    def as_type(self, type_: Attribute) -> Number:
        """Return this number converted to another float type."""
        before, after = kind(self.type), kind(type_)
        if before == after:
            return self
        name = "arith.extf" if before.width < after.width else "arith.truncf"
        return Number(self.e, self.e.op(name, self.value, to=type_))


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Emit Horner's rule; the coefficient of the highest power is first."""
    total = x.of(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def chebyshev(x: Number, coefficients: Sequence[float]) -> Number:
    """Emit a series of Chebyshev polynomials by Clenshaw's recurrence."""
    b0, b1, b2 = x.of(0.0), x.of(0.0), x.of(0.0)
    for coefficient in coefficients:
        b2, b1 = b1, b0
        b0 = x * b1 - b2 + coefficient
    return (b0 - b2) * 0.5

"""Write formulas on floats with Python operators, for functions of many ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, SSAValue

from ..lowering.element_types import kind
from ..lowering.emitter import Emitter


class FloatExpr:
    """A scalar of a float type. Python operators emit arith ops of this type."""

    def __init__(self, e: Emitter, value: SSAValue) -> None:
        self.e = e
        self.value = value

    @property
    def type(self) -> Attribute:
        """The float type."""
        return self.value.type

    def of(self, other: FloatExpr | float) -> FloatExpr:
        """Return a number or Python float as a `FloatExpr` of this type."""
        if isinstance(other, FloatExpr):
            return other
        return FloatExpr(self.e, self.e.constant(other, self.type))

    def _binary(self, name: str, left: FloatExpr | float, right: FloatExpr | float) -> FloatExpr:
        return FloatExpr(self.e, self.e.op(name, self.of(left).value, self.of(right).value))

    def __add__(self, other: FloatExpr | float) -> FloatExpr:
        return self._binary("arith.addf", self, other)

    def __radd__(self, other: float) -> FloatExpr:
        return self._binary("arith.addf", other, self)

    def __sub__(self, other: FloatExpr | float) -> FloatExpr:
        return self._binary("arith.subf", self, other)

    def __rsub__(self, other: float) -> FloatExpr:
        return self._binary("arith.subf", other, self)

    def __mul__(self, other: FloatExpr | float) -> FloatExpr:
        return self._binary("arith.mulf", self, other)

    def __rmul__(self, other: float) -> FloatExpr:
        return self._binary("arith.mulf", other, self)

    def __truediv__(self, other: FloatExpr | float) -> FloatExpr:
        return self._binary("arith.divf", self, other)

    def __rtruediv__(self, other: float) -> FloatExpr:
        return self._binary("arith.divf", other, self)

    def __neg__(self) -> FloatExpr:
        return self.apply("arith.negf")

    def __abs__(self) -> FloatExpr:
        return self.apply("math.absf")

    def apply(self, name: str, *others: FloatExpr | float) -> FloatExpr:
        """Emit a math or arith op by name, with this number as first operand."""
        return FloatExpr(self.e, self.e.op(name, self.value, *(self.of(o).value for o in others)))

    def compare(self, predicate: str, other: FloatExpr | float) -> SSAValue:
        """Emit `arith.cmpf` with a predicate such as `olt`."""
        return self.e.compare_floats(predicate, self.value, self.of(other).value)

    def where(self, condition: SSAValue, other: FloatExpr | float) -> FloatExpr:
        """Return this number where a condition holds, else the other."""
        return FloatExpr(self.e, self.e.select(condition, self.value, self.of(other).value))

    def sign(self) -> FloatExpr:
        """Return -1 or 1; zeros and NaN are returned unchanged."""
        one = self.of(1.0).apply("math.copysign", self)
        return one.where(self.e.compare_with_zero("one", self.value), self)

    def as_type(self, type_: Attribute) -> FloatExpr:
        """Return this number converted to another float type."""
        before, after = kind(self.type), kind(type_)
        if before == after:
            return self
        name = "arith.extf" if before.width < after.width else "arith.truncf"
        return FloatExpr(self.e, self.e.op(name, self.value, to=type_))


def on_scalars(
    formula: Callable[..., FloatExpr],
) -> Callable[[Emitter, Sequence[SSAValue]], SSAValue]:
    """Return a formula of one or more numbers as a function of an emitter and scalars."""
    return lambda e, values: formula(*(FloatExpr(e, value) for value in values)).value


def polynomial(x: FloatExpr, coefficients: Sequence[float]) -> FloatExpr:
    """Emit Horner's rule; the coefficient of the highest power is first."""
    total = x.of(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total.apply("math.fma", x, coefficient)
    return total


def chebyshev(x: FloatExpr, coefficients: Sequence[float]) -> FloatExpr:
    """Emit a series of Chebyshev polynomials by Clenshaw's recurrence."""
    b0, b1, b2 = x.of(0.0), x.of(0.0), x.of(0.0)
    for coefficient in coefficients:
        b2, b1 = b1, b0
        b0 = x * b1 - b2 + coefficient
    return (b0 - b2) * 0.5

"""Scalar rules of CHLO's inverse trigonometric and hyperbolic functions, real and complex.

Floats narrower than f32 are computed in f32, complex numbers in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.builtin import ComplexType, f64
from xdsl.ir import Operation, SSAValue

from ....ir.diagnostics import OperationError
from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Scalars, scalar_rule
from .arithmetic import Compute, function_rule, operation, parts
from .float_expressions import FloatExpr, on_scalars

Pair = tuple[FloatExpr, FloatExpr]
"""The real and the imaginary part of a complex number."""

ComplexFormula = Callable[[Pair], Pair]


def _on_complex(formula: ComplexFormula) -> Compute:
    """Return a formula on a complex number, in f64, as a function of an emitter and scalars."""

    def compute(e: Emitter, args: Scalars) -> SSAValue:
        element = kind(args[0].type)
        x, y = (FloatExpr(e, part).as_type(f64) for part in parts(e, args[0]))
        rounded = (part.as_type(element.part.type).value for part in formula((x, y)))
        return e.op("complex.create", *rounded, to=element.type)

    return compute


def _largest(x: FloatExpr) -> float:
    return 3.4028234663852886e38 if kind(x.type).width == 32 else 1.7976931348623157e308


# Inverse trigonometric and hyperbolic functions --------------------------------------------------


def _acosh(x: FloatExpr) -> FloatExpr:
    far = math.log(2.0) + x.apply("math.log")
    below, above = (x - 1.0).apply("math.sqrt"), (x + 1.0).apply("math.sqrt")
    near = (below * (above + below)).apply("math.log1p")
    return far.where(x.compare("oge", _largest(x) / 2.0), near)


def _asinh(x: FloatExpr) -> FloatExpr:
    size = abs(x)
    square = size * size
    far = math.log(2.0) + size.apply("math.log")
    near = (size + square / (1.0 + (1.0 + square).apply("math.sqrt"))).apply("math.log1p")
    chosen = far.where(size.compare("oge", math.sqrt(_largest(x))), near)
    return chosen.apply("math.copysign", x)


def _atanh(x: FloatExpr) -> FloatExpr:
    inside = (x.apply("math.log1p") - (-x).apply("math.log1p")) * 0.5
    return x.of(math.nan).where(abs(x).compare("ogt", 1.0), inside)


def _square(x: FloatExpr) -> FloatExpr:
    return x * x


# Complex functions, by the formulas of Kahan ------------------------------------------------------

_FAR = 2.0**1000
_SCALE_BITS = 60


def _square_root(z: Pair) -> Pair:
    """Return the square root with a nonnegative real part and exact signs."""
    x, y = z
    e = x.e
    pair = e.op("complex.create", x.value, y.value, to=ComplexType(f64))
    root = e.op("complex.sqrt", pair)
    real, imaginary = parts(e, root)
    return FloatExpr(e, real), FloatExpr(e, imaginary)


def _size(z: Pair) -> FloatExpr:
    """Return the larger of the absolute values of both parts; infinity counts before NaN."""
    x, y = z
    return abs(x).apply("arith.maxnumf", abs(y))


def _near(z: Pair) -> tuple[Pair, FloatExpr]:
    """Return a number for which inverse functions do not overflow, and the logarithm of its scale.

    For large z only the direction and the logarithm of the size matter: `asin(z)` is close to
    `asin(z / s) + log(s)`. Beside an infinite part, a finite one counts as 0.
    """
    size = _size(z)
    is_far, is_infinite = size.compare("ogt", _FAR), size.compare("oeq", math.inf)

    def nearer(part: FloatExpr) -> FloatExpr:
        scaled = (part * 2.0**-_SCALE_BITS).where(is_far, part)
        end = part.of(_FAR).apply("math.copysign", part)
        direction = end.where(abs(part).compare("oeq", math.inf), part * 0.0)
        return direction.where(is_infinite, scaled)

    lacks = size.of(_SCALE_BITS * math.log(2.0)).where(is_far, size.of(0.0))
    return (nearer(z[0]), nearer(z[1])), size.where(is_infinite, lacks)


def _area(size: FloatExpr, lacks: FloatExpr) -> FloatExpr:
    """Return asinh(size) with the logarithm of the scale, `lacks`, added to its absolute value.

    It is infinite if `lacks` is, even if `size` is NaN.
    """
    found = _asinh(size)
    total = lacks.where(lacks.compare("oeq", math.inf), abs(found) + lacks)
    return total.apply("math.copysign", found)


def _complex_acos(z: Pair) -> Pair:
    (x, y), lacks = _near(z)
    (a, b), (d, f) = _square_root((1.0 - x, -y)), _square_root((1.0 + x, y))
    imaginary = _area(d * b - f * a, lacks).apply("math.copysign", -y)
    return 2.0 * a.apply("math.atan2", d), imaginary


def _complex_asin(z: Pair) -> Pair:
    (x, y), lacks = _near(z)
    (a, b), (d, f) = _square_root((1.0 - x, -y)), _square_root((1.0 + x, y))
    imaginary = _area(a * f - b * d, lacks).apply("math.copysign", y)
    return x.apply("math.atan2", a * d - b * f), imaginary


def _complex_acosh(z: Pair) -> Pair:
    (x, y), lacks = _near(z)
    (a, b), (d, f) = _square_root((x - 1.0, y)), _square_root((x + 1.0, y))
    return abs(_area(a * d + b * f, lacks)), 2.0 * b.apply("math.atan2", d)


def _complex_asinh(z: Pair) -> Pair:
    x, y = z
    real, imaginary = _complex_asin((-y, x))
    return imaginary, -real


def _complex_atanh(z: Pair) -> Pair:
    x, y = z
    width = abs(x)
    distance = (1.0 - width) * (1.0 - width) + y * y
    real = (4.0 * width / distance).apply("math.log1p")
    # Near the pole the square of a tiny `y` underflows to 0.
    at_pole = (4.0 * width).apply("math.log") - 2.0 * abs(y).apply("math.log")
    real = 0.25 * at_pole.where(distance.compare("olt", 1e-40), real)
    real = real.apply("math.copysign", x)
    imaginary = 0.5 * (y + y).apply("math.atan2", (1.0 - x) * (1.0 + x) - y * y)
    # Squares of large numbers overflow; there the result is close to 1 / z + i pi / 2.
    size = _size(z)
    bounded = size.apply("arith.minimumf", _largest(x))
    u, v = (
        part.apply("arith.minimumf", bounded).apply("arith.maximumf", -bounded) / bounded
        for part in z
    )
    is_far = size.compare("ogt", math.sqrt(_FAR))
    real = (u / (u * u + v * v) / size).where(is_far, real)
    none = x.of(0.0).apply("math.copysign", x)
    right = x.of(math.pi / 2.0).apply("math.copysign", y)
    return (
        none.where(size.compare("oeq", math.inf), real),
        y.where(y.compare("uno", y), right.where(is_far, imaginary)),
    )


def _complex_atan(z: Pair) -> Pair:
    x, y = z
    real, imaginary = _complex_atanh((-y, x))
    return imaginary, -real


def _complex_cosh(e: Emitter, args: Scalars) -> SSAValue:
    """Return `cosh(z) = cos(iz)`."""
    return e.op("complex.cos", _turned(e, args[0]))


def _complex_sinh(e: Emitter, args: Scalars) -> SSAValue:
    """Return `sinh(z) = sin(iz) / i`."""
    real, imaginary = parts(e, e.op("complex.sin", _turned(e, args[0])))
    return e.op("complex.create", imaginary, e.op("arith.negf", real), to=args[0].type)


def _turned(e: Emitter, z: SSAValue) -> SSAValue:
    """Return `iz`."""
    real, imaginary = parts(e, z)
    return e.op("complex.create", e.op("arith.negf", imaginary), real, to=z.type)


def _complex_square(z: Pair) -> Pair:
    x, y = z
    return (x - y) * (x + y), 2.0 * (x * y)


@scalar_rule("chlo._asin_acos_kernel")
def _asin_acos_kernel(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Return w for which asin(z) is atan2(z.real, w.real) + i * copysign(w.imag, z.imag)."""
    if operand_kind(op).name != "complex":
        raise OperationError(op, f"expects complex numbers, found {operand_kind(op).type}")

    def formula(z: Pair) -> Pair:
        (x, y), lacks = _near(z)
        (a, b), (d, f) = _square_root((1.0 - x, -y)), _square_root((1.0 + x, y))
        return a * d - b * f, abs(_area(a * f - b * d, lacks))

    return _on_complex(formula)(e, args)


for _name, _formula, _complex_formula in (
    ("acosh", _acosh, _complex_acosh),
    ("asinh", _asinh, _complex_asinh),
    ("atanh", _atanh, _complex_atanh),
    ("square", _square, _complex_square),
):
    function_rule(f"chlo.{_name}", on_scalars(_formula), _on_complex(_complex_formula))
for _name, _complex_formula in (
    ("acos", _complex_acos),
    ("asin", _complex_asin),
    ("atan", _complex_atan),
):
    function_rule(f"chlo.{_name}", operation(f"math.{_name}"), _on_complex(_complex_formula))
for _name, _complex_function in (("cosh", _complex_cosh), ("sinh", _complex_sinh)):
    function_rule(f"chlo.{_name}", operation(f"math.{_name}"), _complex_function)

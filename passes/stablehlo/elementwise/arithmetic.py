"""Scalar rules of arithmetic, logic, rounding and shifts, and of basic functions of floats.

Integers wrap. Where MLIR's arith is undefined (division by zero, the least integer divided by -1,
shifts by the bit width or more) the emitted ops compute what XLA computes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import integer
from ....ir.diagnostics import OperationError
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Scalars, scalar_rule
from .float_expressions import FloatExpr, on_scalars


def integer_constant(e: Emitter, value: int, like: SSAValue) -> SSAValue:
    """Emit a constant of the type of `like`."""
    return e.constant(value, like.type)


# One operation for each kind ---------------------------------------------------------------------


_BY_KIND = {
    "add": {"float": "addf", "integer": "addi", "bool": "ori", "complex": "complex.add"},
    "multiply": {"float": "mulf", "integer": "muli", "bool": "andi", "complex": "complex.mul"},
    "subtract": {"float": "subf", "integer": "subi", "bool": "xori", "complex": "complex.sub"},
    "and": {"integer": "andi"},
    "or": {"integer": "ori"},
    "xor": {"integer": "xori"},
    "popcnt": {"integer": "math.ctpop"},
    "count_leading_zeros": {"integer": "math.ctlz"},
    "floor": {"float": "math.floor"},
    "ceil": {"float": "math.ceil"},
    "round_nearest_afz": {"float": "math.round"},
    "round_nearest_even": {"float": "math.roundeven"},
    "is_finite": {"float": "math.isfinite"},
}
"""For StableHLO's ops the op of arith, math or complex by the kind of elements."""


def operation_on(element: Kind, name: str) -> str:
    """Return what computes an op of StableHLO on elements of a kind, empty if it has none."""
    operations = _BY_KIND[name]
    integer_ = operations.get("integer", "") if element.is_integer else ""
    found = operations.get(element.name, integer_)
    return f"arith.{found}" if found and "." not in found else found


def _one_operation(name: str, e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    found = operation_on(element, name)
    if not found:
        raise OperationError(op, f"is not defined on elements of type {element.type}")
    return e.op(found, *args, to=result_kind(op).type)


for _name in _BY_KIND:
    scalar_rule(f"stablehlo.{_name}")(partial(_one_operation, _name))


@scalar_rule("stablehlo.not")
def _not(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op("arith.xori", args[0], integer_constant(e, -1, args[0]))


# Division ----------------------------------------------------------------------------------------


def _is_zero(e: Emitter, value: SSAValue) -> SSAValue:
    return e.compare_integers("eq", value, integer_constant(e, 0, value))


def _signed_division(e: Emitter, args: Scalars, name: str) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return a signed division that is always defined, and whether the divisor is 0 and -1.

    In these two cases the division is by 1, and the caller selects the result.
    """
    dividend, divisor = args
    zero = _is_zero(e, divisor)
    minus = e.compare_integers("eq", divisor, integer_constant(e, -1, divisor))
    safe = e.select(e.either(zero, minus), integer_constant(e, 1, divisor), divisor)
    return e.op(name, dividend, safe), zero, minus


@scalar_rule("stablehlo.divide")
def _divide(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    if element.name == "float":
        return e.op("arith.divf", *args)
    if element.name == "complex":
        return e.op("complex.div", *args)
    ones = integer_constant(e, -1, args[0])
    if element.name == "signed":
        quotient, zero, minus = _signed_division(e, args, "arith.divsi")
        negated = e.op("arith.subi", integer_constant(e, 0, args[0]), args[0])
        return e.select(zero, ones, e.select(minus, negated, quotient))
    zero = _is_zero(e, args[1])
    safe = e.select(zero, integer_constant(e, 1, args[1]), args[1])
    return e.select(zero, ones, e.op("arith.divui", args[0], safe))


@scalar_rule("stablehlo.remainder")
def _remainder(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    if element.name == "float":
        return e.op("arith.remf", *args)
    if element.name == "complex":
        raise OperationError(op, "is not defined on complex numbers")
    if element.name == "signed":
        rest, zero, minus = _signed_division(e, args, "arith.remsi")
        none = integer_constant(e, 0, args[0])
        return e.select(zero, args[0], e.select(minus, none, rest))
    zero = _is_zero(e, args[1])
    safe = e.select(zero, integer_constant(e, 1, args[1]), args[1])
    return e.select(zero, args[0], e.op("arith.remui", args[0], safe))


# Shifts ------------------------------------------------------------------------------------------


def _shift(shift: str, e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    value, amount = args
    last = integer_constant(e, operand_kind(op).width - 1, amount)
    fits = e.compare_integers("ule", amount, last)
    if shift == "arith.shrsi":
        return e.op(shift, value, e.select(fits, amount, last))
    none = integer_constant(e, 0, value)
    return e.select(fits, e.op(shift, value, e.select(fits, amount, none)), none)


scalar_rule("stablehlo.shift_left")(partial(_shift, "arith.shli"))
scalar_rule("stablehlo.shift_right_logical")(partial(_shift, "arith.shrui"))
scalar_rule("stablehlo.shift_right_arithmetic")(partial(_shift, "arith.shrsi"))


# Extrema -----------------------------------------------------------------------------------------


_EXTREMA = {"max": ("arith.ori", "ogt"), "min": ("arith.andi", "olt")}
"""For maxima and minima, the op for booleans, and the predicate by which numbers are ordered."""


def extremum(e: Emitter, element: Kind, args: Scalars, suffix: str) -> SSAValue:
    """Emit the maximum or minimum of two numbers, as `suffix` ("max" or "min") says.

    NaN propagates. Complex numbers are ordered by the real, then the imaginary part.
    """
    logic, before = _EXTREMA[suffix]
    if element.name == "float":
        return e.op(f"arith.{suffix}imumf", *args)
    if element.name == "bool":
        return e.op(logic, *args)
    if element.name == "complex":
        return e.select(complex_order(e, args, before), *args)
    return e.op(f"arith.{suffix}{'u' if element.name == 'unsigned' else 's'}i", *args)


def _extremum(suffix: str, e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return extremum(e, operand_kind(op), args, suffix)


scalar_rule("stablehlo.maximum")(partial(_extremum, "max"))
scalar_rule("stablehlo.minimum")(partial(_extremum, "min"))


def parts(e: Emitter, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Emit the real and the imaginary part of a complex number."""
    part = kind(value.type).part.type
    return e.op("complex.re", value, to=part), e.op("complex.im", value, to=part)


def complex_order(e: Emitter, args: Scalars, predicate: str) -> SSAValue:
    """Emit the lexicographic comparison of two complex numbers, real parts first."""
    (a, b), (c, d) = parts(e, args[0]), parts(e, args[1])
    strict = predicate.replace("ge", "gt").replace("le", "lt")
    same = e.compare_floats("oeq", a, c)
    return e.either(e.compare_floats(strict, a, c), e.both(same, e.compare_floats(predicate, b, d)))


@scalar_rule("stablehlo.clamp")
def _clamp(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    low, value, high = args
    element = operand_kind(op, 1)
    return extremum(e, element, (extremum(e, element, (low, value), "max"), high), "min")


@scalar_rule("stablehlo.select")
def _select(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.select(*args)


# Signs -------------------------------------------------------------------------------------------


@scalar_rule("stablehlo.abs")
def _abs(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    (value,) = args
    if element.name == "float":
        return e.op("math.absf", value)
    if element.name == "complex":
        return e.op("complex.abs", value, to=result_kind(op).type)
    return e.op("math.absi", value) if element.name == "signed" else value


@scalar_rule("stablehlo.negate")
def _negate(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    if element.name == "float":
        return e.op("arith.negf", *args)
    if element.name == "complex":
        return e.op("complex.neg", *args)
    return e.op("arith.subi", integer_constant(e, 0, args[0]), args[0])


@scalar_rule("stablehlo.sign")
def _sign(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    (value,) = args
    if element.name == "complex":
        return _complex_sign(e, value)
    if element.name == "float":
        return FloatExpr(e, value).sign().value
    none, one = integer_constant(e, 0, value), integer_constant(e, 1, value)
    if element.name != "signed":
        return e.select(_is_zero(e, value), none, one)
    negative = e.compare_integers("slt", value, none)
    nonzero = e.select(negative, integer_constant(e, -1, value), one)
    return e.select(_is_zero(e, value), none, nonzero)


def _complex_sign(e: Emitter, value: SSAValue) -> SSAValue:
    """Divide both parts by the absolute value, except for zero."""
    size = e.op("complex.abs", value, to=kind(value.type).part.type)
    zero = e.compare_floats("oeq", size, e.constant(0.0, size.type))
    directions = [e.op("arith.divf", part, size) for part in parts(e, value)]
    return e.select(zero, value, e.op("complex.create", *directions, to=value.type))


# Complex numbers ---------------------------------------------------------------------------------


@scalar_rule("stablehlo.real")
def _real(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return parts(e, args[0])[0] if operand_kind(op).name == "complex" else args[0]


@scalar_rule("stablehlo.imag")
def _imag(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    if operand_kind(op).name == "complex":
        return parts(e, args[0])[1]
    return e.constant(0.0, args[0].type)


@scalar_rule("stablehlo.complex")
def _complex(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op("complex.create", *args, to=result_kind(op).type)


# Functions of floats -----------------------------------------------------------------------------

Compute = Callable[[Emitter, Scalars], SSAValue]


def in_single(e: Emitter, args: Scalars, compute: Compute) -> SSAValue:
    """Emit `compute` in f32 for floats narrower than f32, rounding the result once."""
    element = kind(args[0].type)
    if not element.is_narrow_float:
        return compute(e, args)
    wide = [e.op("arith.extf", value, to=f32) for value in args]
    return e.op("arith.truncf", compute(e, wide), to=element.type)


def function_rule(name: str, real: Compute, of_complex: Compute | None = None) -> None:
    """Register an op that is a function of floats and, with `of_complex`, of complex numbers.

    The registered rule raises OperationError for other elements.
    """

    @scalar_rule(name)
    def convert(e: Emitter, op: Operation, args: Scalars) -> SSAValue:  # pyright: ignore[reportUnusedFunction]
        element = operand_kind(op)
        if element.name == "complex" and of_complex is not None:
            return of_complex(e, args)
        if element.name != "float":
            raise OperationError(op, f"is not defined on elements of type {element.type}")
        return in_single(e, args, real)


def operation(name: str) -> Compute:
    """Return an operation on scalars as a function of an emitter and scalars."""
    return lambda e, values: e.op(name, *values)


for _name, _function in (
    ("atan2", "atan2"),
    ("cosine", "cos"),
    ("exponential", "exp"),
    ("exponential_minus_one", "expm1"),
    ("log", "log"),
    ("log_plus_one", "log1p"),
    ("rsqrt", "rsqrt"),
    ("sine", "sin"),
    ("sqrt", "sqrt"),
    ("tan", "tan"),
    ("tanh", "tanh"),
):
    _of_complex = operation(f"complex.{_function}")
    function_rule(f"stablehlo.{_name}", operation(f"math.{_function}"), _of_complex)
function_rule("stablehlo.cbrt", operation("math.cbrt"))


def logistic(x: FloatExpr) -> FloatExpr:
    """Emit 1 / (1 + exp(-x))."""
    one = x.of(1.0)
    return one / (one + (-x).apply("math.exp"))


def _complex_logistic(e: Emitter, values: Scalars) -> SSAValue:
    one = e.constant(1.0, values[0].type)
    power = e.op("complex.exp", e.op("complex.neg", values[0]))
    return e.op("complex.div", one, e.op("complex.add", one, power))


function_rule("stablehlo.logistic", on_scalars(logistic), _complex_logistic)


@scalar_rule("stablehlo.power")
def _power(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    element = operand_kind(op)
    if element.name == "float":
        return in_single(e, args, lambda inner, values: inner.op("math.powf", *values))
    if element.name == "complex":
        return e.op("complex.pow", *args)
    if element.name == "bool":
        return e.either(args[0], e.op("arith.xori", args[1], integer_constant(e, 1, args[1])))
    return _integer_power(e, element, args)


def _integer_power(e: Emitter, element: Kind, args: Scalars) -> SSAValue:
    """Emit the power by repeated squaring, one step for each bit of the exponent.

    For negative exponents, only the bases 1 and -1 have a nonzero result.
    """
    base, exponent = args
    one, none = integer_constant(e, 1, base), integer_constant(e, 0, base)
    total, square = one, base
    for bit in range(element.width):
        mask = integer_constant(e, 1 << bit, exponent)
        is_set = e.compare_integers("ne", e.op("arith.andi", exponent, mask), none)
        total = e.select(is_set, e.op("arith.muli", total, square), total)
        square = e.op("arith.muli", square, square)
    if element.name != "signed":
        return total
    negative = e.compare_integers("slt", exponent, none)
    unit = e.either(
        e.compare_integers("eq", base, one),
        e.compare_integers("eq", base, integer_constant(e, -1, base)),
    )
    # Powers of -1 depend on the lowest bit only, so reading a negative exponent as unsigned works.
    return e.select(negative, e.select(unit, total, none), total)


@scalar_rule("stablehlo.reduce_precision")
def _reduce_precision(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Round to fewer mantissa bits, then clamp to the exponent range: to infinity or to zero."""
    (value,), element = args, operand_kind(op)
    if element.name != "float":
        raise OperationError(op, f"is not defined on elements of type {element.type}")
    if element.width < 16:
        wide = _reduced_precision(e, op, e.op("arith.extf", value, to=f32), kind(f32))
        return e.op("arith.truncf", wide, to=element.type)
    return _reduced_precision(e, op, value, element)


def _reduced_precision(e: Emitter, op: Operation, value: SSAValue, element: Kind) -> SSAValue:
    exponent, mantissa = integer(op, "exponent_bits"), integer(op, "mantissa_bits")
    source, width = element.fraction_bits, element.width
    bits = e.op("arith.bitcast", value, to=IntegerType(width))
    number = partial(e.constant, element=bits.type)
    if mantissa < source:
        dropped = source - mantissa
        last = e.op("arith.andi", e.op("arith.shrui", bits, number(dropped)), number(1))
        bias = e.op("arith.addi", last, number((1 << (dropped - 1)) - 1))
        bits = e.op("arith.andi", e.op("arith.addi", bits, bias), number(-(1 << dropped)))
    if exponent < (exponents := width - 1 - source):
        middle, reduced = (1 << (exponents - 1)) - 1, (1 << (exponent - 1)) - 1
        mask = ((1 << exponents) - 1) << source
        own = e.op("arith.andi", bits, number(mask))
        zero = e.op("arith.andi", bits, number(1 << (width - 1)))
        too_large = e.compare_integers("ugt", own, number((middle + reduced) << source))
        too_small = e.compare_integers("ule", own, number((middle - reduced) << source))
        bits = e.select(too_large, e.op("arith.ori", zero, number(mask)), bits)
        bits = e.select(too_small, zero, bits)
    rounded = e.op("arith.bitcast", bits, to=element.type)
    return e.select(e.compare_floats("uno", value, value), value, rounded)

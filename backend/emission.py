"""LLVM IR for every scalar operation, by name: the tables behind `primitives`.

An entry is a signature (from the element types in the primitive's name to arguments and result)
and an emitter `(builder, values, *elements) -> value`. Integers arrive in their containers,
sign-extended, are computed in their true width, and leave sign-extended, so `i4` and `i12` wrap
as MLIR says. Narrow floats are computed in `f32` and rounded by a primitive of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from .elements import BF16, Element

Value = Any
Builder = Any
Emit = Callable[..., Value]
Signature = Callable[..., tuple[list[Element | str], Element | str]]

_I16 = ir.IntType(16)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def constant(bits: ir.IntType, value: int) -> Value:
    return ir.Constant(bits, value)


def float_type(element: Element) -> Any:
    """The LLVM type of the register of a float."""
    return ir.DoubleType() if element.width == 64 else ir.FloatType()


def narrow(builder: Builder, value: Value, element: Element) -> Value:
    """From the container to the true width."""
    if element.container_width == element.width:
        return value
    return builder.trunc(value, ir.IntType(element.width))


def widen(builder: Builder, value: Value, element: Element) -> Value:
    """From the true width to the container, by sign or, for unsigned types, with zeros."""
    if element.container_width == element.width:
        return value
    extend = builder.zext if element.is_unsigned else builder.sext
    return extend(value, ir.IntType(element.container_width))


# Memory ---------------------------------------------------------------------------------------


def from_storage(builder: Builder, stored: Value, element: Element) -> Value:
    """The register of an element that was loaded."""
    if element.is_narrow_float:
        if element is BF16:
            return builder.bitcast(
                builder.shl(builder.zext(stored, _I32), constant(_I32, 16)), ir.FloatType()
            )
        return builder.fpext(builder.bitcast(stored, ir.HalfType()), ir.FloatType())
    if element.container_width == 1:
        return builder.icmp_unsigned("!=", stored, constant(ir.IntType(8), 0))
    return stored


def to_storage(builder: Builder, held: Value, element: Element) -> Value:
    """What to store for a register, which holds a value of the element's type."""
    if element is BF16:
        bits = builder.bitcast(held, _I32)
        return builder.trunc(builder.lshr(bits, constant(_I32, 16)), _I16)
    if element.is_narrow_float:
        return builder.bitcast(builder.fptrunc(held, ir.HalfType()), _I16)
    if element.container_width == 1:
        return builder.zext(held, ir.IntType(8))
    return held


# Rounding to narrow floats --------------------------------------------------------------------


def round_to_element(builder: Builder, value: Value, element: Element) -> Value:
    """An `f32` rounded to the nearest value of a narrow float, ties to even; `f32` again."""
    if not element.is_narrow_float:
        return value
    if element is not BF16:
        return builder.fpext(builder.fptrunc(value, ir.HalfType()), ir.FloatType())
    bits = builder.bitcast(value, _I32)
    odd = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 1))
    rounded = builder.add(bits, builder.add(odd, constant(_I32, 0x7FFF)))
    quiet = builder.or_(bits, constant(_I32, 0x400000))
    is_nan = builder.fcmp_unordered("uno", value, value)
    kept = builder.and_(builder.select(is_nan, quiet, rounded), constant(_I32, 0xFFFF0000))
    return builder.bitcast(kept, ir.FloatType())


def _round_double_to_odd(builder: Builder, value: Value) -> Value:
    """An `f64` as an `f32` whose last bit remembers what was lost.

    Rounding that to a format of at most 22 bits of precision is rounding the `f64` once
    (Boldo and Melquiond, "When double rounding is odd", 2005).
    """
    nearest = builder.fptrunc(value, ir.FloatType())
    back = builder.fpext(nearest, ir.DoubleType())
    bits = builder.bitcast(nearest, _I32)
    one = constant(_I32, 1)
    exact = builder.or_(
        builder.fcmp_ordered("==", back, value), builder.fcmp_unordered("uno", value, value)
    )
    is_odd = builder.icmp_unsigned("!=", builder.and_(bits, one), constant(_I32, 0))
    magnitude = builder.module.declare_intrinsic("llvm.fabs", [ir.DoubleType()])
    too_far = builder.fcmp_ordered(
        ">", builder.call(magnitude, [back]), builder.call(magnitude, [value])
    )
    # An even neighbour was chosen: the odd one lies on the other side of the true value.
    other = builder.select(too_far, builder.sub(bits, one), builder.add(bits, one))
    keep = builder.or_(exact, is_odd)
    return builder.bitcast(builder.select(keep, bits, other), ir.FloatType())


# Signatures -----------------------------------------------------------------------------------


def _unary(element: Element) -> tuple[list[Element | str], Element | str]:
    return [element], element


def _binary(element: Element) -> tuple[list[Element | str], Element | str]:
    return [element, element], element


def _ternary(element: Element) -> tuple[list[Element | str], Element | str]:
    return [element, element, element], element


def _comparison(element: Element) -> tuple[list[Element | str], Element | str]:
    return [element, element], "bool"


def _test(element: Element) -> tuple[list[Element | str], Element | str]:
    return [element], "bool"


def _selection(element: Element) -> tuple[list[Element | str], Element | str]:
    return ["bool", element, element], element


def _conversion(source: Element, target: Element) -> tuple[list[Element | str], Element | str]:
    return [source], target


def _float_and_integer(
    element: Element, integer: Element
) -> tuple[list[Element | str], Element | str]:
    return [element, integer], element


# Integers -------------------------------------------------------------------------------------


def _integer(emit: Callable[..., Value]) -> Emit:
    """An operation on integers of the true width."""

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        narrowed = [narrow(builder, value, element) for value in values]
        return widen(builder, emit(builder, *narrowed), element)

    return wrapped


def _method(name: str) -> Emit:
    return _integer(lambda builder, *values: getattr(builder, name)(*values))


def _llvm_integer(name: str, *extra: Value) -> Emit:
    def emit(builder: Builder, *values: Value) -> Value:
        function = builder.module.declare_intrinsic(
            name,
            [values[0].type],
            ir.FunctionType(
                values[0].type, [*(value.type for value in values), *(each.type for each in extra)]
            ),
        )
        return builder.call(function, [*values, *extra])

    return _integer(emit)


def _safe_divisor(builder: Builder, divisor: Value) -> Value:
    """1 in place of 0: division by zero has no meaning in MLIR, but must not stop the process."""
    zero = constant(divisor.type, 0)
    is_zero = builder.icmp_unsigned("==", divisor, zero)
    return builder.select(is_zero, constant(divisor.type, 1), divisor)


def _unsigned_division(method: str) -> Emit:
    return _integer(
        lambda builder, left, right: getattr(builder, method)(left, _safe_divisor(builder, right))
    )


def _signed_parts(builder: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Quotient and remainder, rounded to zero, where `min / -1` wraps rather than traps."""
    right = _safe_divisor(builder, right)
    minus_one = builder.icmp_signed("==", right, constant(right.type, -1))
    divisor = builder.select(minus_one, constant(right.type, 1), right)
    quotient = builder.sdiv(left, divisor)
    negated = builder.sub(constant(left.type, 0), left)
    return builder.select(minus_one, negated, quotient), builder.srem(left, divisor)


def _floor_division(builder: Builder, left: Value, right: Value) -> Value:
    quotient, remainder = _signed_parts(builder, left, right)
    zero = constant(left.type, 0)
    inexact = builder.icmp_signed("!=", remainder, zero)
    opposite = builder.icmp_signed("<", builder.xor(remainder, right), zero)
    down = builder.and_(inexact, opposite)
    return builder.select(down, builder.sub(quotient, constant(left.type, 1)), quotient)


def _ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    quotient, remainder = _signed_parts(builder, left, right)
    zero = constant(left.type, 0)
    inexact = builder.icmp_signed("!=", remainder, zero)
    same = builder.icmp_signed(">=", builder.xor(remainder, right), zero)
    up = builder.and_(inexact, same)
    return builder.select(up, builder.add(quotient, constant(left.type, 1)), quotient)


def _unsigned_ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    right = _safe_divisor(builder, right)
    remainder = builder.urem(left, right)
    inexact = builder.icmp_unsigned("!=", remainder, constant(left.type, 0))
    quotient = builder.udiv(left, right)
    return builder.select(inexact, builder.add(quotient, constant(left.type, 1)), quotient)


def _floor_remainder(builder: Builder, left: Value, right: Value) -> Value:
    return builder.sub(left, builder.mul(_floor_division(builder, left, right), right))


def _shift(method: str) -> Emit:
    """A shift; by the width or more it gives what shifting bit by bit would."""

    def emit(builder: Builder, value: Value, amount: Value) -> Value:
        last = constant(value.type, value.type.width - 1)
        beyond = builder.icmp_unsigned(">", amount, last)
        shifted = getattr(builder, method)(value, builder.select(beyond, last, amount))
        if method == "ashr":
            return shifted
        return builder.select(beyond, constant(value.type, 0), shifted)

    return _integer(emit)


def _integer_comparison(predicate: str, signed: bool) -> Emit:
    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        left, right = (narrow(builder, value, element) for value in values)
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return compare(predicate, left, right)

    return emit


def _select(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    return builder.select(*values)


def _identity(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    return values[0]


def _high_half(signed: bool) -> Emit:
    """The upper half of a full product."""

    def emit(builder: Builder, left: Value, right: Value) -> Value:
        width = left.type.width
        double = ir.IntType(2 * width)
        extend = builder.sext if signed else builder.zext
        product = builder.mul(extend(left, double), extend(right, double))
        return builder.trunc(builder.lshr(product, constant(double, width)), left.type)

    return _integer(emit)


# Floats ---------------------------------------------------------------------------------------


def _float(emit: Callable[..., Value]) -> Emit:
    """An operation on registers, rounded to the element's format afterwards."""

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        return round_to_element(builder, emit(builder, *values), element)

    return wrapped


def _float_method(name: str, flags: tuple[str, ...] = ()) -> Emit:
    return _float(lambda builder, *values: getattr(builder, name)(*values, flags=flags))


def _llvm_float(name: str) -> Emit:
    def emit(builder: Builder, *values: Value) -> Value:
        kind = values[0].type
        function = builder.module.declare_intrinsic(
            f"llvm.{name}", [kind], ir.FunctionType(kind, [value.type for value in values])
        )
        return builder.call(function, values)

    return _float(emit)


def libm(builder: Builder, name: str, values: Sequence[Value]) -> Value:
    """A call of a function of the C mathematics library, which every process has loaded."""
    kind = values[0].type
    symbol = name if isinstance(kind, ir.DoubleType) else f"{name}f"
    function = builder.module.globals.get(symbol)
    if function is None:
        signature = ir.FunctionType(kind, [value.type for value in values])
        function = ir.Function(builder.module, signature, symbol)
    return builder.call(function, values)


def _libm_float(name: str) -> Emit:
    return _float(lambda builder, *values: libm(builder, name, values))


def _reciprocal_root(builder: Builder, value: Value) -> Value:
    root = builder.module.declare_intrinsic("llvm.sqrt", [value.type])
    return builder.fdiv(ir.Constant(value.type, 1.0), builder.call(root, [value]))


def _sigmoid(builder: Builder, value: Value) -> Value:
    one = ir.Constant(value.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, libm(builder, "exp", [builder.fneg(value)])))


def _clamp(builder: Builder, value: Value, low: Value, high: Value) -> Value:
    kind = value.type
    function = ir.FunctionType(kind, [kind, kind])
    largest = builder.module.declare_intrinsic("llvm.maxnum", [kind], function)
    smallest = builder.module.declare_intrinsic("llvm.minnum", [kind], function)
    return builder.call(smallest, [builder.call(largest, [value, low]), high])


def _integer_power(
    builder: Builder, values: Sequence[Value], element: Element, integer: Element
) -> Value:
    exponent = builder.sitofp(narrow(builder, values[1], integer), values[0].type)
    return round_to_element(builder, libm(builder, "pow", [values[0], exponent]), element)


def _float_comparison(predicate: str, ordered: bool) -> Emit:
    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        compare = builder.fcmp_ordered if ordered else builder.fcmp_unordered
        return compare(predicate, *values)

    return emit


def _is_finite(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    difference = builder.fsub(values[0], values[0])
    return builder.fcmp_ordered("ord", difference, difference)


def _is_infinite(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    magnitude = builder.module.declare_intrinsic("llvm.fabs", [values[0].type])
    infinity = ir.Constant(values[0].type, float("inf"))
    return builder.fcmp_ordered("==", builder.call(magnitude, [values[0]]), infinity)


# Conversions ----------------------------------------------------------------------------------


def _float_to_float(
    builder: Builder, values: Sequence[Value], source: Element, target: Element
) -> Value:
    value = values[0]
    if target.width == 64:
        return value if source.width == 64 else builder.fpext(value, ir.DoubleType())
    if source.width == 64:
        if target.width == 32:
            return builder.fptrunc(value, ir.FloatType())
        value = _round_double_to_odd(builder, value)
    return round_to_element(builder, value, target)


def _integer_to_float(signed: bool) -> Emit:
    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        value = narrow(builder, values[0], source)
        convert = builder.sitofp if signed else builder.uitofp
        if target.is_narrow_float and source.width > 24:
            # Two roundings may differ from one: go through a double that remembers.
            exact = convert(value, ir.DoubleType())
            return round_to_element(builder, _round_double_to_odd(builder, exact), target)
        return round_to_element(builder, convert(value, float_type(target)), target)

    return emit


def _float_to_integer(signed: bool) -> Emit:
    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        kind = ir.IntType(target.width)
        name = f"llvm.fpto{'s' if signed else 'u'}i.sat"
        function = builder.module.declare_intrinsic(
            name, [kind, values[0].type], ir.FunctionType(kind, [values[0].type])
        )
        return widen(builder, builder.call(function, [values[0]]), target)

    return emit


def _integer_to_integer(signed: bool) -> Emit:
    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        value = narrow(builder, values[0], source)
        if target.width < source.width:
            value = builder.trunc(value, ir.IntType(target.width))
        elif target.width > source.width:
            extend = builder.sext if signed else builder.zext
            value = extend(value, ir.IntType(target.width))
        return widen(builder, value, target)

    return emit


def _bitcast(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
    value = values[0]
    if source.is_float:
        stored = to_storage(builder, value, source)
        bits = builder.bitcast(stored, ir.IntType(source.width)) if source.width >= 32 else stored
    else:
        bits = narrow(builder, value, source)
    if target.is_float:
        if target.width >= 32:
            return builder.bitcast(bits, float_type(target))
        return from_storage(builder, bits, target)
    return widen(builder, bits, target)


OPERATIONS: dict[str, tuple[Signature, Emit]] = {
    "as": (_unary, _identity),
    "select": (_selection, _select),
    # Integers
    "addi": (_binary, _method("add")),
    "subi": (_binary, _method("sub")),
    "muli": (_binary, _method("mul")),
    "andi": (_binary, _method("and_")),
    "ori": (_binary, _method("or_")),
    "xori": (_binary, _method("xor")),
    "noti": (_unary, _method("not_")),
    "negi": (_unary, _method("neg")),
    "divui": (_binary, _unsigned_division("udiv")),
    "remui": (_binary, _unsigned_division("urem")),
    "divsi": (_binary, _integer(lambda b, x, y: _signed_parts(b, x, y)[0])),
    "remsi": (_binary, _integer(lambda b, x, y: _signed_parts(b, x, y)[1])),
    "floordivsi": (_binary, _integer(_floor_division)),
    "ceildivsi": (_binary, _integer(_ceiling_division)),
    "ceildivui": (_binary, _integer(_unsigned_ceiling_division)),
    "floormodsi": (_binary, _integer(_floor_remainder)),
    "shli": (_binary, _shift("shl")),
    "shrsi": (_binary, _shift("ashr")),
    "shrui": (_binary, _shift("lshr")),
    "maxsi": (_binary, _llvm_integer("llvm.smax")),
    "maxui": (_binary, _llvm_integer("llvm.umax")),
    "minsi": (_binary, _llvm_integer("llvm.smin")),
    "minui": (_binary, _llvm_integer("llvm.umin")),
    "absi": (_unary, _llvm_integer("llvm.abs", constant(ir.IntType(1), 0))),
    "ctlz": (_unary, _llvm_integer("llvm.ctlz", constant(ir.IntType(1), 0))),
    "cttz": (_unary, _llvm_integer("llvm.cttz", constant(ir.IntType(1), 0))),
    "ctpop": (_unary, _llvm_integer("llvm.ctpop")),
    "mulsihigh": (_binary, _high_half(True)),
    "muluihigh": (_binary, _high_half(False)),
    **{
        f"cmpi{name}": (_comparison, _integer_comparison(predicate, signed))
        for name, predicate, signed in (
            ("eq", "==", True),
            ("ne", "!=", True),
            ("slt", "<", True),
            ("sle", "<=", True),
            ("sgt", ">", True),
            ("sge", ">=", True),
            ("ult", "<", False),
            ("ule", "<=", False),
            ("ugt", ">", False),
            ("uge", ">=", False),
        )
    },
    # Floats
    "addf": (_binary, _float_method("fadd")),
    "subf": (_binary, _float_method("fsub")),
    "mulf": (_binary, _float_method("fmul")),
    "divf": (_binary, _float_method("fdiv")),
    "negf": (_unary, _float(lambda builder, value: builder.fneg(value))),
    # In a reduction the order of the terms is free, and a product may be fused into its sum.
    "sumf": (_binary, _float_method("fadd", ("reassoc", "nsz", "contract"))),
    "productf": (_binary, _float_method("fmul", ("reassoc", "nsz"))),
    "termf": (_binary, _float_method("fmul", ("contract",))),
    "maximumf": (_binary, _llvm_float("maximum")),
    "minimumf": (_binary, _llvm_float("minimum")),
    "maxnumf": (_binary, _llvm_float("maxnum")),
    "minnumf": (_binary, _llvm_float("minnum")),
    "remf": (_binary, _libm_float("fmod")),
    "sqrt": (_unary, _llvm_float("sqrt")),
    "absf": (_unary, _llvm_float("fabs")),
    "ceil": (_unary, _llvm_float("ceil")),
    "floor": (_unary, _llvm_float("floor")),
    "round": (_unary, _llvm_float("round")),
    "roundeven": (_unary, _llvm_float("roundeven")),
    "trunc": (_unary, _llvm_float("trunc")),
    "copysign": (_binary, _llvm_float("copysign")),
    "fma": (_ternary, _llvm_float("fma")),
    "clampf": (_ternary, _float(_clamp)),
    "rsqrt": (_unary, _float(_reciprocal_root)),
    "sigmoid": (_unary, _float(_sigmoid)),
    "powf": (_binary, _libm_float("pow")),
    "fpowi": (_float_and_integer, _integer_power),
    **{
        name: (_unary, _libm_float(name))
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh"),
        )
    },
    "atan2": (_binary, _libm_float("atan2")),
    **{
        f"cmpf{prefix}{name}": (_comparison, _float_comparison(predicate, prefix == "o"))
        for prefix in ("o", "u")
        for name, predicate in (
            ("eq", "=="),
            ("gt", ">"),
            ("ge", ">="),
            ("lt", "<"),
            ("le", "<="),
            ("ne", "!="),
        )
    },
    "cmpford": (_comparison, _float_comparison("ord", True)),
    "cmpfuno": (_comparison, _float_comparison("uno", False)),
    "isnan": (_test, lambda b, values, element: b.fcmp_unordered("uno", values[0], values[0])),
    "isfinite": (_test, _is_finite),
    "isinf": (_test, _is_infinite),
    # Conversions
    "convertf": (_conversion, _float_to_float),
    "sitofp": (_conversion, _integer_to_float(True)),
    "uitofp": (_conversion, _integer_to_float(False)),
    "fptosi": (_conversion, _float_to_integer(True)),
    "fptoui": (_conversion, _float_to_integer(False)),
    "converti": (_conversion, _integer_to_integer(True)),
    "convertui": (_conversion, _integer_to_integer(False)),
    "bitcast": (_conversion, _bitcast),
}
"""Every operation of a primitive: its signature and its code."""

REDUCTION_FORMS = {"addf": "sumf", "mulf": "productf"}
"""The form of an operation, where it combines the terms of a reduction."""

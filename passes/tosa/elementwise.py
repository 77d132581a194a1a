"""Convert elementwise operations of TOSA to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import TensorType, f32, i32, i64
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_access import attribute, constant_integer, flag, text
from ...ir.diagnostics import OperationError
from ...tiling.element_types import integer_range
from ..stablehlo.elementwise.arithmetic import in_single, logistic
from ..stablehlo.elementwise.conversions import convert
from ..stablehlo.elementwise.float_expressions import on_scalars
from ..stablehlo.elementwise.implicit_broadcasts import broadcast_pointwise
from ..stablehlo.lowering.element_types import Kind, kind, operand_kind, result_kind
from ..stablehlo.lowering.emitter import Emitter, shape
from .rules import only_element, tosa_rule

Scalars = Sequence[SSAValue]
ScalarRule = Callable[[Emitter, Operation, Scalars], SSAValue]

F32, I32, I64 = kind(f32), kind(i32), kind(i64)


def _pointwise(*names: str, whole: int = 0) -> Callable[[ScalarRule], ScalarRule]:
    """Return a decorator for a rule that emits one element of the result from those of operands.

    It registers operations of TOSA, whose last `whole` operands have one element.
    """

    def register(rule: ScalarRule) -> ScalarRule:
        @tosa_rule(*(f"tosa.{name}" for name in names))
        def convert_op(e: Emitter, op: Operation) -> SSAValue | None:  # pyright: ignore[reportUnusedFunction]
            count = len(op.operands) - whole
            ranks = [len(shape(value)) for value in (*op.results, *op.operands[:count])]
            if ranks[0] < max(ranks):
                return None
            return broadcast_pointwise(
                e,
                op.operands[:count],
                result_kind(op).type,
                lambda inner, args: [rule(inner, op, args)],
            )

        return rule

    return register


def _one_op(names: str, for_floats: str = "", for_integers: str = "") -> None:
    """Register operations that are one op for floats and one for integers; `{}` is their name."""
    for name in names.split():
        _register_one_op(name, for_floats.format(name), for_integers.format(name))


def _register_one_op(name: str, for_floats: str, for_integers: str) -> None:
    @_pointwise(name)
    def rule(e: Emitter, op: Operation, args: Scalars) -> SSAValue:  # pyright: ignore[reportUnusedFunction]
        found = for_floats if operand_kind(op).name == "float" else for_integers
        if not found:
            raise OperationError(op, f"is not defined on elements of type {operand_kind(op).type}")
        return e.op(found, *args)


_one_op("ceil cos erf exp floor log rsqrt sin tanh", "math.{}")
_one_op("abs", "math.absf", "math.absi")
_one_op("add sub", "arith.{}f", "arith.{}i")
_one_op("pow", "math.powf")
_one_op("clz", "", "math.ctlz")
for _kind in ("bitwise", "logical"):
    for _name in ("and", "or", "xor"):
        _register_one_op(f"{_kind}_{_name}", "", f"arith.{_name}i")
_one_op("logical_left_shift", "", "arith.shli")
_one_op("logical_right_shift", "", "arith.shrui")


@_pointwise("bitwise_not", "logical_not")
def _not(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op("arith.xori", args[0], e.constant(-1, args[0].type))


@_pointwise("maximum", "minimum")
def _extremum(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op(extremum(op, op.name[5:8]), *args)


def extremum(op: Operation, name: str) -> str:
    """Return the op of arith for `max` or `min` of the elements of the first operand."""
    if operand_kind(op).name != "float":
        return f"arith.{name}si"
    ignores_nan = "IGNORE" in text(op, "nan_mode").upper()
    return f"arith.{name}numf" if ignores_nan else f"arith.{name}imumf"


def with_infinity(element: Kind) -> Kind:
    """Return the kind in which extrema are computed: some floats of 8 bits have no infinity."""
    return F32 if element.name == "float" and element.width < 16 else element


@_pointwise("clamp")
def _clamp(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Limit a number; where NaN is ignored it becomes the lower bound."""
    low, high = (
        e.constant(cast(Any, attribute(op, f"{side}_val")).value.data, args[0].type)
        for side in ("min", "max")
    )
    least = "arith.minimumf" if operand_kind(op).name == "float" else "arith.minsi"
    return e.op(least, e.op(extremum(op, "max"), args[0], low), high)


_PREDICATES = {
    "tosa.equal": ("oeq", "eq"),
    "tosa.greater": ("ogt", "sgt"),
    "tosa.greater_equal": ("oge", "sge"),
}
"""The predicates for floats and for integers."""


@_pointwise("equal", "greater", "greater_equal")
def _compare(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    for_floats, for_integers = _PREDICATES[op.name]
    if operand_kind(op).name == "float":
        return e.compare_floats(for_floats, *args)
    return e.compare_integers(for_integers, *args)


@_pointwise("select")
def _select(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.select(*args)


@_pointwise("reciprocal")
def _reciprocal(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op("arith.divf", e.constant(1.0, args[0].type), args[0])


@_pointwise("sigmoid")
def _sigmoid(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return in_single(e, args, on_scalars(logistic))


@_pointwise("cast")
def _cast(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Round to the nearest integer, ties to even, and saturate."""
    source, target = operand_kind(op), result_kind(op)
    value = args[0]
    if source.name == "float" and target.name == "signed":
        value = e.op("math.roundeven", value)
    return convert(e, value, source, target)


@_pointwise("negate", whole=2)
def _negate(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Emit `output zero point - (x - input zero point)`; narrow integers saturate."""
    element = operand_kind(op)
    if element.name == "float":
        return e.op("arith.negf", args[0])
    wide = I32 if element.width < 32 else element
    zeros = (only_element(e, each) for each in op.operands[1:])
    value, source, target = (convert(e, each, element, wide) for each in (args[0], *zeros))
    result = e.op("arith.subi", target, e.op("arith.subi", value, source))
    return narrowed(e, result, wide, element)


def narrowed(e: Emitter, value: SSAValue, wide: Kind, element: Kind) -> SSAValue:
    """Emit the conversion of a signed integer to a narrower one, with saturation."""
    if wide.width > element.width:
        limits = integer_range(element.width, is_signed=element.name != "unsigned")
        low, high = (e.constant(each, wide.type) for each in limits)
        value = e.op("arith.minsi", e.op("arith.maxsi", value, low), high)
    return convert(e, value, wide, element)


@_pointwise("arithmetic_right_shift")
def _shift_right(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Shift; to round is to add the last bit that is shifted out."""
    value, amount = args
    shifted = e.op("arith.shrsi", value, amount)
    if not flag(op, "round"):
        return shifted
    one, zero = e.constant(1, value.type), e.constant(0, value.type)
    is_shifted = e.compare_integers("sgt", amount, zero)
    before = e.select(is_shifted, e.op("arith.subi", amount, one), zero)
    last = e.op("arith.andi", e.op("arith.shrsi", value, before), one)
    return e.op("arith.addi", shifted, e.select(is_shifted, last, zero))


@_pointwise("intdiv")
def _divide(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Divide towards zero. The least integer divided by -1 wraps, so divisors of -1 negate."""
    left, right = args
    zero, one, minus_one = (e.constant(each, left.type) for each in (0, 1, -1))
    is_negated = e.compare_integers("eq", right, minus_one)
    quotient = e.op("arith.divsi", left, e.select(is_negated, one, right))
    return e.select(is_negated, e.op("arith.subi", zero, left), quotient)


@_pointwise("mul", whole=1)
def _multiply(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Multiply; products of integers are shifted right and rounded."""
    source, target = operand_kind(op), result_kind(op)
    if target.name == "float":
        return e.op("arith.mulf", *args)
    shift = only_element(e, op.operands[2])
    is_shifted = constant_integer(shift) != 0
    wide = I64 if is_shifted else target
    product = e.op("arith.muli", *(convert(e, each, source, wide) for each in args))
    if is_shifted:
        amount = convert(e, shift, operand_kind(op, 2), wide)
        one = e.constant(1, wide.type)
        half = e.op("arith.shrsi", e.op("arith.shli", one, amount), one)
        product = e.op("arith.shrsi", e.op("arith.addi", product, half), amount)
    return convert(e, product, wide, target)


@_pointwise("rescale", whole=2)
def _rescale(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Emit `(x - input zero point) * multiplier / 2**shift + output zero point`, rounded."""
    source = _stored(operand_kind(op), flag(op, "input_unsigned"))
    target = _stored(result_kind(op), flag(op, "output_unsigned"))
    zeros = (only_element(e, each) for each in op.operands[3:])
    kinds = (source, operand_kind(op, 1), operand_kind(op, 2), source, target)
    value, factor, amount, before, after = (
        convert(e, each, one, I64) for each, one in zip((*args, *zeros), kinds, strict=True)
    )
    value = e.op("arith.subi", value, before)
    scaled = _scaled(e, op, value, factor, amount)
    return narrowed(e, e.op("arith.addi", scaled, after), I64, target)


@tosa_rule("tosa.apply_scale")
def _apply_scale(e: Emitter, op: Operation) -> SSAValue:
    """Scale numbers, or tensors of them."""
    kinds = [operand_kind(op, index) for index in range(3)]

    def body(inner: Emitter, args: Scalars) -> Scalars:
        numbers = (convert(inner, *pair, I64) for pair in zip(args, kinds, strict=True))
        return [convert(inner, _scaled(inner, op, *numbers), I64, result_kind(op))]

    if not isinstance(op.results[0].type, TensorType):
        return body(e, op.operands)[0]
    return broadcast_pointwise(e, op.operands, result_kind(op).type, body)


def _scaled(
    e: Emitter, op: Operation, value: SSAValue, factor: SSAValue, amount: SSAValue
) -> SSAValue:
    """Emit `value * factor / 2**amount` of 64 bits, rounded."""
    one, zero = e.constant(1, I64.type), e.constant(0, I64.type)
    half = e.op("arith.shli", one, e.op("arith.subi", amount, one))
    if "DOUBLE" in text(op, "rounding_mode").upper():
        # Also round the bits that a 32-bit multiplication would have shifted out.
        up, down = (e.constant(sign << 30, I64.type) for sign in (1, -1))
        extra = e.select(e.compare_integers("sge", value, zero), up, down)
        is_long = e.compare_integers("sgt", amount, e.constant(31, I64.type))
        half = e.op("arith.addi", half, e.select(is_long, extra, zero))
    sums = e.op("arith.addi", e.op("arith.muli", value, factor), half)
    return e.op("arith.shrsi", sums, amount)


def _stored(element: Kind, is_unsigned: bool) -> Kind:
    return replace(element, name="unsigned") if is_unsigned else element


@tosa_rule("tosa.table")
def _table(e: Emitter, op: Operation) -> SSAValue:
    """Look numbers up. Those of 16 bits have 9 for an entry, and 7 for a place behind it."""
    value, table = op.operands
    source, entries, result = operand_kind(op), operand_kind(op, 1), result_kind(op)

    def entry(inner: Emitter, number: SSAValue, offset: int, target: Kind) -> SSAValue:
        place = inner.add(inner.to_index(number), offset)
        return convert(inner, inner.element(table, [place]), entries, target)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        if source.width == 8:
            return [entry(inner, args[0], 128, result)]
        bits, mask = (inner.constant(each, source.type) for each in (7, 127))
        place = inner.op("arith.shrsi", args[0], bits)
        behind = convert(inner, inner.op("arith.andi", args[0], mask), source, result)
        base, following = (entry(inner, place, offset, result) for offset in (256, 257))
        step = inner.op("arith.muli", inner.op("arith.subi", following, base), behind)
        start = inner.op("arith.shli", base, inner.constant(7, result.type))
        return [inner.op("arith.addi", start, step)]

    return broadcast_pointwise(e, [value], result.type, body)

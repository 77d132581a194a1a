"""Convert element types, bitcasts and constants."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    TensorType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Operation, SSAValue

from ....dialects.quant import Quantization
from ....ir.attribute_access import attribute
from ....ir.diagnostics import OperationError
from ....tiling.element_types import integer_range
from ..lowering.element_types import Kind, converted, kind, operand_kind, result_kind
from ..lowering.emitter import Emitter, dims, shape
from ..lowering.lowering import CONSTANTS, Lowering, Scalars, Tensors, scalar_rule, tensor_rule
from .arithmetic import parts


@scalar_rule("stablehlo.convert")
def _convert(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return convert(e, args[0], operand_kind(op), result_kind(op))


def convert(e: Emitter, value: SSAValue, source: Kind, target: Kind) -> SSAValue:
    """Emit the conversion of a number to another kind, as XLA does it.

    Floats become integers by truncation, saturating, with 0 for NaN. Integers wrap. Nonzero numbers
    become true. Complex numbers become real by dropping their imaginary part. Quantised numbers,
    with one scale, are what they represent.
    """
    if source == target:
        return value
    if source.quantization is not None:
        real = dequantise(e, value, source.quantization)
        return convert(e, real, kind(source.quantization.expressed), target)
    if target.quantization is not None:
        expressed = kind(target.quantization.expressed)
        return quantise(e, convert(e, value, source, expressed), target.quantization)
    if target.name == "complex":
        if source.name == "complex":
            pair = [convert(e, each, source.part, target.part) for each in parts(e, value)]
            return e.op("complex.create", *pair, to=target.type)
        real = convert(e, value, source, target.part)
        return e.op("complex.create", real, e.constant(0.0, real.type), to=target.type)
    if source.name == "complex":
        return convert(e, parts(e, value)[0], source.part, target)
    if target.name == "bool":
        return _is_not_zero(e, value, source)
    if source.name == "float":
        convert_float = _float_to_float if target.name == "float" else float_to_integer
        return convert_float(e, value, source, target)
    if target.name == "float":
        return _integer_to_float(e, value, source, target)
    if source.width == target.width:
        return value
    if source.width > target.width:
        return e.op("arith.trunci", value, to=target.type)
    return e.op("arith.extsi" if source.name == "signed" else "arith.extui", value, to=target.type)


def dequantise(
    e: Emitter,
    stored: SSAValue,
    quantized: Quantization,
    parameters: tuple[SSAValue, SSAValue] | None = None,
) -> SSAValue:
    """Emit scale * (stored - zero point).

    `parameters` are the scale and the zero point, as floats, if there are several.
    """
    scale, zero = parameters or scale_and_zero_point(e, quantized)
    number = convert(e, stored, _stored_kind(quantized), kind(quantized.expressed))
    return e.op("arith.mulf", e.op("arith.subf", number, zero), scale)


def quantise(
    e: Emitter,
    real: SSAValue,
    quantized: Quantization,
    parameters: tuple[SSAValue, SSAValue] | None = None,
) -> SSAValue:
    """Emit round_to_even(clamp(real / scale + zero point)); NaN becomes 0.

    `parameters` are the scale and the zero point, as floats, if there are several.
    """
    scale, zero = parameters or scale_and_zero_point(e, quantized)
    least = e.constant(float(quantized.minimum), quantized.expressed)
    most = e.constant(float(quantized.maximum), quantized.expressed)
    number = e.op("arith.addf", e.op("arith.divf", real, scale), zero)
    number = e.op("arith.minimumf", e.op("arith.maximumf", number, least), most)
    number = e.op("math.roundeven", number)
    return convert(e, number, kind(quantized.expressed), _stored_kind(quantized))


def scale_and_zero_point(e: Emitter, quantized: Quantization) -> tuple[SSAValue, SSAValue]:
    """Return the scale and the zero point of a type with one scale, as floats."""
    scale, zero = quantized.scales[0], float(quantized.zero_points[0])
    return e.constant(scale, quantized.expressed), e.constant(zero, quantized.expressed)


def _stored_kind(quantized: Quantization) -> Kind:
    storage = quantized.storage
    return Kind(storage, "signed" if quantized.is_signed else "unsigned", storage.width.data)


def convert_tensor(e: Emitter, value: SSAValue, source: Kind, target: Kind) -> SSAValue:
    """Emit the conversion of a tensor's elements; return the tensor if its type stays the same."""
    if source.type == target.type and source.quantization == target.quantization:
        return value
    return e.pointwise(
        [value], target.type, lambda inner, args: [convert(inner, args[0], source, target)]
    )


def _is_not_zero(e: Emitter, value: SSAValue, source: Kind) -> SSAValue:
    if source.name == "float":
        return e.compare_with_zero("une", value)
    return e.compare_integers("ne", value, e.constant(0, value.type))


def _float_to_float(e: Emitter, value: SSAValue, source: Kind, target: Kind) -> SSAValue:
    if source.width == target.width or max(source.width, target.width) < 16:
        value, source = e.op("arith.extf", value, to=f32), kind(f32)
    name = "arith.extf" if source.width < target.width else "arith.truncf"
    return value if source == target else e.op(name, value, to=target.type)


def _integer_to_float(e: Emitter, value: SSAValue, source: Kind, target: Kind) -> SSAValue:
    name = "arith.sitofp" if source.name == "signed" else "arith.uitofp"
    if target.width < 16:
        return e.op("arith.truncf", e.op(name, value, to=f32), to=target.type)
    return e.op(name, value, to=target.type)


def float_to_integer(e: Emitter, value: SSAValue, source: Kind, target: Kind) -> SSAValue:
    """Emit a truncating, saturating conversion; NaN becomes 0."""
    if source.width < 32:
        value = e.op("arith.extf", value, to=f32)
    signed = target.name == "signed"
    width = target.width
    least, most = integer_range(width, is_signed=signed)
    # The least integer is a float, the largest need not be: `top` is the float at or below it.
    bits, precision = width - signed, 24 if value.type == f32 else 53
    largest = (1 << bits) - (1 << max(0, bits - precision))
    top, bottom = (e.constant(float(limit), value.type) for limit in (largest, least))
    # Ordered comparisons with NaN are false, so this maps NaN to `bottom`.
    safe = e.select(e.compare_floats("ogt", value, bottom), value, bottom)
    safe = e.select(e.compare_floats("olt", safe, top), safe, top)
    if signed:
        is_number = e.compare_floats("ord", value, value)
        safe = e.select(is_number, safe, e.constant(0.0, value.type))
    number = e.op("arith.fptosi" if signed else "arith.fptoui", safe, to=target.type)
    if largest == most:
        return number
    too_large = e.compare_floats("oge", value, e.constant(float(most + 1), value.type))
    return e.select(too_large, e.constant(most, target.type), number)


@tensor_rule("stablehlo.bitcast_convert")
def _bitcast_convert(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a bitcast; a narrower type adds a trailing dimension, a wider one removes it."""
    e = lowering.emit
    (source,) = operands
    before, after = operand_kind(op), result_kind(op)
    if before.type == after.type:
        return [source]
    if before.name == "complex":
        narrows = before.width > after.width
        return [_split_complex(e, source, after) if narrows else _join_complex(e, source, after)]
    if before.width == after.width:
        return [_bitcast(e, source, after)]
    if before.width > after.width:
        return [_split_bits(e, source, before, after)]
    return [_join_bits(e, source, before, after)]


def _bitcast(e: Emitter, source: SSAValue, target: Kind) -> SSAValue:
    return e.pointwise(
        [source],
        target.type,
        lambda inner, args: [inner.op("arith.bitcast", args[0], to=target.type)],
    )


def _as_integer(e: Emitter, value: SSAValue, source: Kind) -> SSAValue:
    if source.name != "float":
        return value
    return e.op("arith.bitcast", value, to=IntegerType(source.width))


def _from_integer(e: Emitter, value: SSAValue, target: Kind) -> SSAValue:
    return e.op("arith.bitcast", value, to=target.type) if target.name == "float" else value


def _split_bits(e: Emitter, source: SSAValue, before: Kind, after: Kind) -> SSAValue:
    """Split elements into parts along a new last dimension, lowest bits first."""
    rank = len(shape(source))
    sizes = [*e.sizes(source), before.width // after.width]

    def body(inner: Emitter, args: Scalars) -> Scalars:
        bits = _as_integer(inner, args[0], before)
        part = inner.from_index(inner.loop_index(rank), bits.type)
        amount = inner.op("arith.muli", part, inner.constant(after.width, bits.type))
        shifted = inner.op("arith.shrui", bits, amount)
        return [
            _from_integer(
                inner, inner.op("arith.trunci", shifted, to=IntegerType(after.width)), after
            )
        ]

    empty = e.empty(sizes, after.type)
    return e.loops([source], [dims(*range(rank), loops=rank + 1)], [empty], None, body)[0]


def _join_bits(e: Emitter, source: SSAValue, before: Kind, after: Kind) -> SSAValue:
    rank = len(shape(source)) - 1
    wide = IntegerType(after.width)
    sizes = e.sizes(source)[:-1]

    def body(inner: Emitter, args: Scalars) -> Scalars:
        bits = inner.op("arith.extui", _as_integer(inner, args[0], before), to=wide)
        part = inner.from_index(inner.loop_index(rank), wide)
        amount = inner.op("arith.muli", part, inner.constant(before.width, wide))
        return [inner.op("arith.ori", args[1], inner.op("arith.shli", bits, amount))]

    joined = e.loops(
        [source],
        [dims(*range(rank + 1), loops=rank + 1)],
        [e.fill(e.constant(0, wide), sizes)],
        [dims(*range(rank), loops=rank + 1)],
        body,
    )[0]
    return _bitcast(e, joined, after) if after.name == "float" else joined


def _split_complex(e: Emitter, source: SSAValue, after: Kind) -> SSAValue:
    """Split complex<f64> into its two parts, whose lower and upper halves are a complex<f32>."""
    rank = len(shape(source))

    def body(inner: Emitter, args: Scalars) -> Scalars:
        parts = (inner.op(f"complex.{name}", args[0], to=f64) for name in ("re", "im"))
        part = inner.from_index(inner.loop_index(rank), i64)
        first = inner.compare_integers("eq", part, inner.constant(0, i64))
        bits = inner.op("arith.bitcast", inner.select(first, *parts), to=i64)
        upper = inner.op("arith.shrui", bits, inner.constant(32, i64))
        halves = (inner.op("arith.trunci", half, to=i32) for half in (bits, upper))
        numbers = [inner.op("arith.bitcast", half, to=f32) for half in halves]
        return [inner.op("complex.create", *numbers, to=after.type)]

    empty = e.empty([*e.sizes(source), 2], after.type)
    return e.loops([source], [dims(*range(rank), loops=rank + 1)], [empty], None, body)[0]


def _join_complex(e: Emitter, source: SSAValue, after: Kind) -> SSAValue:
    """Join each two complex<f32> along the last dimension, the parts of a complex<f64>."""
    rank, sizes = len(shape(source)) - 1, e.sizes(source)[:-1]
    pair = [
        e.reshape(e.extract_slice(source, [*[0] * rank, at], [*sizes, 1]), sizes) for at in (0, 1)
    ]

    def joined(inner: Emitter, number: SSAValue) -> SSAValue:
        numbers = (inner.op(f"complex.{part}", number, to=f32) for part in ("re", "im"))
        lower, upper = (
            inner.op("arith.extui", inner.op("arith.bitcast", half, to=i32), to=i64)
            for half in numbers
        )
        upper = inner.op("arith.shli", upper, inner.constant(32, i64))
        return inner.op("arith.bitcast", inner.op("arith.ori", lower, upper), to=f64)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        parts = [joined(inner, number) for number in args]
        return [inner.op("complex.create", *parts, to=after.type)]

    return e.pointwise(pair, after.type, body)


@tensor_rule(*CONSTANTS)
def _constant(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    value = attribute(op, "value")
    type_ = cast("TensorType[Any]", converted(op.result_types[0]))
    # The storage type of a quantised constant may be narrower than its attribute's type.
    if isinstance(value, DenseResourceAttr):
        stored = DenseResourceAttr(value.resource_handle, type_)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        stored = DenseIntOrFPElementsAttr(type_, value.data)
    else:
        raise OperationError(op, f"expects a dense constant, found {value}")
    return [lowering.emit.insert(ConstantOp(stored, type_))]

"""Convert quantised types and the ops on them.

Ops that move elements work on stored integers. Every other op is computed on the real numbers that
its operands represent, and its result is quantised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects.quant import Quantization
from ....ir.attribute_access import with_element
from ..lowering.element_types import kind, quantization_of
from ..lowering.emitter import Emitter
from ..lowering.lowering import Lowering
from ..lowering.rules import Scalars, Tensors, tensor_rule

Parameters = Callable[[Emitter], tuple[SSAValue, SSAValue]]
"""Emits the scale and the zero point, as floats, at a point of the loops."""


def _parameters(e: Emitter, quantized: Quantization) -> Parameters:
    if quantized.axis is None:
        scale, zero = quantized.scales[0], float(quantized.zero_points[0])
        return lambda inner: (
            inner.constant(scale, quantized.expressed),
            inner.constant(zero, quantized.expressed),
        )
    type_ = TensorType(quantized.expressed, [len(quantized.scales)])
    tensors = [
        e.insert(ConstantOp(cast(Any, DenseIntOrFPElementsAttr.from_list)(type_, numbers), type_))
        for numbers in (quantized.scales, [float(each) for each in quantized.zero_points])
    ]
    axis = quantized.axis

    def along(inner: Emitter) -> tuple[SSAValue, SSAValue]:
        index = inner.loop_index(axis)
        scale, zero = (inner.element(tensor, [index]) for tensor in tensors)
        return scale, zero

    return along


def dequantised(e: Emitter, value: SSAValue, quantized: Quantization) -> SSAValue:
    """Emit scale * (stored - zero point)."""
    parameters = _parameters(e, quantized)
    name = "arith.sitofp" if quantized.is_signed else "arith.uitofp"

    def body(inner: Emitter, args: Scalars) -> Scalars:
        scale, zero = parameters(inner)
        number = inner.op(name, args[0], to=quantized.expressed)
        return [inner.op("arith.mulf", inner.op("arith.subf", number, zero), scale)]

    return e.pointwise([value], quantized.expressed, body)


def quantised(e: Emitter, value: SSAValue, quantized: Quantization) -> SSAValue:
    """Emit round_to_even(clamp(real / scale + zero point)); NaN becomes 0."""
    parameters = _parameters(e, quantized)
    name = "arith.fptosi" if quantized.is_signed else "arith.fptoui"

    def body(inner: Emitter, args: Scalars) -> Scalars:
        scale, zero = parameters(inner)
        number = inner.op("arith.addf", inner.op("arith.divf", args[0], scale), zero)
        least = inner.constant(float(quantized.minimum), quantized.expressed)
        most = inner.constant(_largest(quantized), quantized.expressed)
        number = inner.op("arith.maximumf", number, least)
        number = inner.op("math.roundeven", inner.op("arith.minimumf", number, most))
        nan = inner.compare_floats("uno", number, number)
        safe = inner.select(nan, inner.constant(0.0, quantized.expressed), number)
        return [inner.op(name, safe, to=quantized.storage)]

    return e.pointwise([value], quantized.storage, body)


def _largest(quantized: Quantization) -> float:
    """Return the largest stored number that the float type represents exactly."""
    mantissa = {16: 10, 32: 23, 64: 52}.get(kind(quantized.expressed).width, 23)
    extra = max(quantized.maximum.bit_length() - mantissa - 1, 0)
    return float(quantized.maximum >> extra << extra)


@tensor_rule("stablehlo.uniform_quantize")
def _uniform_quantize(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    (value,) = operands
    source, target = quantization_of(op.operand_types[0]), quantization_of(op.result_types[0])
    if source is not None:
        value = dequantised(e, value, source)
    return [value if target is None else quantised(e, value, target)]


@tensor_rule("stablehlo.uniform_dequantize")
def _uniform_dequantize(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    source = quantization_of(op.operand_types[0])
    return operands if source is None else [dequantised(lowering.emit, operands[0], source)]


@tensor_rule("quantised")
def compute_on_reals(lowering: Lowering, op: Operation, operands: Tensors) -> list[SSAValue]:
    """Convert an op on quantised numbers: dequantise its operands, and quantise its results."""
    e = lowering.emit
    reals = [
        value if quantized is None else dequantised(e, value, quantized)
        for value, quantized in zip(operands, map(quantization_of, op.operand_types), strict=True)
    ]
    stand_in = _with_real_types(op)
    for inner, outer in zip(stand_in.operands, op.operands, strict=True):
        lowering.values[inner] = lowering.value(outer)
    results = lowering.with_origin(stand_in).results(stand_in, reals)
    quantized = [
        value if stored is None else quantised(e, value, stored)
        for value, stored in zip(results, map(quantization_of, op.result_types), strict=True)
    ]
    stand_in.drop_all_references()
    return quantized


def _with_real_types(op: Operation) -> Operation:
    """Return a copy of an op with float types instead of quantised ones, also in its regions."""
    block = Block(arg_types=[_real_type(each) for each in op.operand_types])
    copy = op.clone(dict(zip(op.operands, block.args, strict=False)))
    for position, argument in enumerate(block.args):
        copy.operands[position] = argument
    for inner in copy.walk():
        arguments = [a for region in inner.regions for each in region.blocks for a in each.args]
        for value in (*inner.results, *arguments):
            if quantization_of(value.type) is not None:
                Rewriter.replace_value_with_new_type(value, _real_type(value.type))
    copy.location = op.location
    return copy


def _real_type(value_type: Attribute) -> Attribute:
    quantized = quantization_of(value_type)
    return value_type if quantized is None else with_element(value_type, quantized.expressed)

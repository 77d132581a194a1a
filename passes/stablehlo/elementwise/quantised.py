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
from ....ir.diagnostics import OperationError
from ..lowering.element_types import operand_kind, quantization_of, result_kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Lowering, Scalars, Tensors, scalar_rule, tensor_rule
from .conversions import convert, dequantise, quantise, scale_and_zero_point

Parameters = Callable[[Emitter], tuple[SSAValue, SSAValue]]
"""Emits the scale and the zero point, as floats, at a point of the loops."""


def _parameters(e: Emitter, quantized: Quantization) -> Parameters:
    if quantized.axis is None:
        return lambda inner: scale_and_zero_point(inner, quantized)
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


def _dequantised(e: Emitter, value: SSAValue, quantized: Quantization) -> SSAValue:
    parameters = _parameters(e, quantized)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        return [dequantise(inner, args[0], quantized, parameters(inner))]

    return e.pointwise([value], quantized.expressed, body)


def _quantised(e: Emitter, value: SSAValue, quantized: Quantization) -> SSAValue:
    parameters = _parameters(e, quantized)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        return [quantise(inner, args[0], quantized, parameters(inner))]

    return e.pointwise([value], quantized.storage, body)


@scalar_rule("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize")
def _requantise(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return convert(e, args[0], operand_kind(op), result_kind(op))


@tensor_rule("stablehlo.uniform_quantize")
def _uniform_quantize(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    (value,) = operands
    source, target = quantization_of(op.operand_types[0]), quantization_of(op.result_types[0])
    if source is not None:
        value = _dequantised(e, value, source)
    return [value if target is None else _quantised(e, value, target)]


@tensor_rule("stablehlo.uniform_dequantize")
def _uniform_dequantize(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    source = quantization_of(op.operand_types[0])
    return operands if source is None else [_dequantised(lowering.emit, operands[0], source)]


@scalar_rule("quantised")
def _compute_scalar(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Emit an op on quantised scalars: dequantise its operands, and quantise its result."""
    stand_in = _with_real_types(op)
    rule = scalar_rule.get(op.name)
    if rule is None:
        raise OperationError(op, "is not supported in a body on quantised elements")
    reals = [
        convert(e, value, operand_kind(op, index), operand_kind(stand_in, index))
        for index, value in enumerate(args)
    ]
    result = convert(e, rule(e, stand_in, reals), result_kind(stand_in), result_kind(op))
    stand_in.drop_all_references()
    return result


@tensor_rule("quantised")
def _compute_tensor(lowering: Lowering, op: Operation, operands: Tensors) -> list[SSAValue]:
    """Convert an op on quantised numbers: dequantise its operands, and quantise its results."""
    e = lowering.emit
    reals = [
        value if quantized is None else _dequantised(e, value, quantized)
        for value, quantized in zip(operands, map(quantization_of, op.operand_types), strict=True)
    ]
    stand_in = _with_real_types(op)
    for inner, outer in zip(stand_in.operands, op.operands, strict=True):
        lowering.values[inner] = lowering.value(outer)
    results = lowering.with_origin(stand_in).results(stand_in, reals)
    quantized = [
        value if stored is None else _quantised(e, value, stored)
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
    return copy


def _real_type(value_type: Attribute) -> Attribute:
    quantized = quantization_of(value_type)
    return value_type if quantized is None else with_element(value_type, quantized.expressed)

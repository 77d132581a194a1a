"""Convert custom calls by their target, and the `check` ops of test programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
)
from xdsl.dialects.cf import AssertOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.check import AgreeOp
from ...dialects.chlo.dialect import UNARY, Chlo
from ...dialects.stablehlo.syntax import string
from ...ir.attribute_access import attribute
from ...ir.diagnostics import OperationError
from .arithmetic import operand_kind
from .emitter import BOOL
from .lowering import Lowering
from .rules import call_rule, tensor_rule

Tensors = Sequence[SSAValue]


@tensor_rule("stablehlo.custom_call")
def _custom_call(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    target = string(attribute(op, "call_target_name")) or ""
    rule = call_rule.get(target)
    if rule is None:
        raise OperationError(op, f"calls '{target}', which is no target that mesh-opt knows")
    return rule(lowering, op, operands)


@tensor_rule("interpreter.probe")
def _probe(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    del lowering, op
    return operands


@call_rule(
    *("Sharding", "annotate_device_placement", "xla.sdy.FuncResultSharding"),
    *("SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint"),
)
def _identity(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Drop an annotation; the passes in `imports/` have read its shardings before."""
    if len(operands) != len(op.results) or any(
        one != other for one, other in zip(op.operand_types, op.result_types, strict=True)
    ):
        raise OperationError(op, "changes the shape of what it annotates, which is not supported")
    return operands


@call_rule(*(f"mhlo.{name}" for name in UNARY.split()), "mhlo.topk")
def _mhlo(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a CHLO function that JAX wrote as a call, which keeps XLA from expanding it."""
    target = string(attribute(op, "call_target_name")) or ""
    name = {"mhlo.topk": "chlo.top_k"}.get(target, target.replace("mhlo.", "chlo."))
    found = op.attributes.get("mhlo.attributes")
    options = dict(found.data) if isinstance(found, DictionaryAttr) else {}
    largest = options.pop("largest", None)
    if isinstance(largest, IntegerAttr) and not largest.value.data:
        raise OperationError(op, "asks for the smallest elements, expected largest = true")
    stand_in = _FUNCTIONS[name].create(
        operands=op.operands, result_types=op.result_types, properties=options
    )
    stand_in.location = op.location
    results = lowering.at(stand_in).results(stand_in, operands)
    stand_in.drop_all_references()
    return results


_FUNCTIONS = {each.name: each for each in Chlo.operations}


# Expectations ------------------------------------------------------------------------------------


def _agree(
    lowering: Lowering, op: Operation, actual: SSAValue, expected: SSAValue, how: str
) -> SSAValue:
    """Emit a comparison of two tensors and an assertion that it holds.

    The comparison op itself fails at run time and reports the difference.
    """
    e = lowering.emit
    properties: dict[str, Attribute] = {"how": StringAttr(how)}
    for name in ("tolerance", "max_ulp_difference", "min_ulp_difference"):
        found = attribute(op, name)
        if isinstance(found, IntegerAttr | FloatAttr):
            number = found.value.data
            properties[name] = (
                FloatAttr(float(number), f64) if name == "tolerance" else IntegerAttr(number, 64)  # pyright: ignore
            )
    if operand_kind(op).name == "unsigned":
        properties["is_unsigned"] = UnitAttr()
    made = AgreeOp.create(
        operands=[actual, expected],
        result_types=[TensorType(BOOL, [])],
        properties=properties,
    )
    result = e.insert(made)
    e.add_op(AssertOp(e.element(result), "values are as expected"))
    return result


@call_rule("check.expect_eq", "check.expect_almost_eq", "check.expect_close")
def _expect(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    target = string(attribute(op, "call_target_name")) or ""
    _agree(lowering, op, operands[0], operands[1], target.removeprefix("check.expect_"))
    return ()


@call_rule("check.eq")
def _check_eq(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Check that integers are equal and floats almost.

    The expected values are the first operand.
    """
    how = "eq" if operand_kind(op).is_integer else "almost_eq"
    return [_agree(lowering, op, operands[1], operands[0], how)]


@tensor_rule("check.expect_eq", "check.expect_almost_eq", "check.expect_close")
def _expect_op(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    _agree(lowering, op, operands[0], operands[1], op.name.removeprefix("check.expect_"))
    return ()


@tensor_rule("check.expect_eq_const", "check.expect_almost_eq_const")
def _expect_constant(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    value = attribute(op, "value")
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise OperationError(op, f"expects a dense constant, found {value}")
    type_ = cast("TensorType[Any]", operands[0].type)
    shape = cast("TensorType[Any]", cast(Any, value).type).get_shape()
    constant_type = TensorType(type_.element_type, shape)
    stored = DenseIntOrFPElementsAttr(constant_type, cast(Any, value).data)
    expected = lowering.emit.insert(ConstantOp(stored, constant_type))
    how = op.name.removeprefix("check.expect_").removesuffix("_const")
    _agree(lowering, op, operands[0], expected, how)
    return ()


@call_rule("shape_assertion")
def _shape_assertion(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert an assertion on dynamic sizes by `jax.export`. Its message keeps its placeholders."""
    message = string(op.attributes.get("error_message")) or "sizes are as the program expects"
    lowering.emit.add_op(AssertOp(lowering.emit.element(operands[0]), message))
    return ()

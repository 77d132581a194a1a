"""Convert the expectations of test programs: the ops and custom calls of `check`."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
)
from xdsl.dialects.cf import AssertOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.check import AgreeOp, ProbedOp, ProbeOp
from ....dialects.stablehlo.syntax import string
from ....ir.attribute_access import attribute
from ....ir.diagnostics import OperationError
from ..elementwise.conversions import convert, convert_tensor
from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import BOOL
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule


def _agree(
    lowering: Lowering, op: Operation, actual: SSAValue, expected: SSAValue, how: str
) -> SSAValue:
    """Emit a comparison of two tensors and an assertion that it holds.

    The comparison op itself fails at run time and reports the difference.
    """
    e = lowering.emit
    properties: dict[str, Attribute] = {"how": StringAttr(how)}
    for name, own in (("tolerance", "tolerance"), ("tolerance", "atol"), ("rtol", "rtol")):
        found = attribute(op, own)
        if isinstance(found, IntegerAttr | FloatAttr):
            properties[name] = FloatAttr(float(found.value.data), f64)
    for name in ("max_ulp_difference", "min_ulp_difference"):
        found = attribute(op, name)
        if isinstance(found, IntegerAttr):
            properties[name] = IntegerAttr(found.value.data, 64)
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


def _require_alike(op: Operation, result_count: int) -> None:
    """Check the signature of a call. Raises OperationError."""
    types = op.operand_types
    if len(types) != 2 or types[0] != types[1] or len(op.results) != result_count:
        own = FunctionType.from_lists(types, op.result_types)
        raise OperationError(
            op, f"expected two operands of one type and {result_count} results, found {own}"
        )


@call_rule("check.expect_eq", "check.expect_almost_eq", "check.expect_close")
def _expect(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    _require_alike(op, 0)
    target = string(attribute(op, "call_target_name")) or ""
    _agree(lowering, op, operands[0], operands[1], target.removeprefix("check.expect_"))
    return ()


@call_rule("check.eq")
def _check_eq(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Check that integers are equal and floats almost.

    The expected values are the first operand.
    """
    _require_alike(op, 1)
    how = "eq" if operand_kind(op).is_integer else "almost_eq"
    return [_agree(lowering, op, operands[1], operands[0], how)]


@tensor_rule("check.expect_eq", "check.expect_almost_eq", "check.expect_close")
def _expect_op(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    _agree(lowering, op, operands[0], operands[1], op.name.removeprefix("check.expect_"))
    return ()


@tensor_rule("check.expect_true", "check.expect_false")
def _expect_truth(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e, word = lowering.emit, op.name.removeprefix("check.expect_")
    truth = convert(e, operands[0], operand_kind(op), kind(BOOL))
    e.add_op(AssertOp(truth if word == "true" else e.negated(truth), f"the operand is {word}"))
    return ()


@tensor_rule("check.expect_all_true")
def _expect_all_true(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Compare the truth of all elements with true. A NaN is true."""
    e, value = lowering.emit, operands[-1]
    if not isinstance(value.type, TensorType):
        raise OperationError(op, f"is not computed for operands of type {value.type}")
    truth = convert_tensor(e, value, operand_kind(op, len(operands) - 1), kind(BOOL))
    _agree(lowering, op, truth, e.fill(e.constant(1, BOOL), e.sizes(value)), "eq")
    return ()


@tensor_rule("interpreter.probe", "interpreter.print")
def _probe(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    made = ProbeOp.create(operands=operands, properties=_probe_options(op))
    lowering.emit.add_op(made)
    return operands


@tensor_rule("check.expect_serialized_eq")
@call_rule("check.expect_serialized_eq")
def _expect_probed(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    (expected,) = operands
    made = ProbedOp.create(result_types=[expected.type], properties=_probe_options(op))
    _agree(lowering, op, lowering.emit.insert(made), expected, "eq")
    return ()


def _probe_options(op: Operation) -> dict[str, Attribute]:
    found = {name: attribute(op, name) for name in ("probe_id", "iteration")}
    return {name: each for name, each in found.items() if each is not None}


@tensor_rule("check.expect_eq_const", "check.expect_almost_eq_const")
def _expect_constant(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    value: Any = attribute(op, "value")
    constant_type = cast("TensorType[Any]", operands[0].type)
    stored = DenseIntOrFPElementsAttr(constant_type, value.data)
    expected = lowering.emit.insert(ConstantOp(stored, constant_type))
    how = op.name.removeprefix("check.expect_").removesuffix("_const")
    _agree(lowering, op, operands[0], expected, how)
    return ()

"""Convert custom calls by their target."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation

from ....dialects.check import HoldsOp
from ....dialects.chlo.dialect import UNARY, Chlo
from ....dialects.stablehlo.syntax import string
from ....ir.attribute_access import attribute
from ....ir.diagnostics import OperationError
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule


@tensor_rule("stablehlo.custom_call")
def _custom_call(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    target = string(attribute(op, "call_target_name")) or ""
    rule = call_rule.get(target)
    if rule is None:
        if "python" in target and "callback" in target:
            raise OperationError(
                op,
                f"calls back into Python ('{target}'), which a compiled program does not run: leave"
                " jax.debug.print, jax.pure_callback and io_callback out of the function",
            )
        raise OperationError(op, f"calls the unknown target '{target}'")
    return rule(lowering, op, operands)


@call_rule(
    *("Sharding", "annotate_device_placement", "xla.sdy.FuncResultSharding"),
    *("SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint"),
)
def _identity(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Drop an annotation; the passes in `imports/` have read its shardings before."""
    if len(operands) != len(op.results) or any(
        one != other for one, other in zip(op.operand_types, op.result_types, strict=True)
    ):
        raise OperationError(
            op, "changes the shape of the annotated tensor, which is not supported"
        )
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
        raise OperationError(
            op, "has largest = false, expected true: the smallest elements are not supported"
        )
    stand_in = _FUNCTIONS[name].create(
        operands=op.operands, result_types=op.result_types, properties=options
    )
    stand_in.location = op.location
    results = lowering.with_origin(stand_in).results(stand_in, operands)
    stand_in.drop_all_references()
    return results


_FUNCTIONS = {each.name: each for each in Chlo.operations}


@call_rule("shape_assertion")
def _shape_assertion(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert an assertion on dynamic sizes by `jax.export`: a condition, values of the message."""
    message = string(op.attributes.get("error_message")) or "sizes are as the program expects"
    scalars = [lowering.emit.element(operand) for operand in operands]
    lowering.emit.add_op(
        HoldsOp.create(operands=scalars, properties={"message": StringAttr(message)})
    )
    return ()

"""`convert-tosa-to-linalg`: convert TOSA to linalg, tensor, arith and math.

    %r = tosa.add %a, %b       ->  a `linalg.generic` that adds two elements

The operations compute the same numbers as before. Those without a rule, or of elements that linalg
does not compute with, stay as they are: the interpreter runs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, Signedness, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.tosa.attributes import ShapeType
from ...ir.locations import located_builder
from ...ir.regions import walk
from ...ir.tensor_types import shapes_agree, static_shape

_RULES = ("data_movement", "elementwise", "products", "reductions")
"""The modules that fill the table of rules."""


class ConvertTosaToLinalgPass(ModulePass):
    """Convert TOSA to linalg, tensor, arith and math."""

    name = "convert-tosa-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in walk(op) if is_tosa(each)]
        if not found:
            return
        # Imported here because programs without TOSA do not need these modules.
        from .rules import LocalSizes, SizedEmitter, tosa_rule

        for name in _RULES:
            import_module(f".{name}", __package__)
        sizes = LocalSizes()
        for operation in found:
            rule = tosa_rule.get(operation.name)
            types = (*operation.operand_types, *operation.result_types)
            if rule is None or not all(map(_is_computed, types)):
                continue
            builder = located_builder(InsertPoint.before(operation), operation)
            e = SizedEmitter(builder, operation, sizes)
            result = rule(e, operation)
            (old,) = operation.results
            # The type of a result may be wrong, so that the operation fails when it runs.
            if result is not None and shapes_agree(static_shape(result), static_shape(old)):
                Rewriter.replace_op(operation, [], [e.cast(result, old.type)])


def is_tosa(operation: Operation) -> bool:
    """Return whether an op is one of TOSA."""
    return operation.name.startswith("tosa.")


def _is_computed(type_: Attribute) -> bool:
    """Return whether linalg computes with elements of a type."""
    if not isinstance(type_, TensorType):
        return isinstance(type_, ShapeType)
    element = cast("TensorType[Any]", type_).element_type
    if isinstance(element, IntegerType):
        return cast("IntegerType[Any, Any]", element).signedness.data is Signedness.SIGNLESS
    return isinstance(element, AnyFloat)

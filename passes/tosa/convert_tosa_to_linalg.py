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
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.tosa.attributes import ShapeType
from ...ir.locations import located_builder
from ...ir.regions import walk
from ...ir.tensor_types import shapes_agree

_RULES = ("data_movement", "elementwise", "fourier", "products", "reductions", "resize", "scatter")
"""The modules that fill the table of rules."""


class ConvertTosaToLinalgPass(ModulePass):
    """Convert TOSA to linalg, tensor, arith and math."""

    name = "convert-tosa-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in walk(op) if is_tosa(each)]
        if not found:
            return
        # Imported here because programs without TOSA do not need these modules.
        from .rules import SizedEmitter, UnsharedSizes, tosa_rule

        for name in _RULES:
            import_module(f".{name}", __package__)
        sizes = UnsharedSizes()
        for operation in found:
            rule = tosa_rule.get(operation.name)
            types = (*operation.operand_types, *operation.result_types)
            if rule is None or not all(map(_is_computed, types)):
                continue
            builder = located_builder(InsertPoint.before(operation), operation)
            e = SizedEmitter(builder, operation, sizes)
            made = rule(e, operation)
            if made is None:
                continue
            results = [made] if isinstance(made, SSAValue) else made
            pairs = list(zip(results, operation.results, strict=True))
            # The type of a result may be wrong, so that the operation fails when it runs.
            if all(_agree(new.type, old.type) for new, old in pairs):
                Rewriter.replace_op(operation, [], [e.cast(new, old.type) for new, old in pairs])


def _agree(new: Attribute, old: Attribute) -> bool:
    """Return whether types are equal, or of tensors whose shapes may be."""
    return new == old or shapes_agree(*(cast("TensorType[Any]", t).get_shape() for t in (new, old)))


def is_tosa(operation: Operation) -> bool:
    """Return whether an op is one of TOSA."""
    return operation.name.startswith("tosa.")


def _is_computed(type_: Attribute) -> bool:
    """Return whether linalg computes with numbers of a type."""
    if isinstance(type_, ShapeType):
        return True
    if isinstance(type_, TensorType):
        return _is_computed(cast("TensorType[Any]", type_).element_type)
    if isinstance(type_, IntegerType):
        return cast("IntegerType[Any, Any]", type_).signedness.data is Signedness.SIGNLESS
    return isinstance(type_, AnyFloat)

"""Register the factor rules of operations by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from math import prod
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ....ir.foreign_code import OpenTable
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import DimensionFactors, FactorKind, FactorRule
from ....sharding.sharding import ReductionKind
from .builder import elementwise_rule
from .combiners import with_declared_kinds

RuleFunction = Callable[[Operation], FactorRule | None]
"""Return an operation's rule, or `None` if this particular operation has none."""

AnyRuleFunction = TypeVar("AnyRuleFunction", bound=Callable[[Any], FactorRule | None])
"""A rule function, whose parameter may be a specific operation class."""

_MODULES = {
    "bufferization": ("tensor",),
    "linalg": ("linalg",),
    "shard": ("shard",),
    "stablehlo": ("stablehlo",),
    "tensor": ("reshapes", "tensor"),
    "tosa": ("reshapes", "tensor", "tosa", "tosa_windows"),
}
"""The files of this folder that define the rules of each dialect."""

_loaded: set[str] = set()


def _load(name: str) -> None:
    """Import the modules that define the rules of the dialect of an operation, once."""
    dialect = name.partition(".")[0]
    if dialect not in _loaded:
        _loaded.add(dialect)
        for module in _MODULES.get(dialect, ()):
            import_module(f".{module}", __package__)


_RULES = OpenTable[RuleFunction]("factor rule", _load)
_DIALECT_RULES = OpenTable[RuleFunction]("factor rule")


def sharding_rule(*names: str) -> Callable[[AnyRuleFunction], AnyRuleFunction]:
    """Register the decorated function as the rule of the operations of these names.

    Raises ValueError if a name already has another rule.
    """
    return _RULES.decorator("sharding_rule", names, "rule", checked=_checked)


def dialect_rule(dialect: str) -> Callable[[AnyRuleFunction], AnyRuleFunction]:
    """Register the decorated function for all operations of a dialect without a rule of their own.

    Raises ValueError if the dialect already has such a rule.
    """
    return _DIALECT_RULES.decorator(
        "dialect_rule", [dialect], "rule", checked=_checked, example="acme"
    )


def _checked(function: RuleFunction) -> RuleFunction:
    """Wrap a rule function with a check that the rule fits the operation. It raises ValueError."""

    @wraps(function)
    def call(operation: Operation) -> FactorRule | None:
        rule = cast("object", function(operation))
        if rule is None:
            return None
        if not isinstance(rule, FactorRule):
            raise TypeError(f"returns a {type(rule).__name__}, not a FactorRule or None")
        _check(operation, rule)
        return with_declared_kinds(operation, rule)

    return call


def _check(operation: Operation, rule: FactorRule) -> None:
    for what, values, listed in (
        ("operand", operation.operands, rule.operands),
        ("result", operation.results, rule.results),
    ):
        if len(values) != len(listed):
            raise ValueError(f"the rule has {len(listed)} {what}s, the operation {len(values)}")
        for index, (value, dimensions) in enumerate(zip(values, listed, strict=True)):
            rank = len(tensor_shape(value) or ())
            if len(dimensions) != rank:
                raise ValueError(
                    f"the rule gives {what} #{index} {len(dimensions)} dimensions, but it is of"
                    f" type {value.type}"
                )
            shape = tensor_shape(value) or ()
            for dimension, (extent, factors) in enumerate(zip(shape, dimensions, strict=True)):
                _check_extent(rule, f"dimension {dimension} of {what} #{index}", extent, factors)
    for index, factor in enumerate(rule.factors):
        kinds = len(factor.reductions)
        _check_kinds(f"factor f{index}", factor.reductions)
        if factor.kind is FactorKind.REDUCTION and kinds != len(operation.results):
            raise ValueError(
                f"factor f{index} is a reduction with kinds for {kinds} results, the operation has"
                f" {len(operation.results)}"
            )


def _check_kinds(name: str, kinds: Sequence[object]) -> None:
    """Check that the kinds of a reduction are no strings, which are equal to kinds."""
    for kind in kinds:
        if kind is not None and not isinstance(kind, ReductionKind):
            raise ValueError(f"{name} is reduced by {kind!r}, which is no ReductionKind")


def _check_extent(
    rule: FactorRule, name: str, extent: int | None, factors: DimensionFactors
) -> None:
    """Check that pass-through and reduction factors of a dimension multiply to its extent."""
    found = [rule.factors[factor] for factor in factors]
    if "result" in name and any(factor.kind is FactorKind.REDUCTION for factor in found):
        raise ValueError(f"the rule gives {name} a reduction, which results do not have")
    sizes = [factor.size for factor in found if factor.size is not None]
    if extent is None or not found or len(sizes) < len(found):
        return
    kinds = FactorKind.PASS_THROUGH, FactorKind.REDUCTION
    if all(factor.kind in kinds for factor in found) and prod(sizes) != extent:
        made = " x ".join(
            f"f{factor} ({size})" for factor, size in zip(factors, sizes, strict=True)
        )
        raise ValueError(f"the rule gives {name} of extent {extent} the factors {made}")


def _touches_no_tensor(operation: Operation) -> bool:
    return not any(
        isinstance(value.type, TensorType) for value in (*operation.operands, *operation.results)
    )


def factor_rule(operation: Operation) -> FactorRule | None:
    """Return the factor rule of an operation.

    The rule has one entry per operand and per result, in the operation's order; a value that is not
    a ranked tensor has an empty entry. An operation without tensors has a rule without factors.
    Returns `None` if nothing is known, so that all operands and results must be replicated.
    """
    name = operation.name
    function = _RULES.get(name)
    if function is None:
        _load(name)
        function = _RULES.get(name) or _DIALECT_RULES.get(name.partition(".")[0])
    if function is not None and (found := function(operation)) is not None:
        return found
    if _touches_no_tensor(operation):
        return FactorRule((), ((),) * len(operation.operands), ((),) * len(operation.results))
    return None


dialect_rule("arith")(elementwise_rule)
dialect_rule("math")(elementwise_rule)

"""Cache the factor rules of a module for operations that look the same."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.regions import inner_blocks
from ....ir.structural_hash import AttributeNumbers
from ....sharding.factors import FactorRule
from .registry import factor_rule

_OWN_BODIES = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})
"""Linalg operations with a body of their own; the others' bodies follow from names and types."""


def body_matters(operation: Operation) -> bool:
    """Return whether an operation has regions that its name and types do not determine."""
    if not operation.regions:
        return False
    return operation.name in _OWN_BODIES or not operation.name.startswith("linalg.")


class OperationKeys:
    """Keys of operations: operations with equal keys do the same to tensors of the same types.

    Attributes and types are numbered by value, so equal objects that passes have created count as
    equal, and each object is hashed once. The producers of operands do not matter.
    """

    def __init__(self) -> None:
        self._number = AttributeNumbers().number

    def __call__(self, operation: Operation) -> tuple[object, ...]:
        """Return the key of an operation in its current state."""
        number = self._number
        return (
            operation.name,
            *[number(operand.type) for operand in operation.operands],
            None,
            *[number(result.type) for result in operation.results],
            None,
            *operation.properties,
            *map(number, operation.properties.values()),
            None,
            *operation.attributes,
            *map(number, operation.attributes.values()),
            *(self._body(operation) if body_matters(operation) else ()),
        )

    def _body(self, operation: Operation) -> tuple[object, ...]:
        """Return a key of a body, independent of the names of its values."""
        numbers: dict[SSAValue, int] = {}
        key: list[object] = []
        for block in inner_blocks(operation):
            for argument in block.args:
                numbers[argument] = len(numbers)
            for inner in block.ops:
                if inner.regions or inner.successors:
                    return (operation,)
                key.append(inner.name)
                key += [numbers.get(operand, operand) for operand in inner.operands]
                key += inner.properties
                key += map(self._number, inner.properties.values())
                for result in inner.results:
                    numbers[result] = len(numbers)
                    key.append(self._number(result.type))
        return tuple(key)


class RuleCache:
    """Returns equal rules as one object, so that derived data can be cached by identity."""

    def __init__(self) -> None:
        self._key = OperationKeys()
        self._by_operation: dict[tuple[object, ...], FactorRule | None] = {}
        self._interned: dict[FactorRule, FactorRule] = {}

    def intern(self, rule: FactorRule) -> FactorRule:
        """Return the unique object that represents all rules equal to this one."""
        return self._interned.setdefault(rule, rule)

    def rule_of(self, operation: Operation) -> FactorRule | None:
        """Return the rule of an operation, as `factor_rule` does."""
        key = self._key(operation)
        # Hashing the key dominates the time, so the key is looked up once, with a sentinel.
        known = self._by_operation.get(key, self)
        if isinstance(known, RuleCache):
            rule = factor_rule(operation)
            known = self._by_operation[key] = None if rule is None else self.intern(rule)
        return known

"""Factor rules of a module, each worked out once for operations that look the same."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....sharding.factors import FactorRule
from .registry import factor_rule

OWN_BODIES = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})
"""Operations of linalg with a body of their own; the others' follow from their names and types."""


def body_matters(operation: Operation) -> bool:
    """Whether an operation has regions that its name and types do not determine."""
    if not operation.regions:
        return False
    return operation.name in OWN_BODIES or not operation.name.startswith("linalg.")


def body_key(operation: Operation) -> tuple[object, ...]:
    """What a body computes, up to the names of its values: equal keys mean equal bodies."""
    numbers: dict[SSAValue, int] = {}
    key: list[object] = []
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.args:
                numbers[argument] = len(numbers)
            for inner in block.ops:
                if inner.regions or inner.successors:
                    return (id(operation),)
                key.append(inner.name)
                key += [numbers.get(operand, operand) for operand in inner.operands]
                key += map(id, inner.properties.values())
                for result in inner.results:
                    numbers[result] = len(numbers)
                    key.append(id(result.type))
    return tuple(key)


def operation_key(operation: Operation) -> tuple[object, ...]:
    """What an operation does apart from where its operands come from.

    Valid only as long as the program does not change: types count by identity.
    """
    return (
        operation.name,
        *(id(operand.type) for operand in operation.operands),
        None,
        *(id(result.type) for result in operation.results),
        None,
        *operation.properties.values(),
        None,
        *operation.attributes.values(),
        *(body_key(operation) if body_matters(operation) else ()),
    )


def _identities(operation: Operation) -> tuple[object, ...]:
    """What tells an operation whose body does not matter from others, quick to hash.

    Operations that do the same may still have different keys: equal attributes may be two objects.
    """
    return (
        operation.name,
        *[id(operand.type) for operand in operation.operands],
        None,
        *[id(result.type) for result in operation.results],
        None,
        *map(id, operation.properties.values()),
        None,
        *map(id, operation.attributes.values()),
    )


class RuleCache:
    """Gives equal rules as one object, so that what is derived from a rule can be kept too.

    Operations are told apart by name and by the identity of their attributes and types, which a
    parser that shares them makes cheap. Use a cache only while the program does not change.
    """

    def __init__(self) -> None:
        self._by_identities: dict[tuple[object, ...], FactorRule | None] = {}
        self._by_operation: dict[tuple[object, ...], FactorRule | None] = {}
        self._interned: dict[FactorRule, FactorRule] = {}

    def intern(self, rule: FactorRule) -> FactorRule:
        """The one object that stands for all rules equal to this one."""
        return self._interned.setdefault(rule, rule)

    def rule_of(self, operation: Operation) -> FactorRule | None:
        """The rule of an operation, as `factor_rule` gives it."""
        if body_matters(operation):
            return self._rule_by_value(operation)
        key = _identities(operation)
        known = self._by_identities.get(key, self)
        if isinstance(known, RuleCache):
            known = self._by_identities[key] = self._rule_by_value(operation)
        return known

    def _rule_by_value(self, operation: Operation) -> FactorRule | None:
        key = operation_key(operation)
        # Hashing the key takes longest, so it is looked up once.
        known = self._by_operation.get(key, self)
        if isinstance(known, RuleCache):
            rule = factor_rule(operation)
            known = self._by_operation[key] = None if rule is None else self.intern(rule)
        return known

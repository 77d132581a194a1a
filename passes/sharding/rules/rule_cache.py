"""Factor rules of a module, each worked out once for operations that look the same."""

from __future__ import annotations

from xdsl.ir import Operation

from ....sharding.factors import FactorRule
from .registry import factor_rule


class RuleCache:
    """Gives equal rules as one object, so that what is derived from a rule can be kept too.

    Operations are told apart by name and by the identity of their attributes and types, which a
    parser that shares them makes cheap. Use a cache only while the program does not change.
    """

    def __init__(self) -> None:
        self._by_operation: dict[tuple[object, ...], FactorRule | None] = {}
        self._interned: dict[FactorRule, FactorRule] = {}

    def intern(self, rule: FactorRule) -> FactorRule:
        """The one object that stands for all rules equal to this one."""
        return self._interned.setdefault(rule, rule)

    def rule_of(self, operation: Operation) -> FactorRule | None:
        """The rule of an operation, as `factor_rule` gives it."""
        key = (
            operation.name,
            *(id(operand.type) for operand in operation.operands),
            None,
            *(id(result.type) for result in operation.results),
            None,
            *(id(attribute) for attribute in operation.properties.values()),
            *(id(attribute) for attribute in operation.attributes.values()),
            *(id(region) for region in operation.regions),
        )
        if key not in self._by_operation:
            rule = factor_rule(operation)
            self._by_operation[key] = None if rule is None else self.intern(rule)
        return self._by_operation[key]

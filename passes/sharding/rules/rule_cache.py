"""Factor rules of a module, each worked out once for operations that look the same."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.regions import inner_blocks
from ....ir.structural_hash import AttributeNumbers
from ....sharding.factors import FactorRule
from .registry import factor_rule

OWN_BODIES = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})
"""Operations of linalg with a body of their own; the others' follow from their names and types."""


def body_matters(operation: Operation) -> bool:
    """Whether an operation has regions that its name and types do not determine."""
    if not operation.regions:
        return False
    return operation.name in OWN_BODIES or not operation.name.startswith("linalg.")


class OperationKeys:
    """Keys of operations: equal keys mean that they do the same to tensors of the same types.

    Attributes and types are numbered by value, so that what passes have made anew counts as equal,
    and each object is hashed once. Where operands come from does not count.
    """

    def __init__(self) -> None:
        self._number = AttributeNumbers().number

    def __call__(self, operation: Operation) -> tuple[object, ...]:
        """The key of an operation as it is now."""
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
        """What a body computes, up to the names of its values."""
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
    """Gives equal rules as one object, so that what is derived from a rule can be kept too."""

    def __init__(self) -> None:
        self._key = OperationKeys()
        self._by_operation: dict[tuple[object, ...], FactorRule | None] = {}
        self._interned: dict[FactorRule, FactorRule] = {}

    def intern(self, rule: FactorRule) -> FactorRule:
        """The one object that stands for all rules equal to this one."""
        return self._interned.setdefault(rule, rule)

    def rule_of(self, operation: Operation) -> FactorRule | None:
        """The rule of an operation, as `factor_rule` gives it."""
        key = self._key(operation)
        # Hashing the key takes longest, so it is looked up once.
        known = self._by_operation.get(key, self)
        if isinstance(known, RuleCache):
            rule = factor_rule(operation)
            known = self._by_operation[key] = None if rule is None else self.intern(rule)
        return known

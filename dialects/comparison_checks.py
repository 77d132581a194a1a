"""What MLIR requires of the predicate of a comparison, and xDSL's own verifiers do not ask."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

_PREDICATES = {"arith.cmpf": 16, "arith.cmpi": 10}
"""How many predicates there are, by operation."""


def _comparison(operation: Operation) -> None:
    found = operation.properties.get("predicate")
    count = _PREDICATES[operation.name]
    if not isinstance(found, IntegerAttr) or found not in [
        IntegerAttr(number, i64) for number in range(count)
    ]:
        raise VerifyException(f"expected a predicate from 0 to {count - 1} of type i64")


COMPARISON_CHECKS: dict[str, Callable[[Operation], None]] = dict.fromkeys(_PREDICATES, _comparison)
"""What to check of xDSL's operations beyond their own verifiers, by name."""

"""Factor rules as text, for tests: `rule("[i k], [k j] -> [i j]", i=4, k=8, j=6, reduce="k")`.

Dimensions are separated by spaces; one of several factors is written `(i j)`, one of none `1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from mesh_opt.sharding.factors import Factor, FactorKind, FactorRule, TensorFactors
from mesh_opt.sharding.sharding import ReductionKind


def parse_rule(
    text: str, *, reduce: str = "", whole: str = "", move: str = "", **sizes: int
) -> FactorRule:
    """The rule that a text says; `reduce`, `whole` and `move` name factors of those kinds."""
    names = list(sizes)
    left, right = text.split("->")
    results = _tensors(right, names)
    sums = (ReductionKind.SUM,) * len(results)
    factors: list[Factor] = []
    for name, size in sizes.items():
        if name in reduce.split():
            factors.append(Factor(size, FactorKind.REDUCTION, sums))
        elif name in whole.split():
            factors.append(Factor(size, FactorKind.NEED_REPLICATION))
        elif name in move.split():
            factors.append(Factor(size, FactorKind.PERMUTATION))
        else:
            factors.append(Factor(size))
    return FactorRule(tuple(factors), _tensors(left, names), results)


def _tensors(text: str, names: list[str]) -> tuple[TensorFactors, ...]:
    tensors: list[TensorFactors] = []
    for tensor in re.findall(r"\[(.*?)\]", text):
        dimensions = re.findall(r"\((.*?)\)|(\S+)", tensor)
        tensors.append(
            tuple(
                tuple(names.index(name) for name in (group or single).split() if name != "1")
                for group, single in dimensions
            )
        )
    return tuple(tensors)


@pytest.fixture
def rule() -> Callable[..., FactorRule]:
    """Reads a rule from a text."""
    return parse_rule

"""Comparisons and quotients of linear terms change where `Linear` says, and nowhere else."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from mesh_opt.codegen.kernels.code.linear_terms import Linear
from mesh_opt.ir.index_folding import COMPARISONS
from mesh_opt.ir.intervals import Interval

TERMS = [
    Linear("i", Interval(low, low + length), factor, offset)
    for low, length, factor, offset in product((-3, 0, 2), (0, 1, 9), (-3, -1, 0, 1, 2), (-4, 0, 5))
]


def changes(values: list[int], first: int) -> set[int]:
    return {first + 1 + at for at, (left, right) in enumerate(pairwise(values)) if left != right}


def numbers(term: Linear) -> list[int]:
    indices = range(term.values.low, term.values.high + 1)
    return [term.factor * index + term.offset for index in indices]


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_comparisons(predicate: str) -> None:
    for term in TERMS:
        holds = [int(COMPARISONS[predicate](number, 0)) for number in numbers(term)]
        found = term.changes(predicate)
        assert changes(holds, term.values.low) <= found, term
        assert term.first == numbers(term)[0]
        if predicate not in ("eq", "ne"):
            assert changes(holds, term.values.low) == found, term


@pytest.mark.parametrize("divisor", [1, 2, 5, 40])
def test_quotients(divisor: int) -> None:
    for term in TERMS:
        quotients = [number // divisor for number in numbers(term)]
        assert changes(quotients, term.values.low) == term.periods(divisor), term
        assert {min(quotients), max(quotients)} <= set(term.quotients(divisor))
        assert len(term.quotients(divisor)) == max(quotients) - min(quotients) + 1

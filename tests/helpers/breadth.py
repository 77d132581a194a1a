"""How many cases of a kind run: few in `make test`, many in `make nightly`.

MESH_OPT_NIGHTLY=1 asks for many, MESH_OPT_NIGHTLY=5 for five times as many. Cases are numbered and
the same in every run; MESH_OPT_CASE=N runs case N alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, TypeVar

Item = TypeVar("Item")

NIGHTLY = int(os.environ.get("MESH_OPT_NIGHTLY", "0"))
_CASE = os.environ.get("MESH_OPT_CASE")


def breadth(few: int, many: int) -> int:
    """The number of cases to run."""
    return many * NIGHTLY if NIGHTLY else few


def cases(few: int, many: int) -> range:
    """The numbers of the cases to run."""
    return range(breadth(few, many)) if _CASE is None else range(int(_CASE), int(_CASE) + 1)


def sampled(items: Sequence[Item], every: int, first: int = 0) -> Sequence[Item]:
    """Every so manyth item from the `first` one in `make test`, all of them in `make nightly`."""
    return items if NIGHTLY else items[first::every]


def is_sampled(number: int, every: int) -> bool:
    """Whether what has a number is done in `make test`, too."""
    return NIGHTLY > 0 or number % every == 0


def covering(*axes: Sequence[Any], meeting: int = 2) -> list[tuple[Any, ...]]:
    """Rows with a value of each axis. In `make test`, any values of so many axes meet in a row; in
    `make nightly`, all rows of the product."""
    rows = list(product(*map(range, map(len, axes))))
    met = {row: set(combinations(enumerate(row), meeting)) for row in rows}
    missing = {values for each in met.values() for values in each}
    chosen = rows if NIGHTLY else []
    while missing and not NIGHTLY:
        best = max(rows, key=lambda row: len(met[row] & missing))
        chosen.append(best)
        missing -= met[best]
    return [tuple(axis[index] for axis, index in zip(axes, row, strict=True)) for row in chosen]

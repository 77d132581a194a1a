"""How many cases of a kind run: few in `make test`, many in `make nightly`.

MESH_OPT_NIGHTLY=1 asks for many, MESH_OPT_NIGHTLY=5 for five times as many. Cases are numbered and
the same in every run; MESH_OPT_CASE=N runs case N alone.
"""

from __future__ import annotations

import os

NIGHTLY = int(os.environ.get("MESH_OPT_NIGHTLY", "0"))
_CASE = os.environ.get("MESH_OPT_CASE")


def breadth(few: int, many: int) -> int:
    """The number of cases to run."""
    return many * NIGHTLY if NIGHTLY else few


def cases(few: int, many: int) -> range:
    """The numbers of the cases to run."""
    return range(breadth(few, many)) if _CASE is None else range(int(_CASE), int(_CASE) + 1)

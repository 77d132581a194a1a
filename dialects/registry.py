"""Which dialects there are: a name, and a function that imports the dialect when it is needed.

Start-up time is import time, so nothing here imports a dialect before somebody asks for it.
Dialects that we own or extend stand in for xDSL's of the same name.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Dialect


def _linalg() -> Dialect:
    from .linalg import Linalg

    return Linalg


def _mesh() -> Dialect:
    from .mesh import Mesh

    return Mesh


def _sdy() -> Dialect:
    from .sdy import Sdy

    return Sdy


def _shard() -> Dialect:
    from .shard import Shard

    return Shard


def _tosa() -> Dialect:
    from .tosa import Tosa

    return Tosa


OWN_DIALECTS: dict[str, Callable[[], Dialect]] = {
    "linalg": _linalg,
    "mesh": _mesh,
    "sdy": _sdy,
    "shard": _shard,
    "tosa": _tosa,
}
"""Our dialects by name. Keys are sorted."""


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect that our tools read: xDSL's, with ours in the place of its namesakes."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **OWN_DIALECTS}


def register_dialects(context: Context) -> None:
    """Register every dialect in a context that has none of them yet."""
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)

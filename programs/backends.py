"""Names of the backends that run functions."""

from __future__ import annotations

NATIVE = "native"

_ALIASES = {"numba": NATIVE}
"""Former names, which are still accepted."""


def backend_name(name: str) -> str:
    """Return the name of a backend that is given by its name or a former one."""
    return _ALIASES.get(name, name)

"""Names of the backends that run functions."""

from __future__ import annotations

from collections.abc import Collection

NATIVE = "native"

_ALIASES = {"numba": NATIVE}
"""Former names, which are still accepted."""


def backend_name(name: str) -> str:
    """Return the name of a backend that is given by its name or a former one."""
    return _ALIASES.get(name, name)


def chosen_backend(name: str, backends: Collection[str]) -> str:
    """Return the name of one of the backends, given by it or a former one. Raises ValueError."""
    found = backend_name(name)
    if found not in backends:
        raise ValueError(f"there is no backend '{name}'; there are {', '.join(backends)}")
    return found

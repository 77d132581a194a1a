"""mesh-opt: a multi-device tensor compiler on xDSL."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`mesh_opt.load`, and front ends such as `mesh_opt.jax`, imported when they are asked for.

    Front ends cannot lie in this folder: a file `jax.py` in it would stand in for JAX where the
    folder is on the path.
    """
    if name in ("jax", "torch"):
        from importlib import import_module

        return import_module(f".frontends.{name}", __name__)
    if name == "load":
        from .saved_programs import load

        return load
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

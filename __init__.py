"""mesh-opt: a multi-device tensor compiler on xDSL.

    import mesh_opt

    program = mesh_opt.compile(Path("mlp.mlir"), "spmd")

Everything is imported when it is asked for: `mesh_opt.api` and its names, `load`, and the front
ends `mesh_opt.jax` and `mesh_opt.torch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (
        CompilationError,
        DeviceArray,
        ExecutionError,
        Function,
        InputError,
        Program,
        compile,
    )
    from .saved_programs import load

    __version__: str

__all__ = [
    "CompilationError",
    "DeviceArray",
    "ExecutionError",
    "Function",
    "InputError",
    "Program",
    "__version__",
    "compile",
    "load",
]


def __getattr__(name: str) -> Any:
    """The names of `mesh_opt.api`, `load`, and the front ends, imported when they are asked for.

    The front ends cannot lie in this folder: a file `jax.py` in it would stand in for JAX where the
    folder is on the path.
    """
    from importlib import import_module

    if name in ("jax", "torch"):
        return import_module(f".frontends.{name}", __name__)
    if name == "load":
        return import_module(".saved_programs", __name__).load
    if name == "__version__":
        from importlib.metadata import version

        return version("mesh-opt")
    if name in __all__:
        return getattr(import_module(".api", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *__all__, "jax", "torch"]

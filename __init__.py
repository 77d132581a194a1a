"""mesh-opt: a multi-device tensor compiler on xDSL.

    import mesh_opt

    program = mesh_opt.compile(Path("mlp.mlir"), "spmd")

All names are imported on first use: `mesh_opt.api` and its names, `load`, and the front ends
`mesh_opt.jax` and `mesh_opt.torch`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

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


FRONT_ENDS = ("jax", "torch")


def _imported(name: str) -> ModuleType:
    """Import a module of this package without garbage collection.

    Importing allocates many objects, none of which is garbage.
    """
    from .ir.garbage_collection import without_garbage_collection

    with without_garbage_collection():
        return import_module(name, __name__)


class _FrontEnds:
    """Meta path finder that maps `mesh_opt.jax` and `mesh_opt.torch` to `mesh_opt.frontends`.

    The front ends cannot be files in this folder: with the folder on the path, its `jax.py` would
    shadow JAX.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        is_ours = package == __name__ and last in FRONT_ENDS
        return ModuleSpec(name, _FrontEnds) if is_ours else None  # pyright: ignore

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return _imported(f".frontends.{spec.name.rpartition('.')[2]}")

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: `create_module` returns a module that is already executed."""


sys.meta_path.append(_FrontEnds)  # pyright: ignore[reportArgumentType]


def __getattr__(name: str) -> Any:
    """Import a name of `mesh_opt.api`, `load` or a front end on first use."""
    if name in FRONT_ENDS:
        return import_module(f".{name}", __name__)
    if name == "load":
        return import_module(".saved_programs", __name__).load
    if name == "__version__":
        from importlib.metadata import version

        return version("mesh-opt")
    if name in __all__:
        return getattr(_imported(".api"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *__all__, *FRONT_ENDS]

"""Passes without options, written as functions.

@module_pass("my-pass")
def my_pass(module: ModuleOp) -> None:
    ...
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


def module_pass(name: str) -> Callable[[Callable[[ModuleOp], None]], type[ModulePass]]:
    """Return a decorator that makes a function the class of a pass of this name.

    The function's docstring describes the pass.
    """

    def make(run: Callable[[ModuleOp], None]) -> type[ModulePass]:
        def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
            run(op)

        words = "".join(word.capitalize() for word in run.__name__.split("_"))
        members = {
            **{"__doc__": run.__doc__, "__module__": run.__module__},
            **{"name": name, "apply": apply},
        }
        return type(f"{words}Pass", (ModulePass,), members)

    return make

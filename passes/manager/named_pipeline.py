"""A named pipeline, which is a pass like any other.

Embedders apply it as a pass. `mesh-opt` runs its passes one by one, so that the IR can be printed
and timed between them.
"""

from __future__ import annotations

from abc import abstractmethod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class NamedPipeline(ModulePass):
    """The base class of named pipelines; the fields of a subclass are its options."""

    @abstractmethod
    def passes(self) -> tuple[ModulePass, ...]:
        """Return the passes to run, in order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the passes on a module."""
        for one in self.passes():
            one.apply(ctx, op)


def default_passes(*names: str) -> tuple[ModulePass, ...]:
    """Return passes of the registry with their default options."""
    from ..registry import OWN_PASSES

    return tuple(OWN_PASSES[name]()() for name in names)

"""A pass observer whose methods do nothing."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.passes import ModulePass


class QuietObserver:
    """Base class of observers that override only some of the methods."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Do nothing."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Do nothing."""

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Do nothing."""

    def enter(self, anchor: str) -> None:
        """Do nothing."""

    def leave(self, anchor: str) -> None:
        """Do nothing."""

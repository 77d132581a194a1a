"""An observer of passes that does nothing."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.passes import ModulePass


class QuietObserver:
    """The base of observers that do something at some of these times."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def enter(self, anchor: str) -> None:
        """Nothing to do."""

    def leave(self, anchor: str) -> None:
        """Nothing to do."""

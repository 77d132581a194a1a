"""Tables of functions by the names of the operations that they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Rules(dict[str, FunctionT]):
    """A table that is filled by decorators.

    rule = Rules[Callable[[Operation], None]]()

    @rule("tensor.cast", "tensor.empty")
    def _same(operation: Operation) -> None: ...
    """

    def __call__(self, *names: str) -> Callable[[FunctionT], FunctionT]:
        """Register the decorated function for operations of these names.

        Raises ValueError where a name already has another function.
        """

        def register(function: FunctionT) -> FunctionT:
            for name in names:
                if self.setdefault(name, function) is not function:
                    raise ValueError(f"operation {name} already has a rule")
            return function

        return register

"""Tables of functions by operation name, filled by decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Rules(dict[str, FunctionT]):
    """A table from operation names to functions. Its decorator registers a function.

    rule = Rules[Callable[[Operation], None]]()

    @rule("tensor.cast", "tensor.empty")
    def _same(operation: Operation) -> None: ...
    """

    def __call__(self, *names: str) -> Callable[[FunctionT], FunctionT]:
        """Return a decorator that registers a function for these operation names.

        The decorator raises ValueError if a name already has another function.
        """

        def register(function: FunctionT) -> FunctionT:
            for name in names:
                if self.setdefault(name, function) is not function:
                    raise ValueError(f"operation {name} already has a rule")
            return function

        return register

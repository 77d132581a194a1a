"""The runtime's own native functions: compiled once for a machine, or given in object code.

A saved program brings those that it needs, so that running it compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from types import FunctionType

from .abi.native_code import Native, load_objects

_given: dict[str, Native] = {}
_used: dict[str, Native] = {}
_lock = Lock()


def runtime_function(function: FunctionType, *sources: str) -> Native:
    """The native code of a function; `sources` are the texts of the other modules it uses."""

    def compile() -> Native:
        # The compiler takes time to import: only for who needs it.
        from ..codegen.native_functions import compile_function

        return compile_function(function, *sources)

    return native_function_named(f"{function.__module__}.{function.__name__}", compile)


def native_function_named(key: str, compile: Callable[[], Native]) -> Native:
    """A native function of the runtime: given under this key, or compiled."""
    found = _used[key] = _given.get(key) or compile()
    return found


def give_functions(functions: Mapping[str, tuple[str, memoryview]]) -> None:
    """Let native functions be those in object code that was made for this machine, each a symbol
    and its image, unless there are some already. They stay as long as the process."""
    with _lock:
        new = {key: each for key, each in functions.items() if key not in {**_given, **_used}}
        loaded = load_objects(dict(new.values()))
        _given.update((key, loaded[symbol]) for key, (symbol, _) in new.items())


def used_functions() -> dict[str, Native]:
    """All that were asked for so far, by their keys."""
    return dict(_used)

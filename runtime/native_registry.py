"""The registry of the runtime's native functions, which are compiled once or loaded.

A saved program contains the object code of those that it needs, so that running it compiles
nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from types import FunctionType
from typing import Any

from .abi.native_code import Native, load_objects

_given: dict[str, Native] = {}
_used: dict[str, Native] = {}
_lock = Lock()


@cache
def runtime_function(function: FunctionType) -> Native:
    """Return the native code of a function, compiled or loaded once."""
    return runtime_functions(function)[0]


def runtime_functions(*functions: FunctionType) -> tuple[Native, ...]:
    """Return the native code of functions; those that are not loaded are compiled in parallel."""
    keys = [f"{each.__module__}.{each.__name__}" for each in functions]
    missing = {
        key: each
        for key, each in zip(keys, functions, strict=True)
        if key not in _given and key not in _used
    }
    if missing:
        # Imported here because functions of saved programs are given, and need no compiler.
        from ..codegen.cache import compile_functions

        _used.update(zip(missing, compile_functions([*missing.values()]), strict=True))
    found = tuple(_given.get(key) or _used[key] for key in keys)
    _used.update(zip(keys, found, strict=True))
    return found


@cache
def callable_function(function: FunctionType, *, keeps_gil: bool = False) -> Any:
    """Return the native code of a function, callable from Python with words.

    A short call should keep the GIL.
    """
    words = [ctypes.c_int64] * (1 + function.__code__.co_argcount)
    kind = ctypes.PYFUNCTYPE if keeps_gil else ctypes.CFUNCTYPE
    return kind(*words)(runtime_function(function).address)


def native_function_named(key: str, compile: Callable[[], Native]) -> Native:
    """Return the native function registered under a key, or compile it."""
    found = _used[key] = _given.get(key) or compile()
    return found


def give_functions(functions: Mapping[str, tuple[str, memoryview]]) -> None:
    """Register native functions from object code for this machine, as (symbol, image) by key.

    Keys that are registered or in use are skipped. The functions stay loaded until the process
    ends.
    """
    with _lock:
        new = {key: each for key, each in functions.items() if key not in {**_given, **_used}}
        loaded = load_objects(dict(new.values()))
        _given.update((key, loaded[symbol]) for key, (symbol, _) in new.items())


def used_functions() -> dict[str, Native]:
    """Return all native functions requested so far, by key."""
    return dict(_used)

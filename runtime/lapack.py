"""Call LAPACK and BLAS on batches: a native loop calls SciPy's functions by their address.

SciPy exports the addresses for Cython (`scipy.linalg.cython_lapack`, `cython_blas`). All arguments
are pointers, as in Fortran.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from .abi.native_code import source_of
from .intrinsics import SOURCE as INTRINSICS
from .intrinsics import call_procedure, load_word, store_word
from .native_registry import runtime_function

SOURCE = source_of(__file__)

MOST_ARGUMENTS = 15
"""The most arguments of a function here; `call_procedure` passes as many."""

WORK = object()
"""Stands for two arguments: a workspace of the size that the function asks for, and this size."""

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
"""The first letters of functions, by the type of their matrices."""


def call_batch(function: int, arguments: int, strides: int, count: int) -> None:
    """Call a function `count` times; words at `arguments` grow by those at `strides` each time."""
    for _ in range(count):
        call_procedure(function, arguments)
        for place in range(MOST_ARGUMENTS):
            address = arguments + place * 8
            store_word(address, load_word(address) + load_word(strides + place * 8))


def shared(size: int, kind: Any) -> Any:
    """Return scratch memory that all calls of a batch use."""
    return np.empty((1, size), kind)


def call_lapack(name: str, kind: np.dtype[Any], count: int, *arguments: Any) -> None:
    """Call the function of an element type on `count` matrices each.

    An argument is a letter, an integer, an array with a first dimension of `count` (or of 1, if all
    calls use it), `None` for a null pointer, or `WORK`.
    """
    function = _address(LETTERS[kind.name] + name)
    place = next((place for place, each in enumerate(arguments) if each is WORK), None)
    if place is not None:
        known = (each if isinstance(each, int | str) else None for each in arguments)
        size = _work_size(function, kind, place, *known)
        work = shared(size, kind), size
        arguments = (*arguments[:place], *work, *arguments[place + 1 :])
    _call(function, count, arguments)


@cache
def _work_size(function: int, kind: np.dtype[Any], place: int, *known: int | str | None) -> int:
    """Ask a function for the elements of its workspace; this depends on sizes and letters only."""
    work, unread = shared(1, kind), np.zeros((1, 64), np.uint8)
    arguments = [unread if each is None else each for each in known]
    _call(function, 1, [*arguments[:place], work, -1, *arguments[place + 1 :]])
    return max(1, int(work[0, 0].real))


def _call(function: int, count: int, arguments: Sequence[Any]) -> None:
    """Call a function `count` times. Letters are stored as integers, in the first of their bytes.

    Each argument has a word for its address and one for its stride.
    """
    numbers = np.array([_number(each) for each in arguments], np.int32)
    base = _start(numbers)
    words = np.zeros((2, MOST_ARGUMENTS), np.int64)
    words[0, : len(arguments)] = [
        _start(each) if isinstance(each, np.ndarray) else 0 if each is None else base + 4 * place
        for place, each in enumerate(arguments)
    ]
    words[1, : len(arguments)] = [
        each.strides[0] if isinstance(each, np.ndarray) and len(each) > 1 else 0
        for each in arguments
    ]
    start = _start(words)
    _loop()(function, start, start + 8 * MOST_ARGUMENTS, count)


def _number(argument: Any) -> int:
    if isinstance(argument, str):
        return ord(argument)
    return argument if isinstance(argument, int) else 0


def _start(array: Any) -> int:
    """Return the address of an array. Its attribute `ctypes` takes five times as long."""
    return array.__array_interface__["data"][0]


@cache
def _loop() -> Any:
    loop = runtime_function(call_batch, INTRINSICS)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(loop.address)


@cache
def _address(name: str) -> int:
    """Return the address of a function of LAPACK or BLAS."""
    for module in ("cython_lapack", "cython_blas"):
        exported: Any = import_module(f"scipy.linalg.{module}")
        capsule = exported.__pyx_capi__.get(name)
        if capsule is not None:
            return _pointer(capsule)
    raise KeyError(name)


def _pointer(capsule: Any) -> int:
    """Return the pointer that a capsule of Python contains."""
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return pointer_of(capsule, name_of(capsule)) or 0

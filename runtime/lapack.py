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

MOST_SIZE = 2**31 - 1
"""The largest size: integers of LAPACK have 32 bits."""

WORK = object()
"""Stands for two arguments: a workspace of the size that the function asks for, and this size."""

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""The first letters of functions, by NumPy's character of an element type."""


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
    calls use it), `None` for a null pointer, or `WORK`. Raises ValueError for larger sizes than
    `MOST_SIZE`.
    """
    function = _address(LETTERS[kind.char] + name)
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
    """Call a function `count` times.

    Each argument has three words: its address, its stride, and the integer or letter that it is. A
    narrower integer is the first part of its word.
    """
    words = np.empty((3, MOST_ARGUMENTS), np.int64)
    start = _start(words)
    number = start + 16 * MOST_ARGUMENTS
    rows: list[tuple[int, int, int]] = []
    for each in arguments:
        if isinstance(each, int | str):
            value = each if isinstance(each, int) else ord(each)
            if value > MOST_SIZE:
                raise ValueError(f"a size of {value}, but LAPACK's integers have 32 bits")
            rows.append((number + 8 * len(rows), 0, value))
        elif each is None:
            rows.append((0, 0, 0))
        else:
            rows.append((_start(each), each.strides[0] if len(each) > 1 else 0, 0))
    words[:, : len(rows)] = np.array(rows, np.int64).T
    words[:, len(rows) :] = 0
    _loop()(function, start, start + 8 * MOST_ARGUMENTS, count)


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

"""Calls of LAPACK and BLAS on batches, as data: what a function gets, and what it returns.

The interpreter runs such a call with NumPy; native code writes a kernel for it. SciPy exports the
addresses of functions for Cython (`scipy.linalg.cython_lapack`, `cython_blas`). All arguments are
pointers, as in Fortran, and matrices are stored by columns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

MOST_ARGUMENTS = 15
"""The most arguments of a function here. A function with fewer ignores the rest."""

MOST_SIZE = 2**31 - 1
"""The largest size: integers of LAPACK have 32 bits."""

WORK = object()
"""Stands for two arguments: a workspace of the size that the function asks for, and this size."""

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""The first letters of functions, by NumPy's character of an element type."""


@dataclass(frozen=True, slots=True)
class LapackFunction:
    """A function of LAPACK or BLAS, whose address is known when a program is linked."""

    name: str

    @property
    def address(self) -> int:
        """The address. Raises KeyError if there is no such function."""
        return _address(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory of a call for a matrix, or for any other array.

    - `shape`: the sizes of the array, stored by rows, or by columns if `by_columns`;
    - `operand`: the operand that it begins as a copy of; others begin with `fill` in all elements;
    - `is_work`: it begins undefined, and all calls of a batch may share it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    operand: int | None = None
    by_columns: bool = False
    fill: int = 0
    is_work: bool = False

    def columns(self) -> Buffer:
        """Return a buffer with the same contents, stored by columns."""
        return replace(self, by_columns=True)

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return prod(self.shape) * self.dtype.itemsize

    def fill_stack(self, count: int, operands: Sequence[Any]) -> Any:
        """Return an array of `count` such buffers, each as it is in memory."""
        shape = self.shape[::-1] if self.by_columns else self.shape
        if self.is_work:
            return np.empty((1, *shape), self.dtype)
        if self.operand is None:
            return np.full((count, *shape), self.fill, self.dtype)
        return _turned(self, operands[self.operand]).copy()


@dataclass(frozen=True, slots=True)
class After:
    """The address of a buffer's element, counted as they are in memory."""

    buffer: Buffer
    elements: int


Argument = Buffer | After | int | str | None
"""What a function gets a pointer to; `None` is a null pointer."""


@dataclass(frozen=True, slots=True, eq=False)
class LapackCall:
    """A call of the function `name` for each matrix of a batch.

    `finish` computes the results of the operation from the contents of `results`, if they differ;
    only the interpreter runs such calls.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Buffer, ...]
    finish: Callable[[Sequence[Any]], Sequence[Any]] | None = None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers, each once."""
        read = (each.buffer if isinstance(each, After) else each for each in self.arguments)
        used = (each for each in read if isinstance(each, Buffer))
        return tuple(dict.fromkeys((*used, *self.results)))

    def run(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Call the function; operands and results are stacks of `len(operands[0])` arrays."""
        count = len(operands[0])
        arrays = {each: each.fill_stack(count, operands) for each in self.buffers}
        _call(self.name, count, self.arguments, arrays)
        found = [_turned(each, arrays[each]) for each in self.results]
        return found if self.finish is None else self.finish(found)


def lapack_call(
    name: str,
    dtype: np.dtype[Any],
    arguments: Sequence[Any],
    results: Sequence[Buffer],
    finish: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
) -> LapackCall:
    """Return a call of the function for an element type; `WORK` may be among the arguments.

    Raises ValueError for larger sizes than `MOST_SIZE`.
    """
    for each in arguments:
        if isinstance(each, int) and each > MOST_SIZE:
            raise ValueError(f"a size of {each}, but LAPACK's integers have 32 bits")
    name, given = LETTERS[dtype.char] + name, list(arguments)
    if WORK in given:
        place = given.index(WORK)
        known = (each if isinstance(each, int | str) else None for each in given)
        size = _work_size(name, dtype, place, *known)
        given[place : place + 1] = work(size, dtype), size
    return LapackCall(name, tuple(given), tuple(results), finish)


def work(size: int, dtype: np.dtype[Any]) -> Buffer:
    """Return a workspace."""
    return Buffer((size,), dtype, is_work=True)


@cache
def _work_size(name: str, dtype: np.dtype[Any], place: int, *known: int | str | None) -> int:
    """Ask a function for the elements of its workspace; this depends on sizes and letters only."""
    asked, unread = work(1, dtype), work(64, np.dtype(np.uint8))
    arguments: list[Argument] = [
        asked if at == place else unread if each is None else each for at, each in enumerate(known)
    ]
    arrays = {each: each.fill_stack(1, ()) for each in (asked, unread)}
    _call(name, 1, [*arguments[: place + 1], -1, *arguments[place + 1 :]], arrays)
    return max(1, int(arrays[asked][0, 0].real))


def _turned(buffer: Buffer, stack: Any) -> Any:
    """Turn matrices from their order in an operand or result to that in a buffer, or back."""
    return stack.swapaxes(-1, -2) if buffer.by_columns else stack


def _call(name: str, count: int, arguments: Sequence[Argument], arrays: dict[Buffer, Any]) -> None:
    """Call a function for each of some stacks of arrays."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(_address(name))
    numbers = np.array([number_of(each) for each in arguments], np.int64)
    starts: list[tuple[int, int]] = []
    for place, each in enumerate(arguments):
        buffer = each.buffer if isinstance(each, After) else each
        if isinstance(buffer, Buffer):
            stack = arrays[buffer]
            skipped = each.elements * stack.itemsize if isinstance(each, After) else 0
            stride = stack.strides[0] if len(stack) > 1 else 0
            starts.append((stack.ctypes.data + skipped, stride))
        else:
            starts.append((0 if each is None else numbers.ctypes.data + 8 * place, 0))
    for turn in range(count):
        function(*(start + turn * stride for start, stride in starts))


def number_of(argument: Argument) -> int:
    """Return an integer, or the code of a letter; 0 for other arguments.

    A narrower integer is the first part of a word.
    """
    if isinstance(argument, str):
        return ord(argument)
    return argument if isinstance(argument, int) else 0


@cache
def _address(name: str) -> int:
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

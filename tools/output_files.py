"""Files that a tool writes: whole, or as they were."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from stat import S_ISREG
from typing import BinaryIO

from ..ir.usage_error import UsageError


@contextmanager
def open_output(path: str, *, append: bool = False) -> Generator[BinaryIO]:
    """Open a file to write bytes to it, or behind what it holds.

    If the block fails, a file that it began is removed, and one that it lengthened cut off again.
    Raises UsageError if the file cannot be written.
    """
    try:
        file = open(path, "ab" if append else "wb")  # noqa: SIM115
    except OSError as problem:
        raise _refusal(path, problem) from problem
    length = file.tell()
    try:
        with file:
            yield file
    except BaseException as problem:
        _undo(path, length)
        if isinstance(problem, OSError):
            raise _refusal(path, problem) from problem
        raise


def check_folder(path: str) -> None:
    """Raise UsageError if a file of this name has no folder to be in, or is one itself."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise UsageError(f"cannot write '{path}': it is a folder")
    if folder and not os.path.isdir(folder):
        raise UsageError(f"cannot write '{path}': there is no folder '{folder}'")


def _undo(path: str, length: int) -> None:
    """Leave no half-written file; devices and pipes are left alone."""
    try:
        if S_ISREG(os.stat(path).st_mode):
            if length:
                os.truncate(path, length)
            else:
                os.remove(path)
    except OSError:
        pass  # What made the writing fail is the better message.


def _refusal(path: str, problem: OSError) -> UsageError:
    return UsageError(f"cannot write '{path}': {problem.strerror or problem}")

"""Write output files completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from stat import S_ISREG
from typing import BinaryIO

from ..ir.usage_error import UsageError


@contextmanager
def open_output(path: str, *, append: bool = False) -> Generator[BinaryIO]:
    """Open a file to write or append bytes.

    If the `with` block fails, a new file is removed, and an appended one is truncated to its
    previous length. Raises UsageError if the file cannot be written.
    """
    try:
        file = open(path, "ab" if append else "wb")  # noqa: SIM115
    except OSError as problem:
        raise _refusal(path, problem) from problem
    length = file.tell() if file.seekable() else 0
    try:
        with file:
            yield file
    except BaseException as problem:
        _undo(path, length)
        if isinstance(problem, OSError):
            raise _refusal(path, problem) from problem
        raise


def write_output(path: str, text: str) -> None:
    """Write a text file. Raises UsageError if it cannot be written."""
    with open_output(path) as file:
        file.write(text.encode())


def check_folder(path: str) -> None:
    """Raise UsageError if a path is a folder, or its parent folder does not exist."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise UsageError(f"cannot write '{path}': it is a folder")
    if folder and not os.path.isdir(folder):
        raise UsageError(f"cannot write '{path}': there is no folder '{folder}'")


def _undo(path: str, length: int) -> None:
    """Remove or truncate an incomplete file, unless it is a device or pipe."""
    try:
        if S_ISREG(os.stat(path).st_mode):
            if length:
                os.truncate(path, length)
            else:
                os.remove(path)
    except OSError:
        pass  # The error that made the writing fail is the better message.


def _refusal(path: str, problem: OSError) -> UsageError:
    return UsageError(f"cannot write '{path}': {problem.strerror or problem}")

"""Read the headers and elements of NumPy's `.npy` and `.npz` files separately and safely.

NumPy's own reader evaluates headers, unpickles if told to, and decompresses whatever an archive
contains. Here a header must match a fixed grammar, and the caller sees type and shape before any
element is read.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np

from ...ir.nesting_limits import exceeds_memory
from ...ir.usage_error import UsageError
from ...runtime.abi.arrays import Array
from .value_text import MAXIMAL_RANK

_LONGEST_HEADER = 1 << 16
_MAGIC = b"\x93NUMPY"
_START = len(_MAGIC) + 2
_ENTRY = re.compile(
    r"""\s*(?P<quote>['"])(?P<key>descr|fortran_order|shape)(?P=quote)\s*:\s*"""
    r"""(?:'(?P<text>[^'\\]*)'|"(?P<other>[^"\\]*)"|(?P<flag>True|False)|\((?P<sizes>[\s\dL,]*)\))"""
    r"""\s*(?:,|(?=\}))"""
)
_FIELDS = re.compile(r"""['"]descr['"]\s*:\s*[\[(]""")
_ELEMENT = re.compile(r"([<>|=]?)([biufcV])(\d{1,3})")


class FileProblem(ValueError):
    """A file with wrong contents. The message is a clause that continues the file's name."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a file, as its header describes it."""

    element: str
    """The element type in NumPy's notation, such as `<f4`."""
    dtype: np.dtype[Any] | None
    """The element type; `None` for raw bytes, as which NumPy stores types not its own."""
    item_size: int
    fortran_order: bool
    shape: tuple[int, ...]
    data: Callable[[], bytes | memoryview]
    """Reads the elements."""

    @property
    def size(self) -> int:
        """Return the size of the elements in bytes."""
        return prod(self.shape) * self.item_size

    def load(self, raw: np.dtype[Any] | None = None) -> Array:
        """Read the array; `raw` is the type of raw bytes.

        Raises FileProblem if it does not fit in memory or in NumPy, and UsageError if reading
        fails.
        """
        dtype = self.dtype or raw or np.dtype((np.void, self.item_size))
        if exceeds_memory(self.size):
            raise FileProblem(f"holds {self.size} bytes, more than this machine has")
        order = "F" if self.fortran_order else "C"
        try:
            return np.frombuffer(self.data(), dtype).reshape(self.shape, order=order)
        except ValueError as problem:
            # Even an empty array may have extents whose product overflows in NumPy.
            raise FileProblem(f"holds an array that NumPy cannot have: {problem}") from problem


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def file_size(path: str) -> int:
    """Return the size of a regular file in bytes.

    Raises UsageError for other files, whose contents may never end.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise UsageError(f"cannot read '{path}': {reason}") from problem
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "a special file")
        raise UsageError(f"cannot read '{path}': it is {kind}, expected a regular file")
    return status.st_size


def read_part(path: str, start: int, size: int) -> bytes:
    """Read `size` bytes of a file from offset `start`. Raises UsageError if it is too short."""
    file_size(path)
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(size)
    except OSError as problem:
        raise UsageError(f"cannot read '{path}': {problem.strerror}") from problem
    if len(data) != size:
        raise UsageError(f"cannot read '{path}': it ends before byte {start + size}")
    return data


def mapped_part(path: str, start: int, size: int) -> memoryview:
    """Map `size` bytes of a file from offset `start`; pages are read on access.

    The file must not change while it is mapped. Raises UsageError if it is too short.
    """
    if file_size(path) < start + size:
        raise UsageError(f"cannot read '{path}': it ends before byte {start + size}")
    if not size:
        return memoryview(b"")
    try:
        with open(path, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:
        raise UsageError(f"cannot read '{path}': {problem}") from problem
    return memoryview(pages)[start : start + size]


def is_archive(path: str) -> bool:
    """Return whether a file starts with the signature of a ZIP archive, such as `.npz`."""
    return read_part(path, 0, min(2, file_size(path))) == b"PK"


# .npy files ----------------------------------------------------------------------------------


def stored_arrays(path: str, most: int) -> list[StoredArray]:
    """Return the arrays of an `.npy` file, which may contain several.

    Stops after more than `most` arrays. Raises UsageError and FileProblem.
    """
    size = file_size(path)
    if not size:
        raise UsageError(f"'{path}' is empty")
    arrays: list[StoredArray] = []
    try:
        with open(path, "rb") as file:
            while (start := file.tell()) < size and len(arrays) <= most:
                found = _stored_array(file, size - start, lambda at, n: read_part(path, at, n))
                arrays.append(found)
                file.seek(found.size, os.SEEK_CUR)
    except OSError as problem:
        raise UsageError(f"cannot read '{path}': {problem.strerror}") from problem
    return arrays


def _stored_array(
    file: BinaryIO | Any, room: int, read: Callable[[int, int], bytes]
) -> StoredArray:
    """Read the next header of a file with `room` bytes left. Raises FileProblem."""
    first = file.tell()
    start = file.read(_START)
    if not start.startswith(_MAGIC) or len(start) < _START:
        raise FileProblem("does not begin with a NumPy array" if not first else _BEHIND)
    version = start[len(_MAGIC)]
    if version not in (1, 2, 3):
        raise FileProblem(f"is of version {version}, expected 1, 2 or 3")
    count = 2 if version == 1 else 4
    length = int.from_bytes(file.read(count), "little")
    if length > min(_LONGEST_HEADER, room):
        raise FileProblem(f"has a header of {length} bytes")
    header = file.read(length)
    text = header.decode("utf-8" if version == 3 else "latin-1", errors="replace")
    element, fortran_order, shape = _parse_header(text)
    dtype, item_size = _element_type(element)
    begin, size = file.tell(), prod(shape) * item_size
    left = room - (begin - first)
    if len(header) < length or size > left:
        raise FileProblem(f"declares {size} bytes of elements, but only {max(left, 0)} follow")
    return StoredArray(element, dtype, item_size, fortran_order, shape, lambda: read(begin, size))


_BEHIND = "has data behind an array that is not a NumPy array"


def _parse_header(text: str) -> tuple[str, bool, tuple[int, ...]]:
    """Parse a header, the text of a Python dictionary, into (element type, order, shape).

    The second is whether the order is Fortran's. Raises FileProblem.
    """
    found: dict[str, re.Match[str]] = {}
    position = len(text) - len(text.lstrip())
    if text[position : position + 1] == "{":
        position += 1
        while (entry := _ENTRY.match(text, position)) and entry["key"] not in found:
            found[entry["key"]] = entry
            position = entry.end()
    is_whole = len(found) == 3 and text[position:].strip() == "}"
    element = found["descr"]["text"] or found["descr"]["other"] if is_whole else None
    flag = found["fortran_order"]["flag"] if is_whole else None
    shape = _parse_shape(found["shape"]["sizes"]) if is_whole else None
    if element is None or flag is None or shape is None:
        if _FIELDS.search(text):
            raise FileProblem("holds elements with fields, expected numbers")
        raise FileProblem("has a header that does not describe an array of numbers")
    return element, flag == "True", shape


def _parse_shape(text: str | None) -> tuple[int, ...] | None:
    """Parse `4, 3`, `4,` or nothing; return `None` if it is not a tuple of integers."""
    if text is None:
        return None
    words = [word.strip().removesuffix("L") for word in text.split(",")]
    if words[-1] == "":
        words.pop()
    elif len(words) == 1:
        return None
    if not all(word.isdecimal() and len(word) < 20 for word in words):
        return None
    return tuple(map(int, words)) if len(words) <= MAXIMAL_RANK else None


def _element_type(name: str) -> tuple[np.dtype[Any] | None, int]:
    """Return the dtype and size of an element type. Raises FileProblem if it is not a number."""
    match = _ELEMENT.fullmatch(name)
    if match is not None and (match[2] == "V" or name == "<f1"):
        return None, int(match[3])
    try:
        if match is not None:
            dtype = np.dtype(name)
            return dtype, dtype.itemsize
    except TypeError:
        pass  # There is no such type with this number of bytes.
    kind = "Python objects" if name.endswith("O") else f"elements of '{name}'"
    raise FileProblem(f"holds {kind}, expected numbers")


# Archives -------------------------------------------------------------------------------------


def archived_arrays(path: str) -> dict[str, StoredArray]:
    """Return the arrays of an `.npz` file by name, in order. Raises UsageError and FileProblem."""
    file_size(path)
    try:
        archive = zipfile.ZipFile(path)
        arrays: dict[str, StoredArray] = {}
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name in arrays:
                raise FileProblem(f"names '{name}' twice")
            arrays[name] = _archived_array(archive, entry)
        return arrays
    except OSError as problem:
        raise UsageError(f"cannot read '{path}': {problem.strerror or problem}") from problem
    except (FileProblem, UsageError):
        raise
    except Exception as problem:
        raise _archive_problem(problem) from problem


def _archived_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> StoredArray:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileProblem(f"has '{entry.filename}' in an unknown compression format")

    def read(start: int, size: int) -> bytes:
        try:
            with archive.open(entry) as member:
                member.read(start)
                data = member.read(size)
                # At the end of the member, zipfile compares the checksum.
                if len(data) != size or member.read(1):
                    raise FileProblem(f"has '{entry.filename}', whose size differs from its header")
                return data
        except FileProblem:
            raise
        except Exception as problem:
            raise _archive_problem(problem) from problem

    with archive.open(entry) as member:
        try:
            found = _stored_array(member, entry.file_size, read)
            if member.tell() + found.size != entry.file_size:
                raise FileProblem(_BEHIND)
        except FileProblem as problem:
            raise FileProblem(f"holds '{entry.filename}', which {problem}") from problem
    return found


def _archive_problem(problem: Exception) -> FileProblem:
    """Convert an exception: zipfile, zlib and struct raise many kinds for damaged archives."""
    return FileProblem(f"is a damaged archive: {str(problem).strip() or type(problem).__name__}")

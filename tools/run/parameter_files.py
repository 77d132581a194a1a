"""Read parameter files: IREE's archives (`.irpa`), `.safetensors`, and NumPy's `.npz`.

Only the descriptions of the parameters are read here. The contents of each are read when a program
loads it with a compatible type. Nothing in a file is trusted: offsets must be inside the file, and
the time to read is proportional to its size.

Archives follow version 0 of IREE's `iree/schemas/parameter_archive.h`: linked headers, each with a
table of entries, their names, and their contents.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...ir.nesting_limits import exceeds_memory
from ...ir.usage_error import UsageError
from ...runtime.abi.arrays import FLOAT_TYPES, Array
from ...runtime.abi.parameters import Deferred, Parameter
from .array_files import (
    FileProblem,
    StoredArray,
    archived_arrays,
    file_size,
    mapped_part,
    read_part,
)
from .value_text import MAXIMAL_RANK

Read = Iterator[tuple[str, Parameter]]

BYTES = "bytes"
"""The element type of arrays in files without types."""


def read_parameters(options: Sequence[str]) -> dict[tuple[str, str], Parameter]:
    """Read parameter files, each given as `scope=file` or `file`, by (scope, key).

    Raises UsageError.
    """
    found: dict[tuple[str, str], Parameter] = {}
    for option in options:
        scope, equals, path = option.partition("=")
        if not equals:
            scope, path = "", option
        found |= {(scope, key): each for key, each in _read_file(path).items()}
    return found


def _read_file(path: str) -> dict[str, Parameter]:
    """Read one file. Raises UsageError."""
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        known = ", ".join(sorted(READERS))
        raise UsageError(f"'{path}' has an unknown suffix, expected one of {known}")
    found: dict[str, Parameter] = {}
    try:
        for key, parameter in reader(path):
            if key in found:
                raise FileProblem(f"names '{key}' twice")
            found[key] = parameter
    except FileProblem as problem:
        raise UsageError(f"'{path}' is not a parameter file: it {problem}") from problem
    return found


def mapped_arrays(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the tensors of a parameter file by name; those of `.irpa` are arrays of bytes.

    Except in `.npz`, tensors are memory-mapped, so that only accessed pages are read. Raises
    UsageError if it is not such a file, or has a tensor of a type that NumPy lacks.
    """
    try:
        return {name: each.load() for name, each in stored_parameters(os.fspath(path)).items()}
    except FileProblem as problem:
        raise UsageError(f"'{path}' {problem}") from problem


def stored_parameters(path: str) -> dict[str, StoredArray]:
    """Return the parameters of a file by name; those of an archive, which has no types, are bytes.

    Raises UsageError.
    """
    return {name: _stored(name, each) for name, each in _read_file(path).items()}


def _stored(name: str, parameter: Parameter) -> StoredArray:
    contents, dtype, shape = parameter.contents, parameter.dtype, parameter.shape
    assert isinstance(contents, Deferred)
    if shape is None:
        return StoredArray(BYTES, np.dtype(np.uint8), 1, False, (contents.size,), _data(contents))
    if dtype is None:
        raise UsageError(f"'{name}' has a type that arrays do not support")
    return StoredArray(dtype.str, dtype, dtype.itemsize, False, shape, _data(contents))


def _data(contents: Deferred) -> Callable[[], bytes | memoryview]:
    return contents.mapped or contents.read


class _File:
    """A regular file, with reads checked against its size."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = file_size(path)

    def read(self, start: int, size: int) -> bytes:
        """Read a range of bytes. Raises FileProblem if the file ends before them."""
        self.check(start, size)
        return read_part(self.path, start, size)

    def later(self, start: int, size: int) -> Deferred:
        """Return a range of bytes to read later. Raises FileProblem if the file ends before it."""
        self.check(start, size)
        return Deferred(
            size,
            lambda: read_part(self.path, start, size),
            lambda: mapped_part(self.path, start, size),
        )

    def check(self, start: int, size: int) -> None:
        """Raise FileProblem unless a range of bytes is in the file."""
        if start + size > self.size:
            raise FileProblem(f"ends at byte {self.size}, before byte {start + size}")


# NumPy ----------------------------------------------------------------------------------------


def _numpy(path: str) -> Read:
    if not _File(path).read(0, 2) == b"PK":
        raise FileProblem("is not an archive of named arrays")
    for name, stored in archived_arrays(path).items():
        dtype = None if stored.dtype is None else stored.dtype.newbyteorder("=")
        yield name, Parameter(Deferred(stored.size, _reader(stored, dtype)), stored.shape, dtype)


def _reader(stored: StoredArray, dtype: np.dtype[Any] | None) -> Callable[[], bytes]:
    def read() -> bytes:
        array = stored.load()
        return (array if dtype is None else array.astype(dtype, copy=False)).tobytes()

    return read


# safetensors ----------------------------------------------------------------------------------

SAFETENSORS: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "C64": np.dtype(np.complex64),
    **{f"F{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    **{f"I{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    "BF16": FLOAT_TYPES["bf16"],
    "F8_E4M3": FLOAT_TYPES["f8E4M3FN"],
    "F8_E5M2": FLOAT_TYPES["f8E5M2"],
    "F8_E8M0": FLOAT_TYPES["f8E8M0FNU"],
}
"""The element types of `.safetensors` files by name."""

LONGEST_DESCRIPTION = 100_000_000
"""The maximum size of the JSON header in bytes, as in the safetensors library."""


def _safetensors(path: str) -> Read:
    file = _File(path)
    length = int.from_bytes(file.read(0, 8), "little")
    if length > LONGEST_DESCRIPTION:
        raise FileProblem(f"has a description of {length} bytes")
    text = file.read(8, length)
    try:
        found: object = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as problem:
        raise FileProblem(f"has a description that is not JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise FileProblem("has a description that names no tensors")
    for name, entry in cast("dict[str, object]", found).items():
        if name != "__metadata__":
            yield name, _tensor(file, 8 + length, name, entry)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _tensor(file: _File, start: int, name: str, entry: object) -> Parameter:
    """Parse a tensor description: `{"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}`."""
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    kind, shape = fields.get("dtype"), _sizes(fields.get("shape"))
    place = _sizes(fields.get("data_offsets"))
    if not isinstance(kind, str) or shape is None or place is None or len(place) != 2:
        raise FileProblem(f"describes '{name}' without a dtype, a shape and two offsets")
    begin, end = place
    if len(shape) > MAXIMAL_RANK:
        # The product of the sizes of more could take longer than to read them.
        raise FileProblem(
            f"has '{name}' of {len(shape)} dimensions, expected {MAXIMAL_RANK} or fewer"
        )
    dtype = SAFETENSORS.get(kind)
    if end < begin or (dtype is not None and end - begin != prod(shape) * dtype.itemsize):
        raise FileProblem(
            f"has '{name}' of {kind} and shape {list(shape)} at bytes {begin} to {end}"
        )
    return Parameter(file.later(start + begin, end - begin), shape, dtype)


def _sizes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    numbers = cast("list[object]", value)
    sizes = tuple(each for each in numbers if type(each) is int and 0 <= each < 1 << 64)
    return sizes if len(sizes) == len(numbers) else None


# Archives -------------------------------------------------------------------------------------

MAGIC = 0x41505249
HEADER = struct.Struct("<IHHQQQ Q QQ QQ QQ")
"""The header of an archive; offsets are relative to the header.

Magic, version (major, minor), header size, offset of the next header, flags; number of entries;
offset and length of the segments for entries, metadata (names) and contents.
"""
ENTRY = struct.Struct("<QIQ QQ QQ Q")
"""Entry size, kind, flags; offset and length of the name and of the metadata; alignment."""
RANGE = struct.Struct("<QQ")
SPLAT = struct.Struct("<Q16sB")
"""Total size in bytes; the fill pattern and its length."""

ALIGNMENT = 16
SKIPPED, SPLATTED, EMBEDDED = 0, 1, 2
"""The kinds of entries."""


def _archive(path: str) -> Read:
    file = _File(path)
    start = 0
    room = file.size
    while True:
        magic, major, _, _, following, _, count, *segments = HEADER.unpack(
            file.read(start, HEADER.size)
        )
        if magic != MAGIC or major != 0:
            raise FileProblem(f"has no archive of version 0 at byte {start}")
        entries, table_size, names, names_size, contents, _ = segments
        # Shared tables or names could make reading take longer than the size of the file suggests.
        room -= HEADER.size + table_size + names_size
        if room < 0:
            raise FileProblem(f"has an archive at byte {start} that is longer than the file")
        yield from _entries(
            file,
            start + contents,
            count,
            file.read(start + entries, table_size),
            file.read(start + names, names_size),
        )
        if not following:
            return
        start += following


def _entries(file: _File, contents: int, count: int, table: bytes, names: bytes) -> Read:
    """Read the entries of a table; `contents` is where the archive's contents start in the file."""
    position = 0
    left = len(names)
    for _ in range(count):
        size, kind, _, name, length, *_ = _unpack(ENTRY, table, position)
        if size < ENTRY.size:
            raise FileProblem(f"has an entry of {size} bytes")
        left -= length
        if left < 0 or name + length > len(names):
            raise FileProblem(f"has an entry whose name is at byte {name} of {len(names)}")
        try:
            key = names[name : name + length].decode()
        except UnicodeDecodeError as problem:
            raise FileProblem(f"has a name that is not UTF-8: {problem}") from problem
        body = position + ENTRY.size
        if kind == SPLATTED:
            total, pattern, width = _unpack(SPLAT, table, body)
            if not 0 < width <= 16 or total % width:
                raise FileProblem(f"has '{key}' of {total} bytes of a pattern of {width}")
            yield key, Parameter(_splat(pattern[:width], total))
        elif kind == EMBEDDED:
            offset, stored = _unpack(RANGE, table, body)
            yield key, Parameter(file.later(contents + offset, stored))
        elif kind != SKIPPED:
            raise FileProblem(f"has the contents of '{key}' in another file")
        position += -(-size // ALIGNMENT) * ALIGNMENT


def _unpack(form: struct.Struct, data: bytes, position: int) -> tuple[Any, ...]:
    if position + form.size > len(data):
        raise FileProblem(f"has an entry at byte {position} of a table of {len(data)}")
    return form.unpack_from(data, position)


def _splat(pattern: bytes, total: int) -> Deferred:
    def read() -> bytes:
        if exceeds_memory(total):
            raise FileProblem(f"fills {total} bytes, more than this machine has")
        return pattern * (total // len(pattern))

    return Deferred(total, read)


READERS: dict[str, Callable[[str], Read]] = {
    ".irpa": _archive,
    ".npz": _numpy,
    ".safetensors": _safetensors,
}
"""Readers by file suffix."""

"""Files of parameters: IREE's archives (`.irpa`), `.safetensors`, and NumPy's `.npz`.

An archive is read as `iree/schemas/parameter_archive.h` of IREE describes version 0 of it: headers
that are linked, each with a table of entries, their names, and their contents.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..interpreter.parameters import Parameter
from ..interpreter.values import FLOAT_TYPES
from .usage_error import UsageError

Read = Iterator[tuple[str, Parameter]]


def read_parameters(options: Sequence[str]) -> dict[tuple[str, str], Parameter]:
    """The parameters in files, each named as `scope=file` or `file`. Raises UsageError."""
    found: dict[tuple[str, str], Parameter] = {}
    for option in options:
        scope, equals, path = option.partition("=")
        if not equals:
            scope, path = "", option
        reader = READERS.get(Path(path).suffix.lower())
        if reader is None:
            known = ", ".join(sorted(READERS))
            raise UsageError(f"--parameters={option}: files of parameters are {known}")
        try:
            data = Path(path).read_bytes()
        except OSError as problem:
            raise UsageError(f"cannot read '{path}': {problem.strerror}") from problem
        try:
            found |= {(scope, key): parameter for key, parameter in reader(data)}
        except (UsageError, MemoryError):
            raise
        except Exception as problem:
            # The libraries that read the formats raise what they like about damaged files.
            reason = str(problem).strip() or type(problem).__name__
            raise UsageError(f"'{path}' is no file of parameters: {reason}") from problem
    return found


# NumPy ----------------------------------------------------------------------------------------


def _numpy(data: bytes) -> Read:
    archive: Any = np.load(io.BytesIO(data), allow_pickle=False)
    if not hasattr(archive, "files"):
        raise ValueError("it holds one array without a name")
    for name in archive.files:
        yield name, Parameter.of_array(archive[name])


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
"""Element types by their name in such files."""


def _safetensors(data: bytes) -> Read:
    try:
        import safetensors
    except ImportError as problem:
        raise UsageError(
            "reading .safetensors needs a library: pip install 'mesh-opt[safetensors]'"
        ) from problem
    # The library's own types say nothing of what it returns.
    library: Any = safetensors
    try:
        entries: list[tuple[str, Any]] = library.deserialize(data)
    except library.SafetensorError as problem:
        raise ValueError(str(problem)) from problem
    for name, entry in entries:
        dtype = SAFETENSORS.get(entry["dtype"])
        yield name, Parameter(bytes(entry["data"]), tuple(entry["shape"]), dtype)


# Archives -------------------------------------------------------------------------------------

MAGIC = 0x41505249
HEADER = struct.Struct("<IHHQQQ Q QQ QQ QQ")
"""Magic, version (major, minor), header size, distance to the next header, flags; entries; offset
and length of the segments of entries, metadata (names) and contents, from the header on."""
ENTRY = struct.Struct("<QIQ QQ QQ Q")
"""Size of the entry, its kind, flags; offset and length of its name and its metadata; alignment."""
RANGE = struct.Struct("<QQ")
SPLAT = struct.Struct("<Q16sB")
"""Bytes in all; the pattern that fills them, and how long it is."""

ALIGNMENT = 16
SKIPPED, SPLATTED, EMBEDDED = 0, 1, 2
"""Kinds of entries."""


def _archive(data: bytes) -> Read:
    start = 0
    while True:
        header = HEADER.unpack_from(data, start)
        magic, major, _, _, following, _, count, *segments = header
        if magic != MAGIC or major != 0:
            raise ValueError(f"it has no archive of version 0 at byte {start}")
        yield from _entries(data, start, count, segments)
        if not following:
            return
        start += following


def _entries(data: bytes, start: int, count: int, segments: Sequence[int]) -> Read:
    entries, _, metadata, _, storage, _ = segments
    position = start + entries
    for _ in range(count):
        size, kind, _, name, length, *_ = ENTRY.unpack_from(data, position)
        key = _bytes(data, start + metadata + name, length).decode()
        body = position + ENTRY.size
        if kind == SPLATTED:
            total, pattern, width = SPLAT.unpack_from(data, body)
            if not 0 < width <= 16 or total % width:
                raise ValueError(f"'{key}' is {total} bytes of a pattern of {width}")
            yield key, Parameter(pattern[:width] * (total // width))
        elif kind == EMBEDDED:
            offset, stored = RANGE.unpack_from(data, body)
            yield key, Parameter(_bytes(data, start + storage + offset, stored))
        elif kind != SKIPPED:
            raise ValueError(f"the contents of '{key}' are in another file")
        if size < ENTRY.size:
            raise ValueError(f"an entry of {size} bytes at byte {position}")
        position += -(-size // ALIGNMENT) * ALIGNMENT


def _bytes(data: bytes, start: int, length: int) -> bytes:
    if start + length > len(data):
        raise ValueError(f"it ends at byte {len(data)}, before byte {start + length}")
    return data[start : start + length]


READERS: dict[str, Callable[[bytes], Read]] = {
    ".irpa": _archive,
    ".npz": _numpy,
    ".safetensors": _safetensors,
}
"""By the suffix of the file."""

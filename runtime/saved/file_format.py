"""The file format of saved programs: a head, a JSON header, and sections of bytes.

    head      64 bytes: "MESHPROG", version, 0, size of the file, size of the header, its SHA-256
    header    JSON; "sections" has the offset, the size and the SHA-256 of each section
    sections  from the next page on, at multiples of 64 bytes; constants at a multiple of a page

All numbers are little-endian. Reading trusts nothing: sizes must lie within the file, and checksums
must match the contents.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from .fields import DamagedFile, Fields

MAGIC = b"MESHPROG"
VERSION = 8
HEAD = struct.Struct("<8sIIQQ32s")
LINE, PAGE = 64, 4096
PAGED = "constants"
"""The section that begins at a page boundary, so that it can be mapped."""

AGAIN = "save the program again"

Buffer = bytes | memoryview

Sections = Mapping[str, Sequence[Buffer]]
"""The pieces of each section, which are stored one after the other at multiples of 64 bytes."""


def place_pieces(pieces: Sequence[Buffer]) -> list[tuple[int, int]]:
    """Return the offset of each piece in its section, and its size in bytes."""
    places: list[tuple[int, int]] = []
    end = 0
    for piece in pieces:
        size = memoryview(piece).nbytes
        places.append((end, size))
        end = _aligned(end + size, LINE)
    return places


def _aligned(offset: int, unit: int) -> int:
    return -(-offset // unit) * unit


def write_container(
    path: str | os.PathLike[str], header: Mapping[str, Any], sections: Sections
) -> None:
    """Write a file atomically; a pipe or a device is not replaced. Raises OSError on `path`."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with open(target, "wb") as file:
                _write(file, header, sections)
        else:
            _replace(target, header, sections)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem


def _replace(target: Path, header: Mapping[str, Any], sections: Sections) -> None:
    temporary = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            _write(file, header, sections)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write(file: BinaryIO, header: Mapping[str, Any], sections: Sections) -> None:
    rows: dict[str, tuple[int, int, str]] = {}
    end = 0
    for name, pieces in sections.items():
        start = _aligned(end, PAGE if name == PAGED else LINE)
        digest = sha256()
        for data in _padded(pieces):
            digest.update(data)
        places = place_pieces(pieces)
        size = sum(places[-1]) if places else 0
        rows[name] = (start, size, digest.hexdigest())
        end = start + size
    text = json.dumps({**header, "sections": rows}, separators=(",", ":")).encode()
    base = _aligned(HEAD.size + len(text), PAGE)
    head = HEAD.pack(MAGIC, VERSION, 0, base + end, len(text), sha256(text).digest())
    # Counted here, since a pipe knows no position.
    written = file.write(head) + file.write(text)
    for name, pieces in sections.items():
        written += file.write(bytes(base + rows[name][0] - written))
        written += sum(map(file.write, _padded(pieces)))
    file.write(bytes(base + end - written))


def _padded(pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """Yield the pieces of a section and the padding between them."""
    end = 0
    for data, (start, size) in zip(pieces, place_pieces(pieces), strict=True):
        yield bytes(start - end)
        if size:
            yield memoryview(data).cast("B")
        end = start + size


class Container:
    """A memory-mapped file: its header, and the bytes of its sections."""

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = True) -> None:
        """Map the file; with `verify`, compare the checksum of the constants too.

        Raises OSError for a file that cannot be read, DamagedFile for one that is not a valid saved
        program.
        """
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic = file.read(len(MAGIC))
            if not MAGIC.startswith(magic):
                raise DamagedFile(
                    f"begins with {magic!r}, expected {MAGIC!r}; the text of a program is for"
                    " mesh_opt.compile"
                )
            if size < HEAD.size:
                raise DamagedFile(f"has {size} bytes, expected {HEAD.size} or more")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = memoryview(self._map)
        self.header = self._read_header()
        self._sections: dict[str, memoryview] = {}
        for name, row in self.header["sections"].entries():
            self._sections[name] = self._section(name, row, verify=verify or name != PAGED)

    def _read_header(self) -> Fields:
        _, version, _, size, length, digest = HEAD.unpack_from(self._bytes)
        if version != VERSION:
            age = "an older" if version < VERSION else "a newer"
            raise DamagedFile(
                f"has version {version} of the format, and this mesh-opt reads version {VERSION}:"
                f" {age} one wrote it; {AGAIN}"
            )
        if size != len(self._bytes):
            raise DamagedFile(
                f"has {len(self._bytes)} bytes, but was written with {size}: it was cut off or"
                f" added to; {AGAIN}"
            )
        text = self._bytes[HEAD.size : HEAD.size + length]
        if len(text) != length:
            raise DamagedFile(f"has a header of {length} bytes, which does not lie in the file")
        _compare("header", text, digest.hex())
        self._base = _aligned(HEAD.size + length, PAGE)
        try:
            found: object = json.loads(bytes(text))
        except (ValueError, RecursionError) as problem:
            raise DamagedFile(f"has a header that is not JSON: {problem}") from problem
        return Fields(found, "header")

    def _section(self, name: str, row: Fields, *, verify: bool) -> memoryview:
        offset, size, digest = row.items(3)
        room = len(self._bytes) - self._base
        start = offset.integer(0, max(room, 0))
        end = start + size.integer(0, room - start)
        if start % LINE:
            raise DamagedFile(f"has section '{name}' at {start}, expected a multiple of {LINE}")
        found = self._bytes[self._base + start : self._base + end]
        if verify:
            _compare(f"section '{name}'", found, digest.text())
        return found

    def section(self, name: str) -> memoryview:
        """Return the bytes of a section. Raises DamagedFile if there is none."""
        found = self._sections.get(name)
        if found is None:
            raise DamagedFile(f"has no section '{name}'")
        return found

    def text(self, name: str) -> str:
        """Return the text of a section. Raises DamagedFile if there is none or it is not UTF-8."""
        try:
            return str(self.section(name), "utf-8")
        except UnicodeDecodeError as problem:
            raise DamagedFile(f"has section '{name}' that is not text: {problem}") from problem


def _compare(what: str, data: memoryview, expected: str) -> None:
    found = sha256(data).hexdigest()
    if found != expected:
        raise DamagedFile(
            f"is damaged: its {what} has the checksum {found[:16]}, expected {expected[:16]};"
            f" {AGAIN}"
        )


def piece(section: memoryview, place: Fields) -> memoryview:
    """Return a piece of a section. Raises DamagedFile if it is not within the section."""
    offset, size = place.items(2)
    start = offset.integer(0, len(section))
    if start % LINE:
        raise DamagedFile(f"has {place.path} at {start}, expected a multiple of {LINE}")
    return section[start : start + size.integer(0, len(section) - start)]

"""Files that are kept between processes, in a folder of the user's.

What is in them is executed unseen, so the folder must belong to the user and to nobody else; if it
does not, or is a link, there is no cache. A cache that cannot be written costs time at the next
start, nothing else.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time

CACHE_VARIABLE = "MESH_OPT_CACHE"
"""Environment variable: another folder for kernels and programs, or empty for no cache."""

DAY = 86400
"""Seconds."""


def cache_folder(kind: str) -> Path | None:
    """The folder for files of a kind, `None` if there is none that is safe."""
    return _folder_at(os.environ.get(CACHE_VARIABLE), kind)


@cache
def _folder_at(chosen: str | None, kind: str) -> Path | None:
    if chosen == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    above = Path(base) / "mesh-opt" if chosen is None else Path(chosen)
    try:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = above / kind
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder), os.lstat(above)
    except OSError:
        return None
    return folder if all(stat.S_ISDIR(s.st_mode) and _is_private(s) for s in status) else None


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_private_file(path: Path) -> bool:
    """Whether a path is a file of the user's own, and no link."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and _is_private(status)


def read_private(path: Path) -> bytes:
    """A file's contents. Raises OSError if there is none, or it is not the user's own.

    It then counts as used on this day, for `drop_oldest`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not _is_private(status):
            raise OSError("not the user's own file")
        if time() - status.st_mtime > DAY:
            os.utime(descriptor)
        return file.read()


def write_private(path: Path, data: bytes) -> None:
    """Put a file in place whole, or not at all: others may be reading and writing the same."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
        temporary = ""
    except OSError:
        # A full or read-only disk costs time at the next start, not the result of this one.
        pass
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def drop_oldest(folder: Path, most: int) -> None:
    """Delete the files that were used longest ago, until the rest have at most so many bytes."""
    with suppress(OSError):
        found = [(each.stat(), Path(each.path)) for each in os.scandir(folder) if each.is_file()]
        found.sort(key=lambda pair: pair[0].st_mtime_ns)
        excess = sum(status.st_size for status, _ in found) - most
        for status, path in found:
            if excess <= 0:
                break
            path.unlink()
            excess -= status.st_size

"""Files cached between processes, in a folder of the user's.

Their contents are executed without checks, so the folder must belong to the user and be writable by
nobody else. If it is not so, or is a symbolic link, there is no cache. A cache that cannot be
written only makes the next start slower.
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
"""Environment variable: another folder for kernels and programs; empty disables the cache."""

DAY = 86400
"""A day in seconds."""


def cache_folder(kind: str) -> Path | None:
    """Return the folder for files of a kind; `None` if there is no safe one."""
    return _folder_at(os.environ.get(CACHE_VARIABLE), kind)


@cache
def _folder_at(chosen: str | None, kind: str) -> Path | None:
    if chosen == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # The XDG Base Directory Specification ignores relative paths.
        base = os.path.join(os.path.expanduser("~"), ".cache")
    above = Path(base) / "mesh-opt" if chosen is None else Path(chosen)
    if chosen is None and not above.is_absolute():
        return None  # There is no home: "~" would be a folder in the current one.
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
    """Whether a path is a regular file, not a link, that only the user may write."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and _is_private(status)


def read_private(path: Path) -> bytes:
    """Return a file's contents. Raises OSError if it is missing or others may write it.

    Updates the modification time if that is more than a day old; `drop_oldest` orders files by it.
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
    """Write a file atomically, since other processes may read and write the same file."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
        temporary = ""
    except OSError:
        # A full or read-only disk makes the next start slower, but does not affect this result.
        pass
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def drop_oldest(folder: Path, most: int) -> None:
    """Delete the least recently used files until the rest take at most `most` bytes."""
    with suppress(OSError):
        found = [(each.stat(), Path(each.path)) for each in os.scandir(folder) if each.is_file()]
        found.sort(key=lambda pair: pair[0].st_mtime_ns)
        excess = sum(status.st_size for status, _ in found) - most
        for status, path in found:
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= status.st_size

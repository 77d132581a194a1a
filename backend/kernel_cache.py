"""Compiling a function to native code, and keeping the code on disk between processes.

The name of a cached file is the hash of everything that the code is generated from: the function's
text, the primitives' own source, the versions of Numba and llvmlite, and the CPU. Object code is
executed unseen, so the folder must belong to the user and to nobody else; if it does not, or is a
link, there is no cache.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import registry
from numba.core.compiler_lock import global_compiler_lock

from .. import backend

CACHE_VARIABLE = "MESH_OPT_CACHE"
"""Environment variable: another folder for the cache, or empty for none."""


class Native:
    """A native function: its address, and what keeps its code in memory."""

    __slots__ = ("_library", "address", "name")

    def __init__(self, name: str, address: int, library: Any) -> None:
        self.name = name
        self.address = address
        self._library = library


_loaded: dict[str, Native] = {}


def compile_native(
    text: str, make: Callable[[str], FunctionType], arguments: Sequence[Any], result: Any
) -> Native:
    """The native form of a function.

    - `text`: what the function is made from; equal texts are one function;
    - `make`: builds the Python function, which must bear the name it is given;
    - `arguments`, `result`: its Numba types.
    """
    parts = (text, repr(tuple(arguments)), repr(result), _platform())
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    with global_compiler_lock:
        native = _loaded.get(digest)
        if native is None:
            name = f"mesh_{digest[:32]}"
            native = _load(digest, name) or _compile(digest, make(name), arguments, result)
            _loaded[digest] = native
        return native


def _compile(digest: str, function: FunctionType, arguments: Sequence[Any], result: Any) -> Native:
    compile_function: Any = numba.cfunc
    compiled: Any = compile_function(result(*arguments), error_model="numpy")(function)
    library = compiled._library
    symbol = compiled.native_name
    folder = _folder()
    if folder is not None:
        _, _, (code, interface) = library.serialize_using_object_code()
        _write(folder / digest, _pack(symbol.encode(), code, interface))
    return Native(symbol, compiled.address, library)


def _load(digest: str, name: str) -> Native | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        symbol, code, interface = _unpack(_read(folder / digest))
    except (OSError, ValueError):
        return None
    target: Any = registry.cpu_target
    # The code may call Numba's own runtime, which must be there before it is linked.
    target.target_context.refresh()
    library = target.target_context.codegen().unserialize_library(
        (name, "object", (code, interface))
    )
    address = library.get_pointer_to_function(symbol.decode())
    return Native(symbol.decode(), address, library) if address else None


# The file: a checksum, then three lengths and the three parts.


def _pack(*parts: bytes) -> bytes:
    body = struct.pack("<3Q", *(len(part) for part in parts)) + b"".join(parts)
    return hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> tuple[bytes, bytes, bytes]:
    digest, body = data[:32], data[32:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("a damaged file")
    lengths = struct.unpack_from("<3Q", body)
    first, second = 24 + lengths[0], 24 + lengths[0] + lengths[1]
    return body[24:first], body[first:second], body[second:]


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not _is_private(os.fstat(descriptor)):
            raise OSError("not the user's own file")
        return file.read()


def _write(path: Path, data: bytes) -> None:
    """Put a file in place whole, or not at all: others may be reading and writing the same."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        # A full or read-only disk costs time at the next start, not the result of this one.
        return


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _folder_at(chosen: str | None) -> Path | None:
    if chosen == "":
        return None
    if chosen is not None:
        folder = Path(chosen)
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = Path(base) / "mesh-opt" / "kernels"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return None
    safe = stat.S_ISDIR(status.st_mode) and _is_private(status)
    return folder if safe else None


def _folder() -> Path | None:
    return _folder_at(os.environ.get(CACHE_VARIABLE))


_PRIMITIVE_SOURCES = (
    "elements",
    "emission",
    "emission_floats",
    "emission_functions",
    "emission_integers",
    "emission_values",
    "microkernels",
    "primitives",
    "tile_microkernels",
)
"""What the names in a function's text mean is said here."""


@cache
def _platform() -> str:
    """Everything but the function itself that its native code depends on."""
    folder = Path(backend.__path__[0])
    digest = hashlib.sha256()
    for name in _PRIMITIVE_SOURCES:
        digest.update((folder / f"{name}.py").read_bytes())
    return "|".join(
        (
            numba.__version__,
            llvmlite.__version__,
            llvmlite.binding.get_process_triple(),
            llvmlite.binding.get_host_cpu_name(),
            llvmlite.binding.get_host_cpu_features().flatten(),
            digest.hexdigest(),
        )
    )

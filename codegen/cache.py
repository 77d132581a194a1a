"""Compiling a function to native code, and keeping the code on disk between processes.

The name of a cached file is the hash of everything that the code is generated from: the function's
text, the primitives' own source, the version of llvmlite, and the CPU.

In memory, equal functions are one, and the code of those that nothing uses is unloaded.
"""

from __future__ import annotations

import ast
import hashlib
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import RLock
from weakref import WeakValueDictionary

from ..runtime.abi.native_code import Native, load_object, target_platform
from ..runtime.abi.private_cache import cache_folder, drop_oldest, read_private, write_private
from .kernels.llvm_lowering import kernel_module
from .side_by_side import compile_side_by_side

RECENT = 256
"""Functions that stay loaded though nothing uses them: the next program may be like the last."""

KERNELS = "kernels"
"""The folder of the cache that holds native code."""

LARGEST_FOLDER = 1 << 29
"""Bytes of all native code that is kept; what was used longest ago goes first."""

FORMAT = "6"
"""Of the files in the cache."""


_lock = RLock()
"""Held while a function is looked up, compiled and loaded."""

_loaded: WeakValueDictionary[str, Native] = WeakValueDictionary()
_recent: OrderedDict[str, Native] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Module:
    """A function in LLVM IR.

    - `text`: what the function is made from; equal texts are one function;
    - `write`: writes a module with the function, which must bear the name it is given.
    """

    text: str
    write: Callable[[str], str]

    def digest(self) -> str:
        """What tells the function from others."""
        return hashlib.sha256("\0".join((self.text, _platform())).encode()).hexdigest()


def compile_module(text: str, write: Callable[[str], str]) -> Native:
    """The native form of a `Module`."""
    return compile_modules([Module(text, write)])[0]


def compile_kernels(functions: Sequence[ast.FunctionDef]) -> list[Native]:
    """The native form of kernels, of which equal ones are one."""

    def module(function: ast.FunctionDef) -> Module:
        return Module(ast.dump(function), lambda name: str(kernel_module(function, name)))

    return compile_modules([module(each) for each in functions])


def compile_modules(modules: Sequence[Module]) -> list[Native]:
    """The native form of functions: from memory, from the cache, or compiled side by side."""
    digests = [each.digest() for each in modules]
    wanted = dict(zip(digests, modules, strict=True))
    with _lock:
        natives = {digest: _known(digest) for digest in wanted}
        missing = [digest for digest, native in natives.items() if native is None]
        names = [f"mesh_{digest[:32]}" for digest in missing]
        texts = [
            partial(wanted[digest].write, name) for digest, name in zip(missing, names, strict=True)
        ]
        codes = compile_side_by_side(texts) if texts else []
        for digest, name, code in zip(missing, names, codes, strict=True):
            _keep(digest, name, code)
            natives[digest] = _loaded[digest] = load_object(name, code)
        found = {digest: native for digest, native in natives.items() if native is not None}
        for digest, native in found.items():
            _recent[digest] = native
            _recent.move_to_end(digest)
        while len(_recent) > RECENT:
            _recent.popitem(last=False)
        return [found[digest] for digest in digests]


def _known(digest: str) -> Native | None:
    """A function from memory or from the cache."""
    native = _loaded.get(digest)
    if native is None and (kept := _read(digest)) is not None:
        native = _loaded[digest] = load_object(*kept)
    return native


def _keep(digest: str, symbol: str, code: bytes) -> None:
    """Put object code into the cache on disk."""
    folder = cache_folder(KERNELS)
    if folder is not None:
        write_private(folder / digest, _pack(symbol.encode(), code))
        _drop_oldest(folder)


@cache
def _drop_oldest(folder: Path) -> None:
    """Keep a folder small: one look in each process that adds to it."""
    drop_oldest(folder, LARGEST_FOLDER)


def _read(digest: str) -> tuple[str, bytes] | None:
    """The same from the cache, `None` if it is not there or damaged."""
    folder = cache_folder(KERNELS)
    if folder is None:
        return None
    try:
        symbol, code = _unpack(read_private(folder / digest))
    except (OSError, ValueError):
        return None
    return symbol.decode(), code


# The file: a checksum, then the lengths of the two parts, and the parts.


def _pack(*parts: bytes) -> bytes:
    body = struct.pack("<2Q", *(len(part) for part in parts)) + b"".join(parts)
    return hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> tuple[bytes, bytes]:
    digest, body = data[:32], data[32:]
    if hashlib.sha256(body).digest() != digest or len(body) < 16:
        raise ValueError("a damaged file")
    first, _ = struct.unpack_from("<2Q", body)
    return body[16 : 16 + first], body[16 + first :]


_HERE = Path(__file__).parent

_PRIMITIVE_SOURCES = (
    Path(__file__),
    _HERE.parent / "runtime" / "abi" / "elements.py",
    _HERE.parent / "runtime" / "abi" / "native_code.py",
    _HERE.parent / "runtime" / "abi" / "object_code.py",
    _HERE / "kernels" / "llvm_lowering.py",
    _HERE / "native_functions.py",
    *(
        path
        for room in ("microkernels", "scalar_ops")
        for path in sorted((_HERE / room).glob("*.py"))
    ),
)
"""What the names in a function's text mean, and what is made of it, is said here."""


_PRIMITIVES = hashlib.sha256(b"".join(path.read_bytes() for path in _PRIMITIVE_SOURCES)).hexdigest()


@cache
def _platform() -> str:
    """Everything but the function itself that its native code depends on."""
    return "|".join((FORMAT, *target_platform().values(), _PRIMITIVES))

"""Compiling a function to native code, and keeping the code on disk between processes.

The name of a cached file is the hash of everything that the code is generated from: the function's
text, the primitives' own source, the version of llvmlite, and the CPU.

In memory, equal functions are one, and the code of those that nothing uses is unloaded.
"""

from __future__ import annotations

import hashlib
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding

from ..ir.activity import activity
from ..runtime.abi.native_code import Native, load_object, target_machine, target_platform
from ..runtime.abi.private_cache import cache_folder, read_private, write_private

RECENT = 256
"""Functions that stay loaded though nothing uses them: the next program may be like the last."""

KERNELS = "kernels"
"""The folder of the cache that holds native code."""

FORMAT = "6"
"""Of the files in the cache."""


_lock = RLock()
"""Held while a function is looked up, compiled and loaded."""

_compiled = count(1)
"""How many functions have been compiled in this process."""

_loaded: WeakValueDictionary[str, Native] = WeakValueDictionary()
_recent: OrderedDict[str, Native] = OrderedDict()


def compile_module(text: str, make: Callable[[str], str]) -> Native:
    """The native form of a function in LLVM IR.

    - `text`: what the function is made from; equal texts are one function;
    - `make`: writes a module with the function, which must bear the name it is given.
    """
    return _loaded_once((text,), lambda name: (name, compile_ir(make(name))))


def _loaded_once(parts: Sequence[str], compile_code: Callable[[str], tuple[str, bytes]]) -> Native:
    """The function made of some texts: from memory, from the cache, or compiled under a name."""
    digest = hashlib.sha256("\0".join((*parts, _platform())).encode()).hexdigest()
    with _lock:
        native = _loaded.get(digest)
        if native is None:
            found = _read(digest)
            if found is None:
                with activity(f"compiling kernel {next(_compiled)}"):
                    found = compile_code(f"mesh_{digest[:32]}")
                _keep(digest, *found)
            native = _loaded[digest] = load_object(*found)
        _recent[digest] = native
        _recent.move_to_end(digest)
        while len(_recent) > RECENT:
            _recent.popitem(last=False)
        return native


def compile_ir(text: str) -> bytes:
    """The object code of a module in LLVM IR, optimised for this CPU."""
    llvm: Any = llvmlite.binding
    machine = target_machine()
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Short loops are unrolled first: LLVM 22's vectoriser stops the process at some of them.
    options.loop_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


def _keep(digest: str, symbol: str, code: bytes) -> None:
    """Put object code into the cache on disk."""
    folder = cache_folder(KERNELS)
    if folder is not None:
        write_private(folder / digest, _pack(symbol.encode(), code))


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

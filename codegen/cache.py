"""Compile functions to native code, and cache the object code in memory and on disk.

The name of a cached file is the hash of everything that its code is generated from: the text of the
function, the source files of the primitives, the version of llvmlite, and the CPU.

In memory, equal functions share one copy, and code that nothing references is unloaded.

The compiler is imported when a function is in neither cache, since its import takes time.
"""

from __future__ import annotations

import ast
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import RLock
from types import CodeType, FunctionType
from weakref import WeakValueDictionary

from ..runtime.abi.native_code import Intrinsic, Native, load_object, target_platform
from ..runtime.abi.private_cache import cache_folder, drop_oldest, read_private, write_private

RECENT = 256
"""The most recently used functions, which stay loaded without a reference.

The next program may use the same kernels.
"""

KERNELS = "kernels"
"""The name of the cache folder for native code."""

MAX_FOLDER_BYTES = 1 << 29
"""The limit for the cache folder in bytes; the least recently used files are removed."""

_lock = RLock()
"""Held while a function is looked up, compiled and loaded."""

_loaded: WeakValueDictionary[str, Native] = WeakValueDictionary()
_recent: OrderedDict[str, Native] = OrderedDict()


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """What a native function is compiled from.

    - `key`: what determines its code; functions with equal keys are the same;
    - `write_llvm`: returns the text of an LLVM module that defines the function under a given name.
    """

    key: str
    write_llvm: Callable[[str], str]

    def digest(self) -> str:
        """Return the hash that identifies the function and the platform."""
        return hashlib.sha256("\0".join((self.key, _platform())).encode()).hexdigest()


def compile_llvm(key: str, write_llvm: Callable[[str], str]) -> Native:
    """Return the native code of one `FunctionSource`."""
    return compile_sources([FunctionSource(key, write_llvm)])[0]


def compile_kernels(functions: Sequence[ast.FunctionDef]) -> list[Native]:
    """Return the native code of kernels; equal kernels share it."""
    return compile_sources(
        [FunctionSource(ast.dump(each), partial(_llvm_of_kernel, each)) for each in functions]
    )


def _llvm_of_kernel(function: ast.FunctionDef, name: str) -> str:
    from .kernels.code.llvm_lowering import kernel_module

    return str(kernel_module(function, name))


def compile_functions(functions: Sequence[FunctionType]) -> list[Native]:
    """Return the native code of functions."""
    return compile_sources([*map(_source_of, functions)])


def compile_missing(functions: Sequence[FunctionType]) -> None:
    """Compile the functions that are in no cache; others are not even loaded."""
    folder = cache_folder(KERNELS)
    sources = {source.digest(): source for source in map(_source_of, functions)}
    kept = {each for each in sources if folder is not None and (folder / each).exists()}
    compile_sources([each for digest, each in sources.items() if digest not in kept])


def _source_of(function: FunctionType) -> FunctionSource:
    key = "\0".join((function.__name__, *_origins(function)))
    return FunctionSource(key, partial(_llvm_of_function, function))


def _origins(function: FunctionType) -> list[str]:
    """Return what the code of a function is generated from.

    These are the texts of its module and of those of all functions that it calls, and the numbers
    that these functions read, which may come from any module.
    """
    found: dict[str, None] = {}
    reached = {function: None}
    pending = [function]
    while pending:
        each = pending.pop()
        names = each.__globals__
        found[names.get("SOURCE", "")] = None
        for name in _global_names(each.__code__):
            value = names.get(name)
            if isinstance(value, Intrinsic):
                value = value.emit
            if isinstance(value, int):
                found[f"{name} = {value}"] = None
            elif isinstance(value, FunctionType) and value not in reached:
                reached[value] = None
                pending.append(value)
    return list(found)


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _global_names(each)


def _llvm_of_function(function: FunctionType, name: str) -> str:
    from .native_functions import function_module

    return str(function_module(function, name))


def compile_sources(sources: Sequence[FunctionSource]) -> list[Native]:
    """Return the native code of functions: from memory, from disk, or compiled in parallel."""
    digests = [each.digest() for each in sources]
    wanted = dict(zip(digests, sources, strict=True))
    with _lock:
        natives = {digest: _known(digest) for digest in wanted}
        missing = [digest for digest, native in natives.items() if native is None]
        # Long functions take longest to compile; started last, one would leave other cores idle.
        missing.sort(key=lambda digest: len(wanted[digest].key), reverse=True)
        writers = [partial(wanted[digest].write_llvm, _symbol(digest)) for digest in missing]
        codes = _compiled(writers) if writers else []
        for digest, code in zip(missing, codes, strict=True):
            _keep(digest, code)
            natives[digest] = _loaded[digest] = load_object(_symbol(digest), code)
        found = {digest: native for digest, native in natives.items() if native is not None}
        for digest, native in found.items():
            _recent[digest] = native
            _recent.move_to_end(digest)
        while len(_recent) > RECENT:
            _recent.popitem(last=False)
        return [found[digest] for digest in digests]


def _symbol(digest: str) -> str:
    """Return the name of a function in its object code."""
    return f"mesh_{digest[:32]}"


def _compiled(writers: Sequence[Callable[[], str]]) -> list[bytes]:
    from .parallel_compilation import compile_in_parallel

    return compile_in_parallel(writers)


def _known(digest: str) -> Native | None:
    """Return a function from memory or from the disk cache, `None` if it is in neither."""
    native = _loaded.get(digest)
    if native is None and (code := _read(digest)) is not None:
        native = _loaded[digest] = load_object(_symbol(digest), code)
    return native


def _keep(digest: str, code: bytes) -> None:
    """Write object code to the disk cache, after its checksum."""
    folder = cache_folder(KERNELS)
    if folder is not None:
        write_private(folder / digest, hashlib.sha256(code).digest() + code)
        _drop_oldest(folder)


@cache
def _drop_oldest(folder: Path) -> None:
    """Limit the size of the cache folder, once in each process that writes to it."""
    drop_oldest(folder, MAX_FOLDER_BYTES)


def _read(digest: str) -> bytes | None:
    """Return object code from the disk cache, `None` if missing or damaged."""
    folder = cache_folder(KERNELS)
    if folder is None:
        return None
    try:
        data = read_private(folder / digest)
    except OSError:
        return None
    checksum, code = data[:32], data[32:]
    return code if code and hashlib.sha256(code).digest() == checksum else None


_HERE = Path(__file__).parent

_PRIMITIVE_SOURCES = (
    Path(__file__),
    _HERE.parent / "runtime" / "abi" / "elements.py",
    _HERE.parent / "runtime" / "abi" / "native_code.py",
    _HERE.parent / "runtime" / "abi" / "object_code.py",
    _HERE / "kernels" / "code" / "llvm_lowering.py",
    _HERE / "native_functions.py",
    *(
        path
        for room in ("microkernels", "scalar_ops")
        for path in sorted((_HERE / room).glob("*.py"))
    ),
)
"""The files that define what a name in a key means, what code it becomes, and how it is stored."""


_PRIMITIVES = hashlib.sha256(b"".join(path.read_bytes() for path in _PRIMITIVE_SOURCES)).hexdigest()


@cache
def _platform() -> str:
    """Return everything, beside the function itself, that its native code depends on."""
    return "|".join((*target_platform().values(), _PRIMITIVES))

"""Native code of the runtime: load object code and get the addresses of its functions.

LLVM's JITLink loads object code through llvmlite's binding; nothing is compiled here.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import llvmlite
import llvmlite.binding
from llvmlite import ir

from .object_code import create_target_machine

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class Native:
    """A native function: its address, and a reference that keeps its code loaded.

    `image` is the object code that it was loaded from.
    """

    __slots__ = ("__weakref__", "_code", "address", "image", "name")

    def __init__(self, name: str, code: Any, image: bytes | memoryview) -> None:
        self.name = name
        self.address: int = code[name]
        self.image = image
        self._code = code


def call_symbol(builder: Any, name: str, result: ir.Type, *operands: Any) -> Any:
    """Emit a call of a function of LLVM, or of a library in the process, by its full name."""
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result, [operand.type for operand in operands])
        function = ir.Function(builder.module, kind, name)
    return builder.call(function, operands)


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function on 64-bit words that native functions call; `emit` writes its LLVM IR inline."""

    emit: Callable[..., Any]

    @property
    def argument_count(self) -> int:
        """The number of word arguments."""
        return self.emit.__code__.co_argcount - 1

    def emit_values(self, builder: Any, values: Sequence[Any]) -> Any:
        """Emit its code with a builder of LLVM IR and return the result."""
        return self.emit(builder, *values)


_numbers = count()
"""Makes the names of loaded libraries unique."""


CPU_FEATURES_VARIABLE = "MESH_OPT_CPU_FEATURES"
"""Environment variable: `sse2`, `avx2` or `avx512`, the widest vectors that native code may use. It
also disables later instructions for narrow types. Tests use it to run kernels for other CPUs.
"""

_BEYOND = {
    "avx512": ("amx", "avx512vnni", "avx512bf16", "avx512fp16", "avxvnni"),
    "avx2": ("avx512", "avx10", "amx", "evex", "avxvnni", "avxifma", "avxneconvert"),
    "sse2": (
        *("avx", "amx", "evex", "fma", "f16c", "xop"),
        *("sse3", "ssse3", "sse4", "vaes", "vpclmul"),
    ),
}
"""Prefixes of the features that a CPU of each kind does not have."""


@cache
def cpu_features() -> dict[str, bool]:
    """Return this CPU's features by LLVM's names, without those that are disabled."""
    llvm: Any = llvmlite.binding
    beyond = _BEYOND.get(os.environ.get(CPU_FEATURES_VARIABLE, ""), ())
    found: dict[str, bool] = llvm.get_host_cpu_features()
    if found.get("amx-tile") and "amx" not in beyond and not _may_use_matrix_registers():
        beyond = (*beyond, "amx")
    return {name: there and not name.startswith(beyond) for name, there in found.items()}


def _may_use_matrix_registers() -> bool:
    """Ask Linux for permission to use AMX tile registers; return whether it is granted.

    A process may use them only after asking: `ARCH_REQ_XCOMP_PERM` for `XFEATURE_XTILEDATA`, see
    Documentation/arch/x86/xstate.rst of Linux.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0


def _flattened() -> str:
    found = sorted(cpu_features().items())
    return ",".join(f"{'+' if there else '-'}{name}" for name, there in found)


CPU_FEATURES = "features of the CPU"
"""Key of `target_platform`: all features that LLVM knows, each with `+` or `-`."""


def target_platform() -> dict[str, str]:
    """Return what object code depends on: the loader's version, the system and the CPU."""
    llvm: Any = llvmlite.binding
    return {
        "version of llvmlite": llvmlite.__version__,
        "system": llvm.get_process_triple(),
        "CPU": llvm.get_host_cpu_name(),
        CPU_FEATURES: _flattened(),
    }


@cache
def target_machine() -> Any:
    """Return LLVM's target machine for this CPU."""
    llvm: Any = llvmlite.binding
    return create_target_machine(llvm.get_host_cpu_name(), _flattened())


LIBRARIES_OF_LINKER = 64
"""How many libraries a JIT loads. It keeps 9 KiB of each until all of them have been dropped."""


@lru_cache(maxsize=1)
def _linker(number: int) -> Any:
    """Return the JIT with a number, which loads each object into its own memory.

    The memory is freed with the last use of the object, and the JIT with that of its libraries.
    JITLink places the sections of an object next to each other, as the small code model requires.
    """
    llvm: Any = llvmlite.binding
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=True)


def load_object(symbol: str, image: bytes | memoryview) -> Native:
    """Load one object file and return the function of a symbol."""
    return load_objects({symbol: image})[symbol]


def load_objects(images: Mapping[str, bytes | memoryview]) -> dict[str, Native]:
    """Load one object file per symbol into one library; return the functions by symbol.

    Raises RuntimeError for invalid object code or code of another machine.
    """
    if not images:
        return {}
    llvm: Any = llvmlite.binding
    builder = llvm.JITLibraryBuilder().add_current_process()
    for symbol, image in images.items():
        builder.add_object_img(bytes(image)).export_symbol(symbol)
    number = next(_numbers)
    linked = builder.link(_linker(number // LIBRARIES_OF_LINKER), f"mesh_{number}")
    return {symbol: Native(symbol, linked, image) for symbol, image in images.items()}


def rare(function: AnyFunction) -> AnyFunction:
    """Mark a function as rarely called, so that it is not inlined into its callers."""
    cast("Any", function).is_rare = True
    return function


def is_rare(function: FunctionType) -> bool:
    """Whether `rare` marked a function."""
    return getattr(function, "is_rare", False)


def source_of(file: str) -> str:
    """Return the source text of a module file; call it at import, before the file can change."""
    return Path(file).read_text(encoding="utf-8")

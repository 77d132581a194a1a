"""Native code as the runtime takes it: object code that is loaded, and has an address.

Object code is loaded by LLVM's JITLink, through llvmlite's binding; nothing is compiled here.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import llvmlite
import llvmlite.binding

from .object_code import create_target_machine

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class Native:
    """A native function: its address, and what keeps its code in memory.

    `image` is the object code that it was loaded from.
    """

    __slots__ = ("__weakref__", "_code", "address", "image", "name")

    def __init__(self, name: str, code: Any, image: bytes | memoryview) -> None:
        self.name = name
        self.address: int = code[name]
        self.image = image
        self._code = code


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function of words that native functions call, by what writes its code in LLVM IR."""

    emit: Callable[..., Any]

    @property
    def argument_count(self) -> int:
        """How many words it takes."""
        return self.emit.__code__.co_argcount - 1

    def emit_values(self, builder: Any, values: Sequence[Any]) -> Any:
        """Write its code, with a builder of LLVM IR."""
        return self.emit(builder, *values)


_numbers = count()
"""Of loaded libraries: their names are not used twice."""


CPU_FEATURES_VARIABLE = "MESH_OPT_CPU_FEATURES"
"""Environment variable: `sse2`, `avx2` or `avx512`, the widest vectors that native code may use,
without later instructions for narrow numbers. Tests run kernels for other CPUs by it."""

_BEYOND = {
    "avx512": ("amx", "avx512vnni", "avx512bf16", "avx512fp16", "avxvnni"),
    "avx2": ("avx512", "avx10", "amx", "evex", "avxvnni", "avxifma", "avxneconvert"),
    "sse2": (
        *("avx", "amx", "evex", "fma", "f16c", "xop"),
        *("sse3", "ssse3", "sse4", "vaes", "vpclmul"),
    ),
}
"""How features begin that a CPU of each kind does not have."""


@cache
def cpu_features() -> dict[str, bool]:
    """The features of this CPU by LLVM's names, without those that are not to be used."""
    llvm: Any = llvmlite.binding
    beyond = _BEYOND.get(os.environ.get(CPU_FEATURES_VARIABLE, ""), ())
    found: dict[str, bool] = llvm.get_host_cpu_features()
    if found.get("amx-tile") and "amx" not in beyond and not _may_use_matrix_registers():
        beyond = (*beyond, "amx")
    return {name: there and not name.startswith(beyond) for name, there in found.items()}


def _may_use_matrix_registers() -> bool:
    """Ask Linux for AMX's registers, which a process has only then; whether it gives them.

    `ARCH_REQ_XCOMP_PERM` for `XFEATURE_XTILEDATA`: Documentation/arch/x86/xstate.rst of Linux.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0


def _flattened() -> str:
    found = sorted(cpu_features().items())
    return ",".join(f"{'+' if there else '-'}{name}" for name, there in found)


CPU_FEATURES = "features of the CPU"
"""In a platform: all that LLVM knows, with `+` or `-`."""


def target_platform() -> dict[str, str]:
    """What object code is for: its loader, the system and the CPU."""
    llvm: Any = llvmlite.binding
    return {
        "version of llvmlite": llvmlite.__version__,
        "system": llvm.get_process_triple(),
        "CPU": llvm.get_host_cpu_name(),
        CPU_FEATURES: _flattened(),
    }


@cache
def target_machine() -> Any:
    """LLVM's description of this machine."""
    llvm: Any = llvmlite.binding
    return create_target_machine(llvm.get_host_cpu_name(), _flattened())


@cache
def _linker() -> Any:
    """What loads object code, each in memory of its own that is given back with the last use.

    JITLink puts the sections of an object next to each other, which the small code model needs.
    """
    llvm: Any = llvmlite.binding
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=True)


def load_object(symbol: str, image: bytes | memoryview) -> Native:
    """The function of a symbol in object code."""
    return load_objects({symbol: image})[symbol]


def load_objects(images: Mapping[str, bytes | memoryview]) -> dict[str, Native]:
    """Functions by their symbols, each in object code of its own, in one piece of memory.

    Raises RuntimeError for what is no object code of this machine.
    """
    if not images:
        return {}
    llvm: Any = llvmlite.binding
    builder = llvm.JITLibraryBuilder().add_current_process()
    for symbol, image in images.items():
        builder.add_object_img(bytes(image)).export_symbol(symbol)
    linked = builder.link(_linker(), f"mesh_{next(_numbers)}")
    return {symbol: Native(symbol, linked, image) for symbol, image in images.items()}


def rare(function: AnyFunction) -> AnyFunction:
    """Mark a function that is seldom called: it stays out of the code of those that call it."""
    cast("Any", function).is_rare = True
    return function


def is_rare(function: FunctionType) -> bool:
    """Whether a function is marked so."""
    return getattr(function, "is_rare", False)


def source_of(file: str) -> str:
    """The text of a module, to be read when it is imported: later it may be another one."""
    return Path(file).read_text(encoding="utf-8")

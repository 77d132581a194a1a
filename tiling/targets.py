"""Targets of executables, reduced to the properties that data layouts depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from .gpu_intrinsics import Workgroup


class Architecture(Enum):
    """The instruction set architectures that tile tables distinguish."""

    X86_64 = auto()
    AARCH64 = auto()
    RISCV64 = auto()
    RISCV32 = auto()
    X86_32 = auto()
    """Has no tile table; only `inner_tiled` gives it tiles."""
    OTHER = auto()
    """Any other CPU, such as WebAssembly; has no tile table."""


_ARCHITECTURES = {
    "x86_64": Architecture.X86_64,
    "amd64": Architecture.X86_64,
    "aarch64": Architecture.AARCH64,
    "aarch64_be": Architecture.AARCH64,
    "arm64": Architecture.AARCH64,
    "riscv64": Architecture.RISCV64,
    "riscv32": Architecture.RISCV32,
    **dict.fromkeys(("i386", "i486", "i586", "i686"), Architecture.X86_32),
}

_OTHERS_OF_64_BITS = re.compile(
    r"(arm64e|bpf|loongarch64|mips64|powerpc64|ppc64|s390x|sparc(v9|64)|spirv|wasm64).*"
)
"""Architectures without a tile table whose pointers have 64 bits; any other has 32-bit pointers."""

_VECTOR_LENGTH = re.compile(r"zvl(\d+)b")


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A CPU: its architecture and the features that are enabled.

    `features` are names without signs (`avx512f`). `ukernels` tells whether microkernels are linked
    in. `scalable` asks for scalable tiles on machines with scalable vectors (AArch64 SVE).
    `inner_tiled` asks for tiles of the machine's matrix instructions instead of those of the
    microkernels.
    """

    architecture: Architecture
    features: frozenset[str] = frozenset()
    ukernels: bool = False
    scalable: bool = False
    inner_tiled: bool = False
    pointer_bits: int = 64

    def has(self, *features: str) -> bool:
        return self.features.issuperset(features)

    @property
    def vector_length(self) -> int:
        """The guaranteed bits of a RISC-V vector register; the V extension demands at least 128."""
        lengths = [
            int(match[1])
            for feature in self.features
            if (match := _VECTOR_LENGTH.fullmatch(feature))
        ]
        return max(lengths, default=128)


@dataclass(frozen=True, slots=True)
class VmvxTarget:
    """IREE's portable virtual machine, with or without microkernels."""

    ukernels: bool = False


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A GPU: its architecture (`gfx942`), and its workgroup's limits and instructions.

    `workgroup` is `None` if the target attribute does not describe them.
    """

    architecture: str
    workgroup: Workgroup | None = None


Target = CpuTarget | VmvxTarget | GpuTarget


def cpu_target(
    triple: str,
    features: str,
    *,
    ukernels: str = "none",
    scalable: bool = False,
    inner_tiled: bool = False,
) -> CpuTarget:
    """Return the CPU of an LLVM triple and feature string.

    For example `x86_64-unknown-linux` and `+avx2,-avx512f`. Later features override earlier ones; a
    feature without a sign is enabled.
    """
    name = triple.partition("-")[0]
    architecture = _ARCHITECTURES.get(name, Architecture.OTHER)
    known = (Architecture.X86_64, Architecture.AARCH64, Architecture.RISCV64)
    wide = architecture in known or _OTHERS_OF_64_BITS.fullmatch(name) is not None
    return CpuTarget(
        architecture,
        parse_features(features.split(",")),
        ukernels_enabled(ukernels),
        scalable,
        inner_tiled,
        64 if wide else 32,
    )


def parse_features(features: Iterable[str]) -> frozenset[str]:
    """Return the features that are enabled after reading signed names from left to right."""
    enabled: set[str] = set()
    for signed in features:
        name = signed.strip()
        if name.startswith("-"):
            enabled.discard(name[1:])
        elif name:
            enabled.add(name.removeprefix("+"))
    return frozenset(enabled)


def ukernels_enabled(setting: str | None) -> bool:
    """Whether the `ukernels` entry of a target enables microkernels; an absent entry does not."""
    return setting not in (None, "", "none")

"""Targets: what an executable is compiled for, as far as layouts depend on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from .gpu_intrinsics import Workgroup


class Architecture(Enum):
    """The instruction set families that have tile tables."""

    X86_64 = auto()
    AARCH64 = auto()
    RISCV64 = auto()
    RISCV32 = auto()
    OTHER = auto()
    """Any other processor (32-bit x86, WebAssembly, ...): no tiles."""


_ARCHITECTURES = {
    "x86_64": Architecture.X86_64,
    "amd64": Architecture.X86_64,
    "aarch64": Architecture.AARCH64,
    "arm64": Architecture.AARCH64,
    "riscv64": Architecture.RISCV64,
    "riscv32": Architecture.RISCV32,
}

_VECTOR_LENGTH = re.compile(r"zvl(\d+)b")


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A processor: its architecture and the features that are switched on.

    `features` has no signs (`avx512f`). `ukernels` says that microkernels are linked in.
    `scalable` asks for scalable tiles where the machine has scalable vectors (AArch64 SVE).
    """

    architecture: Architecture
    features: frozenset[str] = frozenset()
    ukernels: bool = False
    scalable: bool = False

    def has(self, *features: str) -> bool:
        return self.features.issuperset(features)

    @property
    def vector_length(self) -> int:
        """Guaranteed bits of a RISC-V vector register; 128 is what the V extension demands."""
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
    """A graphics processor: the name of its architecture (`gfx942`), and its instructions.

    `workgroup` is `None` if the target does not describe them.
    """

    architecture: str
    workgroup: Workgroup | None = None


Target = CpuTarget | VmvxTarget | GpuTarget


def cpu_target(
    triple: str, features: str, *, ukernels: str = "none", scalable: bool = False
) -> CpuTarget:
    """A processor from LLVM's spelling: `x86_64-unknown-linux`, `+avx2,+fma,-avx512f`.

    Later features override earlier ones; one without a sign is switched on.
    """
    return CpuTarget(
        _ARCHITECTURES.get(triple.partition("-")[0], Architecture.OTHER),
        parse_features(features.split(",")),
        ukernels_enabled(ukernels),
        scalable,
    )


def parse_features(features: Iterable[str]) -> frozenset[str]:
    """The features that are on after reading signed names from left to right."""
    enabled: set[str] = set()
    for signed in features:
        name = signed.strip()
        if name.startswith("-"):
            enabled.discard(name[1:])
        elif name:
            enabled.add(name.removeprefix("+"))
    return frozenset(enabled)


def ukernels_enabled(setting: str | None) -> bool:
    """Whether a target's `ukernels` entry switches microkernels on. Absent means off."""
    return setting not in (None, "", "none")

"""Graphics processors by name, for kernels that do not describe theirs (`--iree-gpu-test-target`).

A processor has matrix instructions, registers and shared memory, as IREE 3.13 lists them.
Instructions without a layout (`gpu_intrinsics.py`) are not listed.
"""

from __future__ import annotations

from dataclasses import replace

from .gpu_intrinsics import ScaledName, Workgroup
from .targets import GpuTarget

_LOAD_BITS, _SUBGROUPS, _USUAL_PROCESSORS = 128, 4, 512

_CDNA1 = "MFMA_F32_16x16x4_F32 MFMA_F32_16x16x16_F16 MFMA_F32_32x32x8_F16 "
_CDNA1_I8 = "MFMA_I32_16x16x16_I8 MFMA_I32_32x32x8_I8 "
_F64 = "MFMA_F64_16x16x4_F64 "
_CDNA3_BF16 = "MFMA_F32_16x16x16_BF16 MFMA_F32_32x32x8_BF16 "
_CDNA3_I8 = "MFMA_I32_16x16x32_I8 MFMA_I32_32x32x16_I8 "


def _f8(shapes: str, wide: str, narrow: str) -> str:
    """The instructions for all pairs of two types of eight bits."""
    pairs = (narrow, f"{narrow}_{wide}", wide, f"{wide}_{narrow}")
    return "".join(f"{shape}_{pair} " for shape in shapes.split() for pair in pairs)


_WMMA16 = " ".join(
    f"{{0}}_{result}_16x16x{{1}}_{factor}"
    for result, factor in (("F32", "F16"), ("F16", "F16"), ("F32", "BF16"), ("BF16", "BF16"))
)
_RDNA3 = f"{_WMMA16} {{0}}_I32_16x16x16_I8".format("WMMAR3", 16)
_RDNA4 = f"{_WMMA16} {{0}}_I32_16x16x16_I8 ".format("WMMAR4", 16) + _f8(
    "WMMAR4_F32_16x16x16", "F8E4M3FN", "F8E5M2"
)
_GFX1250 = (
    f"WMMA_F32_16x16x4_F32 {_WMMA16} {{0}}_I32_16x16x64_I8 ".format("WMMA", 32)
    + _f8("WMMA_F32_16x16x64 WMMA_F16_16x16x64", "F8E5M2", "F8E4M3FN")
    + _f8("WMMA_F32_16x16x128 WMMA_F16_16x16x128", "F8E4M3FN", "F8E5M2")
)


_GFX950_SCALED: tuple[ScaledName, ...] = tuple(
    ("MFMA_SCALE_F32_16x16x128_B32", factor, factor, "f32")
    for factor in ("f8E4M3FN", "f8E5M2", "f4E2M1FN")
)


def _workgroup(
    instructions: str,
    register_bits: int,
    shared_bytes: int = 1 << 16,
    scaled: tuple[ScaledName, ...] = (),
) -> Workgroup:
    return Workgroup(
        tuple(instructions.split()),
        _LOAD_BITS,
        register_bits,
        _SUBGROUPS,
        shared_bytes,
        _USUAL_PROCESSORS,
        scaled,
    )


_ARCHITECTURES = {
    "gfx908": _workgroup(_CDNA1 + _CDNA1_I8, 8192),
    "gfx90a": _workgroup(
        "MFMA_F32_16x16x8_BF16 MFMA_F32_32x32x4_BF16 " + _F64 + _CDNA1 + _CDNA1_I8, 8192
    ),
    "gfx942": _workgroup(
        _CDNA3_BF16
        + _f8("MFMA_F32_16x16x32 MFMA_F32_32x32x16", "F8E4M3FNUZ", "F8E5M2FNUZ")
        + _CDNA3_I8
        + _F64
        + _CDNA1,
        16384,
    ),
    "gfx950": _workgroup(
        "MFMA_F32_16x16x32_F16 MFMA_F32_32x32x16_F16 "
        + "MFMA_F32_16x16x32_BF16 MFMA_F32_32x32x16_BF16 "
        + _f8("MFMA_F32_16x16x128 MFMA_F32_32x32x64", "F8E4M3FN", "F8E5M2")
        + "MFMA_I32_16x16x64_I8 MFMA_I32_32x32x32_I8 "
        + _CDNA3_BF16
        + _f8("MFMA_F32_16x16x32 MFMA_F32_32x32x16", "F8E4M3FN", "F8E5M2")
        + _CDNA3_I8
        + _F64
        + _CDNA1,
        16384,
        163840,
        _GFX950_SCALED,
    ),
    **dict.fromkeys(
        ("gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151"), _workgroup(_RDNA3, 8192)
    ),
    **dict.fromkeys(("gfx1200", "gfx1201"), _workgroup(_RDNA4, 8192)),
    "gfx1250": _workgroup(_GFX1250, 32768, 327680),
}

_PROCESSORS = {"gfx1103": 6, "gfx1150": 8, "gfx1151": 20}
"""How many workgroups run at once on those architectures that come in one size."""


def processor(architecture: str) -> GpuTarget:
    """The processor of an architecture (`gfx942`); one without instructions if it is unknown."""
    workgroup = _ARCHITECTURES.get(architecture)
    if workgroup is not None:
        count = _PROCESSORS.get(architecture, _USUAL_PROCESSORS)
        workgroup = replace(workgroup, processors=count)
    return GpuTarget(architecture, workgroup)

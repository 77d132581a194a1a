"""IREE's global flags, under IREE's names: those that passes use, and those that are ignored.

iree-opt accepts them in addition to pass options. A flag is ignored if it does not affect the
result of the passes here: it tunes a backend that does not exist here, or a pipeline that only IREE
has. A flag that requests output, such as a file, is an unknown option like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from ...ir.flags import Flags
from ..command_line import choice, flag, integer, text


@dataclass(frozen=True, kw_only=True)
class IreeFlags:
    """Defaults for all passes, as in iree-opt."""

    iree_stream_resource_max_allocation_size: int | None = integer(
        "the maximum size of a resource, in bytes"
    )
    iree_stream_resource_min_offset_alignment: int | None = integer(
        "the alignment of offsets in resources, in bytes"
    )
    iree_stream_resource_index_bits: str = choice("the bit width of indices in kernels", "64", "32")
    iree_stream_resource_alias_mutable_bindings: bool = flag(
        "fuse bindings that are written with bindings that are read"
    )
    iree_stream_partitioning_favor: str = choice(
        "the criterion for partitioning the work of a device",
        "min-peak-memory",
        "max-concurrency",
        "debug",
    )
    iree_llvmcpu_enable_scalable_vectorization: bool = flag(
        "multiply tiles by the vector scale of targets with scalable vectors (SVE)"
    )
    iree_gpu_test_target: str = text(
        "the graphics processor of kernels that name none, as gfx942 or gfx942:+xnack@hip",
        default="",
    )

    def flags(self) -> Flags:
        """Return the settings as passes read them."""
        return Flags(
            largest_allocation=self.iree_stream_resource_max_allocation_size,
            offset_alignment=self.iree_stream_resource_min_offset_alignment,
            index_bits=int(self.iree_stream_resource_index_bits),
            alias_mutable_bindings=self.iree_stream_resource_alias_mutable_bindings,
            favor=self.iree_stream_partitioning_favor,
            scalable_vectors=self.iree_llvmcpu_enable_scalable_vectorization,
            graphics_processor=re.split("[:@]", self.iree_gpu_test_target)[0],
        )


_DEVICES = (
    "devices are those that the module names, and commands are recorded for each submission",
    """
    hal-default-device= hal-executable-debug-level= hal-indirect-command-buffers
    hal-link-executables hal-local-host-device-backends= hal-local-target-device-backends=
    hal-memoization hal-target-backends= hal-target-device=
    """,
)
_CPU = (
    "kernels are compiled by this compiler's own backend, for targets that the module names",
    """
    codegen-linalg-max-constant-fold-elements= codegen-mmt4d-use-intrinsics
    llvmcpu-debug-symbols llvmcpu-disable-arm-sme-tiling llvmcpu-disable-distribution
    llvmcpu-disable-vector-peeling llvmcpu-distribution-size= llvmcpu-embedded-linker-path=
    llvmcpu-enable-inner-tiled llvmcpu-enable-llvm-ukernels= llvmcpu-enable-ukernels=
    llvmcpu-experimental-vectorize-to-transfer-gather
    llvmcpu-fail-on-out-of-bounds-stack-allocation llvmcpu-keep-linker-artifacts
    llvmcpu-link-embedded llvmcpu-link-static llvmcpu-link-ukernel-bitcode
    llvmcpu-loop-interleaving llvmcpu-loop-unrolling llvmcpu-loop-vectorization
    llvmcpu-matmul-tile-bytes= llvmcpu-matmul-tile-undercount-whole-matrix=
    llvmcpu-max-allowed-number-of-native-vectors= llvmcpu-mlir-opt-level=
    llvmcpu-number-of-threads= llvmcpu-riscv-aggressive-distribution llvmcpu-slp-vectorization
    llvmcpu-stack-allocation-assumed-vscale= llvmcpu-stack-allocation-limit=
    llvmcpu-system-linker-path= llvmcpu-target-abi= llvmcpu-target-cpu-features=
    llvmcpu-target-cpu= llvmcpu-target-data-layout= llvmcpu-target-float-abi=
    llvmcpu-target-triple= llvmcpu-target-vector-width-in-bytes=
    llvmcpu-use-decompose-softmax-fuse llvmcpu-use-fast-min-max-ops
    llvmcpu-vector-pproc-strategy= llvmcpu-vscale-range= llvmcpu-wasm-linker-path=
    vmvx-enable-microkernels vmvx-enable-ukernels-decompose-linalg-generic
    """,
)
_GPU = (
    "there is no GPU backend",
    """
    codegen-llvmgpu-enable-outer-reduction-tile-and-fuse codegen-llvmgpu-igemm-pad-convolution
    codegen-llvmgpu-matmul-c-matrix-threshold= codegen-llvmgpu-test-tile-and-fuse-vectorize
    codegen-llvmgpu-use-direct-convolution codegen-llvmgpu-use-igemm
    codegen-llvmgpu-use-reduction-vector-distribution
    codegen-llvmgpu-use-tile-and-fuse-convolution codegen-llvmgpu-use-tile-and-fuse-matmul
    codegen-llvmgpu-use-vector-distribution codegen-llvmgpu-vectorize-pipeline
    codegen-reorder-workgroups-strategy= cuda-target-features= cuda-target= cuda-use-ptxas
    cuda-use-ptxas-from= cuda-use-ptxas-params= llvmgpu-enable-shared-memory-reuse
    llvmgpu-enable-small-float-emulation llvmgpu-prefetch-num-stages=
    llvmgpu-set-workgroup-distribution-along= llvmgpu-shared-memory-limit=
    rocdl-enable-buffer-instructions rocm-bc-dir= rocm-container-type=
    rocm-denormal-fp-math-f32= rocm-emit-debug-info rocm-enable-register-spill-warning
    rocm-enable-tensor-ukernels rocm-enable-ukernels= rocm-encoding-layout-resolver=
    rocm-llvm-global-isel rocm-llvm-slp-vec rocm-specialize-dispatches rocm-target-features=
    rocm-target= rocm-use-spirv rocm-waves-per-eu= spirv-index-bits= vulkan-dispatch-abi=
    vulkan-target-features= vulkan-target=
    """,
)
_VM = (
    "there is no virtual machine",
    """
    vm-target-extension-f32 vm-target-extension-f64 vm-target-index-bits=
    """,
)
_PIPELINES = (
    "it is for pipelines of IREE; the pass has an option of its own",
    """
    dispatch-creation-experimental-set-data-tiling-ops= dispatch-creation-set-encoding-strategy=
    global-opt-experimental-enable-edge-reshape-propagation global-opt-set-encoding-strategy=
    """,
)
_RESOURCES = (
    "no pass needs it",
    """
    stream-affinity-solver-max-iterations= stream-emulate-memset stream-resource-max-range=
    stream-resource-memory-model=
    """,
)


def _ignored(reason: str, names: str) -> Iterator[tuple[str, IgnoredFlag]]:
    for word in names.split():
        yield f"iree-{word.removesuffix('=')}", IgnoredFlag(reason, word.endswith("="))


@dataclass(frozen=True, slots=True)
class IgnoredFlag:
    """Why a flag has no effect here, and whether it takes a value."""

    reason: str
    has_value: bool


IGNORED: Mapping[str, IgnoredFlag] = dict(
    chain.from_iterable(
        _ignored(*each) for each in (_DEVICES, _CPU, _GPU, _VM, _PIPELINES, _RESOURCES)
    )
)
"""The ignored flags, by name without dashes."""

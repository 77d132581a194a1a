"""Define a local device for the compiling machine in programs that name no device.

A program that defines devices keeps them. Functions on a grid whose processes have devices are
placed on these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from platform import machine
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NoneAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.hal.affinities import DeviceTargets, device_affinity
from ...dialects.hal.dialect import Hal
from ...dialects.hal.targets import DEVICE, DeviceTargetAttr, ExecutableTargetAttr
from ...dialects.iree_cpu import CpuEncodingResolverAttr
from ...dialects.stream.affinity import DEFAULT_AFFINITY
from ...dialects.util.dialect import GlobalOp
from ...ir.locations import located_builder
from ...ir.symbols import fresh_name, names_in
from .placement.process_devices import place_processes

HOST = "host"
NAME = "device"


@dataclass(frozen=True)
class AssignDevicesPass(ModulePass):
    """Define a device where a module has none; place processes on the devices of their grid."""

    name = "assign-devices"

    cpu_features: str = HOST
    """The CPU features of the device, such as `+avx2,+fma`; `host` for those of this machine."""

    layouts: bool = True
    """Whether the device has layouts of its own. If not, tensors stay in row-major order, and
    kernels relay out what they read where that pays.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        place_processes(op)
        if DeviceTargets(op).names() or DEFAULT_AFFINITY in op.attributes:
            return
        if ctx.get_optional_dialect(Hal.name) is None:
            ctx.load_dialect(Hal)
        name = fresh_name(NAME, names_in(op))
        features = host_features() if self.cpu_features == HOST else self.cpu_features
        device = GlobalOp(name, DEVICE, local_device(features, has_layouts=self.layouts))
        located_builder(InsertPoint.at_start(op.body.block), op).insert(device)
        op.attributes[DEFAULT_AFFINITY] = device_affinity(name)


def local_device(features: str, *, has_layouts: bool) -> DeviceTargetAttr:
    """Return a device on this machine's CPU, with IREE's CPU layouts or with row-major tensors."""
    architecture = {"AMD64": "x86_64", "arm64": "aarch64"}.get(machine(), machine())
    configuration: dict[str, Attribute] = {
        "cpu_features": StringAttr(features),
        "target_triple": StringAttr(f"{architecture}-unknown-unknown-eabi-elf"),
    }
    if has_layouts:
        configuration["iree.encoding.resolver"] = CpuEncodingResolverAttr.new([NoneAttr()])
    target = ExecutableTargetAttr(
        StringAttr("llvm-cpu"),
        StringAttr(f"embedded-elf-{architecture}"),
        DictionaryAttr(configuration),
    )
    return DeviceTargetAttr(StringAttr("local"), NoneAttr(), ArrayAttr[Attribute]([target]))


def host_features() -> str:
    """Return the features of this machine's CPU, with LLVM's names."""
    from llvmlite import binding

    features = cast(Mapping[str, bool], binding.get_host_cpu_features())
    return ",".join(f"+{name}" for name, there in sorted(features.items()) if there)

"""Drop encodings, for targets that store every tensor in row-major order."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...ir.host_programs import FUNCTIONS
from ...tiling.packed_layouts import IDENTITY, PackedLayout
from ..manager.module_pass import module_pass
from .materialize_device_encoding import KernelLowering
from .packed.layouts import KernelLayouts


@module_pass("iree-codegen-materialize-encoding-into-nop")
def materialize_encoding_into_nop(module: ModuleOp) -> None:
    """Drop all encodings, so that every tensor is stored in row-major order."""
    for function in tuple(module.walk()):
        if function.name in FUNCTIONS:
            KernelLowering(function, PlainLayouts(())).lower()


class PlainLayouts(KernelLayouts):
    """Gives every tensor the row-major layout, whatever its encoding."""

    def layout(self, type_: Attribute, operation: Operation) -> PackedLayout:
        return IDENTITY

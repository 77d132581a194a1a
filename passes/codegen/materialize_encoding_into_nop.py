"""Drop encodings, for targets that store every tensor in row-major order."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...ir.host_programs import FUNCTIONS
from ...tiling.packed_layouts import IDENTITY, PackedLayout
from .materialize_device_encoding import KernelLowering
from .packed.layouts import KernelLayouts


class MaterializeEncodingIntoNopPass(ModulePass):
    """Drop all encodings, so that every tensor is stored in row-major order."""

    name = "iree-codegen-materialize-encoding-into-nop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in tuple(op.walk()):
            if function.name in FUNCTIONS:
                KernelLowering(function, PlainLayouts(())).lower()


class PlainLayouts(KernelLayouts):
    """Gives every tensor the row-major layout, whatever its encoding."""

    def layout(self, type_: Attribute, operation: Operation) -> PackedLayout:
        return IDENTITY

"""Build the parts of executables: exports, and operations that load and store bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from ....dialects.flow import dispatches as flow
from ....dialects.iree_encoding.interfaces import Spelling, Tensor
from ....dialects.iree_tensor_ext import (
    DispatchTensor,
    DispatchTensorLoadOp,
    DispatchTensorStoreOp,
    DispatchTensorType,
    DispatchWorkgroupCountFromSliceOp,
    DispatchWorkloadOrdinalOp,
    FlowDispatchTensorLoadOp,
    FlowDispatchTensorStoreOp,
    FlowDispatchTensorType,
    FlowDispatchWorkgroupCountFromSliceOp,
    FlowDispatchWorkloadOrdinalOp,
)
from ....dialects.stream import executables as stream
from ....ir.index_lists import INDEX, slice_properties


@dataclass(frozen=True, slots=True)
class ExecutableOperations:
    """The operation classes that make up an executable, in `flow` or `stream`."""

    executable: type[Operation]
    export: type[Operation]
    return_: type[IRDLOperation]
    end: type[Operation]


FLOW = ExecutableOperations(
    flow.ExecutableOp, flow.ExecutableExportOp, flow.ReturnOp, flow.ExecutableEndOp
)
STREAM = ExecutableOperations(
    stream.ExecutableOp, stream.ExecutableExportOp, stream.ReturnOp, stream.ExecutableEndOp
)


@dataclass(frozen=True, slots=True)
class KernelOperations:
    """The operation classes at the boundary of kernels, in one spelling of IREE's dialects."""

    tensor: type[DispatchTensor]
    load: type[DispatchTensorLoadOp]
    store: type[DispatchTensorStoreOp]
    ordinal: type[Operation]
    workgroup_count: type[Operation]

    def ordinal_of(self, argument: SSAValue, ordinal: int) -> Operation:
        """Return an operation that marks an argument as a number of the workload."""
        return self.ordinal.create(
            operands=[argument],
            result_types=[INDEX],
            properties={"ordinal": IntegerAttr(ordinal, INDEX)},
        )

    def load_whole(
        self, bound: SSAValue, tensor: Tensor, sizes: Sequence[SSAValue], builder: Builder
    ) -> SSAValue:
        """Emit the load of all of a bound tensor, given its dynamic sizes."""
        load = self.load.build(
            operands=[bound, sizes, (), sizes, ()],
            result_types=[tensor],
            properties=whole_tensor(tensor),
        )
        return builder.insert(load).result

    def store_whole(
        self, value: SSAValue, bound: SSAValue, sizes: Sequence[SSAValue], builder: Builder
    ) -> None:
        """Emit the store of all of a tensor, given its dynamic sizes."""
        operands = [value, bound, sizes, (), sizes, ()]
        whole = whole_tensor(cast(Tensor, value.type))
        builder.insert(self.store.build(operands=operands, properties=whole))

    def count_from_slice(self, dialect: ExecutableOperations, workload: int) -> Region:
        """Return a workgroup count region that is derived from the kernel's use of `workload`
        numbers.
        """
        count = Block(arg_types=[INDEX] * workload)
        counted = self.workgroup_count.create(operands=count.args, result_types=[INDEX] * 3)
        count.add_ops([counted, dialect.return_.build(operands=[counted.results])])
        return Region(count)

    def executable(
        self,
        dialect: ExecutableOperations,
        name: str,
        kernel: FuncOp,
        count: Region,
        beside: Sequence[Operation] = (),
    ) -> Operation:
        """Build an executable with one kernel, which is exported under its own name.

        `count` computes the number of workgroups. `beside` are operations that precede the kernel
        in its module.
        """
        export = dialect.export.create(
            properties={
                "sym_visibility": StringAttr("public"),
                "sym_name": kernel.sym_name,
                "function_ref": SymbolRefAttr(kernel.sym_name),
            },
            regions=[count],
        )
        body = Block([export, ModuleOp([*beside, kernel]), dialect.end.create()])
        return dialect.executable.create(
            properties={"sym_visibility": StringAttr("private"), "sym_name": StringAttr(name)},
            regions=[Region(body)],
        )


KERNEL_OPERATIONS: dict[Spelling, KernelOperations] = {
    "2024": KernelOperations(
        FlowDispatchTensorType,
        FlowDispatchTensorLoadOp,
        FlowDispatchTensorStoreOp,
        FlowDispatchWorkloadOrdinalOp,
        FlowDispatchWorkgroupCountFromSliceOp,
    ),
    "today": KernelOperations(
        DispatchTensorType,
        DispatchTensorLoadOp,
        DispatchTensorStoreOp,
        DispatchWorkloadOrdinalOp,
        DispatchWorkgroupCountFromSliceOp,
    ),
}


def kernel_label(word: str, sizes: Sequence[int | None], element: str) -> str:
    """Return a name such as `matmul_DxDxD_f32`: the operation, loop extents and element type."""
    extents = "x".join("D" if size is None else str(size) for size in sizes)
    return "_".join(part for part in (word, extents, element_label(element)) if part)


def element_label(element: str) -> str:
    """An element type as a part of a name: `complex_f32`."""
    return "".join(c if c.isalnum() else "_" for c in element).strip("_")


def whole_tensor(tensor: Tensor) -> dict[str, Attribute]:
    """Return the slice properties of a load or store of a whole tensor."""
    return dict(_whole(tensor.get_shape()))


@lru_cache(maxsize=1024)
def _whole(shape: tuple[int, ...]) -> dict[str, Attribute]:
    return slice_properties([0] * len(shape), shape)

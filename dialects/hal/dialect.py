"""The `hal` dialect: devices, what runs on them, and what callers pass."""

from __future__ import annotations

from xdsl.ir import Dialect

from ..stream.workgroups import HAL_WORKGROUP_NUMBERS
from .affinities import (
    DeviceAffinityAttr,
    DeviceLinkAttr,
    DeviceOptimalAttr,
    DevicePromiseAttr,
    DeviceTopologyAttr,
    HalAffinityAnalysis,
)
from .buffers import (
    BufferType,
    BufferViewAssertOp,
    BufferViewDimOp,
    BufferViewType,
    ElementTypeOp,
    EncodingTypeOp,
    FenceType,
    TensorBarrierOp,
    TensorExportOp,
    TensorImportOp,
)
from .interface import (
    InterfaceBindingSubspanOp,
    InterfaceConstantLoadOp,
    PipelineBindingAttr,
    PipelineLayoutAttr,
)
from .targets import (
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    DeviceType,
    ExecutableTargetAttr,
)

Hal = Dialect(
    "hal",
    [
        BufferViewAssertOp,
        BufferViewDimOp,
        ElementTypeOp,
        EncodingTypeOp,
        InterfaceBindingSubspanOp,
        InterfaceConstantLoadOp,
        *HAL_WORKGROUP_NUMBERS,
        TensorBarrierOp,
        TensorExportOp,
        TensorImportOp,
    ],
    [
        BufferType,
        BufferViewType,
        DeviceAffinityAttr,
        DeviceAliasAttr,
        DeviceFallbackAttr,
        DeviceLinkAttr,
        DeviceOptimalAttr,
        DeviceOrdinalAttr,
        DevicePromiseAttr,
        DeviceSelectAttr,
        DeviceTargetAttr,
        DeviceTopologyAttr,
        DeviceType,
        ExecutableTargetAttr,
        FenceType,
        PipelineBindingAttr,
        PipelineLayoutAttr,
    ],
    [HalAffinityAnalysis()],
)

"""The `hal` dialect: devices, what runs on them, and what callers pass."""

from __future__ import annotations

from xdsl.ir import Dialect

from .hal_affinities import (
    DeviceAffinityAttr,
    DeviceLinkAttr,
    DeviceOptimalAttr,
    DevicePromiseAttr,
    DeviceTopologyAttr,
)
from .hal_analysis import HalAffinityAnalysis
from .hal_buffers import (
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
from .hal_interface import (
    InterfaceBindingSubspanOp,
    InterfaceConstantLoadOp,
    PipelineBindingAttr,
    PipelineLayoutAttr,
)
from .hal_targets import (
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    DeviceType,
    ExecutableTargetAttr,
)
from .workgroup_numbers import HAL_WORKGROUP_NUMBERS

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

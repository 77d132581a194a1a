"""Which passes there are: a name, and where the pass is imported from when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "assign-devices": ("hal.assign_devices", "AssignDevicesPass"),
    "canonicalize": ("general.canonicalize", "CanonicalizePass"),
    "compile": ("compile", "CompilePass"),
    "convert-elementwise-to-linalg": (
        "dispatch.convert_elementwise_to_linalg",
        "ConvertElementwiseToLinalgPass",
    ),
    "convert-mesh-to-shard": ("imports.convert_mesh_to_shard", "ConvertMeshToShardPass"),
    "convert-sdy-to-shard": ("imports.convert_sdy_to_shard", "ConvertSdyToShardPass"),
    "convert-stablehlo-to-linalg": (
        "stablehlo.convert_stablehlo_to_linalg",
        "ConvertStablehloToLinalgPass",
    ),
    "convert-stream-to-hal": ("hal.convert_stream_to_hal", "ConvertStreamToHalPass"),
    "convert-tm-tensor-to-linalg": (
        "tm_tensor.convert_tm_tensor_to_linalg",
        "ConvertTmTensorToLinalgPass",
    ),
    "convert-to-stream": ("stream.convert_to_stream", "ConvertToStreamPass"),
    "data-tile": ("data_tile", "DataTilePass"),
    "form-dispatches": ("dispatch.form_dispatches", "FormDispatchesPass"),
    "hoist-encodings": ("encoding.hoist_encodings", "HoistEncodingsPass"),
    "inline-calls": ("inline_calls", "InlineCallsPass"),
    "iree-abi-wrap-entry-points": ("hal.wrap_entry_points", "WrapEntryPointsPass"),
    "iree-codegen-materialize-device-encoding": (
        "codegen.materialize_device_encoding",
        "MaterializeDeviceEncodingPass",
    ),
    "iree-codegen-materialize-encoding-into-nop": (
        "codegen.materialize_encoding_into_nop",
        "MaterializeEncodingIntoNopPass",
    ),
    "iree-codegen-materialize-host-encoding": (
        "codegen.materialize_host_encoding",
        "MaterializeHostEncodingPass",
    ),
    "iree-dispatch-creation-annotate-data-tiling-hints": (
        "encoding.annotate_data_tiling_hints",
        "AnnotateDataTilingHintsPass",
    ),
    "iree-dispatch-creation-convert-encoding-to-flow": (
        "encoding.convert_encoding_to_flow",
        "ConvertEncodingToFlowPass",
    ),
    "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions": (
        "encoding.fuse_encoding_ops_into_dispatch_regions",
        "FuseEncodingOpsPass",
    ),
    "iree-dispatch-creation-hoist-encoding-ops": (
        "encoding.hoist_encoding_ops",
        "HoistEncodingOpsPass",
    ),
    "iree-dispatch-creation-propagate-encodings": (
        "encoding.propagate_encodings",
        "PropagateEncodingsPass",
    ),
    "iree-dispatch-creation-propagate-encodings-through-generic-ops": (
        "encoding.propagate_encodings_through_generic_ops",
        "PropagateEncodingsThroughGenericOpsPass",
    ),
    "iree-dispatch-creation-set-encoding": ("encoding.set_encoding", "SetEncodingPass"),
    "iree-global-opt-materialize-homogeneous-encodings": (
        "codegen.materialize_homogeneous_encodings",
        "MaterializeHomogeneousEncodingsPass",
    ),
    "iree-hal-conversion": ("hal.hal_conversion", "HalConversionPass"),
    "iree-hal-materialize-interfaces": ("hal.materialize_interfaces", "MaterializeInterfacesPass"),
    "iree-stream-automatic-reference-counting": (
        "stream.automatic_reference_counting",
        "AutomaticReferenceCountingPass",
    ),
    "iree-stream-elide-timepoints": ("stream.elide_timepoints", "ElideTimepointsPass"),
    "iree-stream-encode-device-tensors": (
        "stream.encode_device_tensors",
        "EncodeDeviceTensorsPass",
    ),
    "iree-stream-encode-host-tensors": ("stream.encode_host_tensors", "EncodeHostTensorsPass"),
    "iree-stream-layout-slices": ("stream.layout_slices", "LayoutSlicesPass"),
    "iree-stream-materialize-copy-on-write": (
        "stream.materialize_copy_on_write",
        "MaterializeCopyOnWritePass",
    ),
    "iree-stream-materialize-encodings": (
        "stream.materialize_encodings",
        "MaterializeEncodingsPass",
    ),
    "iree-stream-pack-constants": ("stream.scheduling.pack_constants", "PackConstantResourcesPass"),
    "iree-stream-pack-dispatch-operands": (
        "stream.pack_dispatch_operands",
        "PackDispatchOperandsPass",
    ),
    "iree-stream-propagate-timepoints": (
        "stream.propagate_timepoints",
        "PropagateTimepointsPass",
    ),
    "iree-stream-refine-usage": ("stream.refine_usage", "RefineUsagePass"),
    "iree-stream-schedule-allocation": ("stream.schedule_allocation", "ScheduleAllocationPass"),
    "iree-stream-schedule-concurrency": (
        "stream.schedule_concurrency",
        "ScheduleConcurrencyPass",
    ),
    "iree-stream-schedule-execution": ("stream.schedule_execution", "ScheduleExecutionPass"),
    "iree-stream-specialize-encodings": ("stream.specialize_encodings", "SpecializeEncodingsPass"),
    "iree-stream-unify-encoding-for-globals": (
        "stream.unify_encoding_for_globals",
        "UnifyEncodingForGlobalsPass",
    ),
    "loop-invariant-code-motion": (
        "general.loop_invariant_code_motion",
        "LoopInvariantCodeMotion",
    ),
    "merge-globals": ("stream.merge_globals", "MergeGlobalsPass"),
    "pack-constants": ("stream.pack_constants", "PackConstantsPass"),
    "place-relayouts": ("stream.place_relayouts", "PlaceRelayoutsPass"),
    "print-op-stats": ("general.print_op_stats", "PrintOpStatsPass"),
    "sccp": ("general.sccp", "SccpPass"),
    "shard-annotate": ("sharding.shard_annotate", "ShardAnnotatePass"),
    "shard-complete": ("sharding.shard_complete", "ShardCompletePass"),
    "shard-lower-all-slice": ("sharding.shard_lower_all_slice", "ShardLowerAllSlicePass"),
    "shard-lower-process-multi-index": (
        "sharding.shard_lower_process_multi_index",
        "ShardLowerProcessMultiIndexPass",
    ),
    "shard-partition": ("sharding.shard_partition", "ShardPartitionPass"),
    "shard-search": ("sharding.shard_search", "ShardSearchPass"),
    "shard-simplify": ("sharding.shard_simplify", "ShardSimplifyPass"),
    "sharding-propagation": ("sharding.sharding_propagation", "ShardingPropagationPass"),
    "simplify-sizes": ("sizes.simplify_sizes", "SimplifySizesPass"),
    "specialize-processes": ("hal.specialize_processes", "SpecializeProcessesPass"),
    "spmd": ("sharding.spmd", "SpmdPass"),
    "strip-annotations": ("sharding.strip_annotations", "StripAnnotationsPass"),
    "symbol-dce": ("general.symbol_dce", "SymbolDcePass"),
    "verify-collectives": ("stream.verify_collectives", "VerifyCollectivesPass"),
    "view-op-graph": ("general.view_op_graph", "ViewOpGraphPass"),
}
"""The file of this folder that holds a pass, and the name of its class."""

ALIASES = {
    "encode-device-tensors": "iree-stream-encode-device-tensors",
    "encode-host-tensors": "iree-stream-encode-host-tensors",
    "inline": "inline-calls",
    "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions-pass": (
        "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions"
    ),
    "iree-stream-conversion": "convert-to-stream",
    "materialize-encodings": "iree-codegen-materialize-device-encoding",
    "mesh-spmdization": "shard-partition",
    "propagate-encodings": "iree-dispatch-creation-propagate-encodings",
    "set-encoding": "iree-dispatch-creation-set-encoding",
    "specialize-encodings": "iree-stream-specialize-encodings",
    "wrap-entry-points": "iree-abi-wrap-entry-points",
}
"""Other names of passes: short ones, and the one that a pass had before."""


def _loader(module: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(import_module(f".{module}", __package__), name)


OWN_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: _loader(*_PASSES[ALIASES.get(name, name)]) for name in sorted((*_PASSES, *ALIASES))
}
"""Our passes by each of their names."""

FOLLOW_CALLS = frozenset(
    {
        "convert-mesh-to-shard",
        "convert-sdy-to-shard",
        "inline-calls",
        "shard-annotate",
        "shard-complete",
        "shard-lower-all-slice",
        "shard-lower-process-multi-index",
        "shard-partition",
        "shard-search",
        "shard-simplify",
        "sharding-propagation",
        "symbol-dce",
    }
)
"""Passes that `func.func(...)` runs on all functions at once: they change callers and callees
together, look at who refers to a function, or change what functions share, as the grid that a mesh
becomes."""


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass that our tools run: xDSL's, with ours in the place of its namesakes."""
    from xdsl.transforms import get_all_passes

    return {**get_all_passes(), **OWN_PASSES}

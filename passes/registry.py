"""Which passes there are: a name, and a function that imports the pass when it is needed."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass


def _assign_devices() -> type[ModulePass]:
    from .hal.assign_devices import AssignDevicesPass

    return AssignDevicesPass


def _compile() -> type[ModulePass]:
    from .compile import CompilePass

    return CompilePass


def _convert_elementwise_to_linalg() -> type[ModulePass]:
    from .stream.convert_elementwise_to_linalg import ConvertElementwiseToLinalgPass

    return ConvertElementwiseToLinalgPass


def _convert_mesh_to_shard() -> type[ModulePass]:
    from .sharding.convert_mesh_to_shard import ConvertMeshToShardPass

    return ConvertMeshToShardPass


def _convert_sdy_to_shard() -> type[ModulePass]:
    from .sharding.convert_sdy_to_shard import ConvertSdyToShardPass

    return ConvertSdyToShardPass


def _convert_to_stream() -> type[ModulePass]:
    from .stream.convert_to_stream import ConvertToStreamPass

    return ConvertToStreamPass


def _data_tile() -> type[ModulePass]:
    from .data_tile import DataTilePass

    return DataTilePass


def _form_dispatches() -> type[ModulePass]:
    from .stream.form_dispatches import FormDispatchesPass

    return FormDispatchesPass


def _hoist_encodings() -> type[ModulePass]:
    from .encoding.hoist_encodings import HoistEncodingsPass

    return HoistEncodingsPass


def _inline_calls() -> type[ModulePass]:
    from .inline_calls import InlineCallsPass

    return InlineCallsPass


def _iree_abi_wrap_entry_points() -> type[ModulePass]:
    from .hal.wrap_entry_points import WrapEntryPointsPass

    return WrapEntryPointsPass


def _iree_dispatch_creation_propagate_encodings() -> type[ModulePass]:
    from .encoding.propagate_encodings import PropagateEncodingsPass

    return PropagateEncodingsPass


def _iree_codegen_materialize_device_encoding() -> type[ModulePass]:
    from .codegen.materialize_device_encoding import MaterializeDeviceEncodingPass

    return MaterializeDeviceEncodingPass


def _iree_dispatch_creation_set_encoding() -> type[ModulePass]:
    from .encoding.set_encoding import SetEncodingPass

    return SetEncodingPass


def _iree_stream_encode_device_tensors() -> type[ModulePass]:
    from .stream.encode_device_tensors import EncodeDeviceTensorsPass

    return EncodeDeviceTensorsPass


def _iree_stream_encode_host_tensors() -> type[ModulePass]:
    from .stream.encode_host_tensors import EncodeHostTensorsPass

    return EncodeHostTensorsPass


def _iree_stream_materialize_encodings() -> type[ModulePass]:
    from .stream.materialize_encodings import MaterializeEncodingsPass

    return MaterializeEncodingsPass


def _iree_stream_specialize_encodings() -> type[ModulePass]:
    from .stream.specialize_encodings import SpecializeEncodingsPass

    return SpecializeEncodingsPass


def _merge_globals() -> type[ModulePass]:
    from .stream.merge_globals import MergeGlobalsPass

    return MergeGlobalsPass


def _pack_constants() -> type[ModulePass]:
    from .stream.pack_constants import PackConstantsPass

    return PackConstantsPass


def _place_relayouts() -> type[ModulePass]:
    from .stream.place_relayouts import PlaceRelayoutsPass

    return PlaceRelayoutsPass


def _shard_complete() -> type[ModulePass]:
    from .sharding.shard_complete import ShardCompletePass

    return ShardCompletePass


def _shard_lower_all_slice() -> type[ModulePass]:
    from .sharding.shard_lower_all_slice import ShardLowerAllSlicePass

    return ShardLowerAllSlicePass


def _shard_lower_process_multi_index() -> type[ModulePass]:
    from .sharding.shard_lower_process_multi_index import ShardLowerProcessMultiIndexPass

    return ShardLowerProcessMultiIndexPass


def _shard_partition() -> type[ModulePass]:
    from .sharding.shard_partition import ShardPartitionPass

    return ShardPartitionPass


def _shard_simplify() -> type[ModulePass]:
    from .sharding.shard_simplify import ShardSimplifyPass

    return ShardSimplifyPass


def _sharding_propagation() -> type[ModulePass]:
    from .sharding.sharding_propagation import ShardingPropagationPass

    return ShardingPropagationPass


def _spmd() -> type[ModulePass]:
    from .sharding.spmd import SpmdPass

    return SpmdPass


def _specialize_processes() -> type[ModulePass]:
    from .hal.specialize_processes import SpecializeProcessesPass

    return SpecializeProcessesPass


def _strip_annotations() -> type[ModulePass]:
    from .sharding.strip_annotations import StripAnnotationsPass

    return StripAnnotationsPass


def _verify_collectives() -> type[ModulePass]:
    from .stream.verify_collectives import VerifyCollectivesPass

    return VerifyCollectivesPass


OWN_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "assign-devices": _assign_devices,
    "compile": _compile,
    "convert-elementwise-to-linalg": _convert_elementwise_to_linalg,
    "convert-mesh-to-shard": _convert_mesh_to_shard,
    "convert-sdy-to-shard": _convert_sdy_to_shard,
    "convert-to-stream": _convert_to_stream,
    "data-tile": _data_tile,
    "encode-device-tensors": _iree_stream_encode_device_tensors,
    "encode-host-tensors": _iree_stream_encode_host_tensors,
    "form-dispatches": _form_dispatches,
    "hoist-encodings": _hoist_encodings,
    "inline-calls": _inline_calls,
    "iree-abi-wrap-entry-points": _iree_abi_wrap_entry_points,
    "iree-codegen-materialize-device-encoding": _iree_codegen_materialize_device_encoding,
    "iree-dispatch-creation-propagate-encodings": _iree_dispatch_creation_propagate_encodings,
    "iree-dispatch-creation-set-encoding": _iree_dispatch_creation_set_encoding,
    "iree-stream-encode-device-tensors": _iree_stream_encode_device_tensors,
    "iree-stream-encode-host-tensors": _iree_stream_encode_host_tensors,
    "iree-stream-materialize-encodings": _iree_stream_materialize_encodings,
    "iree-stream-specialize-encodings": _iree_stream_specialize_encodings,
    "materialize-encodings": _iree_codegen_materialize_device_encoding,
    "merge-globals": _merge_globals,
    "mesh-spmdization": _shard_partition,
    "pack-constants": _pack_constants,
    "place-relayouts": _place_relayouts,
    "propagate-encodings": _iree_dispatch_creation_propagate_encodings,
    "set-encoding": _iree_dispatch_creation_set_encoding,
    "shard-complete": _shard_complete,
    "shard-lower-all-slice": _shard_lower_all_slice,
    "shard-lower-process-multi-index": _shard_lower_process_multi_index,
    "shard-partition": _shard_partition,
    "shard-simplify": _shard_simplify,
    "sharding-propagation": _sharding_propagation,
    "specialize-encodings": _iree_stream_specialize_encodings,
    "specialize-processes": _specialize_processes,
    "spmd": _spmd,
    "strip-annotations": _strip_annotations,
    "verify-collectives": _verify_collectives,
    "wrap-entry-points": _iree_abi_wrap_entry_points,
}
"""Our passes by name. Keys are sorted; an alias is a second key for the same function."""

FOLLOW_CALLS = frozenset({"shard-complete", "shard-partition", "sharding-propagation"})
"""Passes that change callers and callees together, so that `func.func(...)` runs them on all."""


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass that our tools run: xDSL's, with ours in the place of its namesakes."""
    from xdsl.transforms import get_all_passes

    return {**get_all_passes(), **OWN_PASSES}

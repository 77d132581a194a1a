"""The registry of passes: names, aliases, and the modules that define them, imported on demand."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "assign-devices": "hal.assign_devices",
    "canonicalize": "general.canonicalize",
    "compile": "compile",
    "convert-elementwise-to-linalg": "dispatch.convert_elementwise_to_linalg",
    "convert-linalg-ext-to-linalg": "linalg_ext.convert_linalg_ext_to_linalg",
    "convert-mesh-to-shard": "imports.convert_mesh_to_shard",
    "convert-sdy-to-shard": "imports.convert_sdy_to_shard",
    "convert-shard-to-mesh": "imports.convert_shard_to_mesh",
    "convert-stablehlo-to-linalg": "stablehlo.convert_stablehlo_to_linalg",
    "convert-stream-to-hal": "hal.convert_stream_to_hal",
    "convert-to-stream": "stream.convert_to_stream",
    "convert-tosa-to-linalg": "tosa.convert_tosa_to_linalg",
    "data-tile": "data_tile",
    "expand-unfoldable-constants": "imports.expand_unfoldable_constants",
    "fold-constant-encodes": "encoding.fold_constant_encodes",
    "form-dispatches": "dispatch.form_dispatches",
    "hoist-encodes-to-initializers": "encoding.hoist_encodes_to_initializers",
    "inline-calls": "inline_calls",
    "iree-abi-convert-streamable-ops": "hal.convert_streamable_ops",
    "iree-abi-wrap-entry-points": "hal.wrap_entry_points",
    "iree-codegen-materialize-device-encoding": "codegen.materialize_device_encoding",
    "iree-codegen-materialize-encoding-into-nop": "codegen.materialize_encoding_into_nop",
    "iree-codegen-materialize-host-encoding": "codegen.materialize_host_encoding",
    "iree-dispatch-creation-annotate-data-tiling-hints": "encoding.annotate_data_tiling_hints",
    "iree-dispatch-creation-convert-encoding-to-flow": "encoding.convert_encoding_to_flow",
    "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions": (
        "encoding.fuse_encoding_ops_into_dispatch_regions"
    ),
    "iree-dispatch-creation-hoist-encoding-ops": "encoding.hoist_encoding_ops",
    "iree-dispatch-creation-propagate-encodings": "encoding.propagate_encodings",
    "iree-dispatch-creation-propagate-encodings-through-generic-ops": (
        "encoding.propagate_encodings_through_generic_ops"
    ),
    "iree-dispatch-creation-set-encoding": "encoding.dispatch_creation_set_encoding",
    "iree-global-opt-materialize-homogeneous-encodings": (
        "codegen.materialize_homogeneous_encodings"
    ),
    "iree-hal-conversion": "hal.hal_conversion",
    "iree-hal-materialize-interfaces": "hal.materialize_interfaces",
    "iree-stream-annotate-constant-transient-size": "stream.annotate_constant_transient_size",
    "iree-stream-annotate-dispatch-arguments": "stream.annotate_dispatch_arguments",
    "iree-stream-annotate-dispatch-assumptions": "stream.annotate_dispatch_assumptions",
    "iree-stream-automatic-reference-counting": "stream.automatic_reference_counting",
    "iree-stream-clone-to-consumers": "stream.clone_to_consumers",
    "iree-stream-dump-statistics": "stream.dump_statistics",
    "iree-stream-elide-async-copies": "stream.elide_async_copies",
    "iree-stream-elide-timepoints": "stream.elide_timepoints",
    "iree-stream-emplace-allocations": "stream.emplace_allocations",
    "iree-stream-encode-device-tensors": "stream.encode_device_tensors",
    "iree-stream-encode-host-tensors": "stream.encode_host_tensors",
    "iree-stream-fold-uniform-operands": "stream.fold_uniform_operands",
    "iree-stream-fuse-dispatch-bindings": "stream.fuse_dispatch_bindings",
    "iree-stream-layout-slices": "stream.layout_slices",
    "iree-stream-materialize-builtins": "stream.materialize_builtins",
    "iree-stream-materialize-copy-on-write": "stream.materialize_copy_on_write",
    "iree-stream-materialize-encodings": "stream.materialize_encodings",
    "iree-stream-pack-constants": "stream.pack_constants",
    "iree-stream-pack-dispatch-operands": "stream.pack_dispatch_operands",
    "iree-stream-place-transfer-executions": "stream.place_transfer_executions",
    "iree-stream-propagate-timepoints": "stream.propagate_timepoints",
    "iree-stream-refine-usage": "stream.refine_usage",
    "iree-stream-reuse-allocations": "stream.reuse_allocations",
    "iree-stream-schedule-allocation": "stream.schedule_allocation",
    "iree-stream-schedule-concurrency": "stream.schedule_concurrency",
    "iree-stream-schedule-execution": "stream.schedule_execution",
    "iree-stream-specialize-dispatches": "stream.specialize_dispatches",
    "iree-stream-specialize-encodings": "stream.specialize_encodings",
    "iree-stream-sync-initializers": "stream.sync_initializers",
    "iree-stream-unify-encoding-for-globals": "stream.unify_encoding_for_globals",
    "iree-stream-verify-affinities": "stream.verify_affinities",
    "iree-stream-verify-async-access-ranges": "stream.verify_async_access_ranges",
    "iree-stream-verify-input": "stream.verify_lowering:verify_input",
    "iree-stream-verify-lowering-to-async": "stream.verify_lowering:verify_lowering_to_async",
    "iree-stream-verify-lowering-to-async-resources": (
        "stream.verify_lowering:verify_lowering_to_async_resources"
    ),
    "iree-stream-verify-lowering-to-cmd": "stream.verify_lowering:verify_lowering_to_cmd",
    "iree-stream-verify-lowering-to-tensors": "stream.verify_lowering:verify_lowering_to_tensors",
    "iree-util-fold-globals": "general.fold_globals",
    "iree-util-fuse-globals": "general.fuse_globals",
    "iree-util-simplify-global-accesses": "general.simplify_global_accesses",
    "linalg-detensorize": "loops.linalg_detensorize",
    "loop-invariant-code-motion": "general.loop_invariant_code_motion",
    "merge-globals": "stream.merge_globals",
    "place-relayouts": "stream.place_relayouts",
    "print-op-stats": "general.print_op_stats",
    "sccp": "general.sccp",
    "scf-uplift-while-to-for": "loops.scf_uplift_while_to_for",
    "set-encoding": "encoding.set_encoding",
    "shard-annotate": "sharding.shard_annotate",
    "shard-complete": "sharding.shard_complete",
    "shard-lower-all-slice": "sharding.shard_lower_all_slice",
    "shard-lower-process-multi-index": "sharding.shard_lower_process_multi_index",
    "shard-partition": "sharding.shard_partition",
    "shard-search": "sharding.shard_search",
    "shard-simplify": "sharding.shard_simplify",
    "sharding-propagation": "sharding.sharding_propagation",
    "simplify-sizes": "sizes.simplify_sizes",
    "specialize-processes": "hal.specialize_processes",
    "spmd": "sharding.spmd",
    "strip-annotations": "sharding.strip_annotations",
    "symbol-dce": "general.symbol_dce",
    "tosa-to-scf": "imports.tosa_to_scf",
    "variables-to-util": "imports.variables_to_util",
    "verify-collectives": "stream.verify_collectives",
    "view-op-graph": "general.view_op_graph",
    "widen-accumulators": "dispatch.widen_accumulators",
}
"""Maps each pass to its module below this folder.

The pass is named like the module, or as given after `:`. It is a function with `module_pass`, such
as `fuse_globals`, or a class, such as `CanonicalizePass`.
"""

ALIASES = {
    "encode-device-tensors": "iree-stream-encode-device-tensors",
    "encode-host-tensors": "iree-stream-encode-host-tensors",
    "hoist-encodings": "hoist-encodes-to-initializers",
    "inline": "inline-calls",
    "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions-pass": (
        "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions"
    ),
    "iree-stream-conversion": "convert-to-stream",
    "materialize-encodings": "iree-codegen-materialize-device-encoding",
    "mesh-spmdization": "shard-partition",
    "pack-constants": "fold-constant-encodes",
    "propagate-encodings": "iree-dispatch-creation-propagate-encodings",
    "specialize-encodings": "iree-stream-specialize-encodings",
    "wrap-entry-points": "iree-abi-wrap-entry-points",
}
"""Alternative names of passes: short ones, and former names."""


def _loader(location: str) -> Callable[[], type[ModulePass]]:
    place, _, own_name = location.partition(":")
    name = own_name or place.rpartition(".")[2]
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Pass"

    def load() -> type[ModulePass]:
        module = import_module(f".{place}", __package__)
        return getattr(module, class_name, None) or getattr(module, name)

    return load


OWN_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: _loader(_PASSES[ALIASES.get(name, name)]) for name in sorted((*_PASSES, *ALIASES))
}
"""Loaders of mesh-opt's passes by name and alias."""

FOLLOW_CALLS = frozenset(
    {
        "convert-mesh-to-shard",
        "convert-sdy-to-shard",
        "convert-shard-to-mesh",
        "shard-annotate",
        "shard-complete",
        "shard-lower-all-slice",
        "shard-lower-process-multi-index",
        "shard-partition",
        "shard-search",
        "shard-simplify",
        "sharding-propagation",
    }
)
"""Passes that `func.func(...)` runs on the whole module instead of on each function.

They change callers and callees together, read references to a function, or change symbols that
functions share, such as the grid that replaces a mesh.
"""


NEED_SYMBOLS = frozenset({"inline-calls", "symbol-dce"})
"""Passes on the symbols of a module; no function has any."""


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return loaders of all passes by name: xDSL's, overridden by mesh-opt's of the same name."""
    from xdsl.transforms import get_all_passes

    return {**get_all_passes(), **OWN_PASSES}

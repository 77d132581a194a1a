"""StableHLO's operations between devices, and between a device and the host."""

from __future__ import annotations

from .syntax import define

_GROUPS = "replica_groups channel_handle? use_global_device_ids?"

OPERATIONS = [
    define("stablehlo.partition_id", "", syntax=" attr-dict : type($result)"),
    define("stablehlo.replica_id", "", syntax=" attr-dict : type($result)"),
    define(
        "stablehlo.all_reduce",
        "operands_*",
        "results_*",
        attributes=_GROUPS,
        regions="computation",
        pure=False,
    ),
    define(
        "stablehlo.collective_reduce",
        "operands_*",
        "results_*",
        attributes=f"{_GROUPS} has_dynamic_root?",
        regions="computation",
        pure=False,
    ),
    define(
        "stablehlo.all_gather",
        "operands_*",
        "results_*",
        attributes=f"{_GROUPS} all_gather_dim",
        pure=False,
    ),
    define(
        "stablehlo.reduce_scatter",
        "operand",
        attributes=f"{_GROUPS} scatter_dimension",
        regions="computation",
        pure=False,
    ),
    define(
        "stablehlo.all_to_all",
        "operands_*",
        "results_*",
        attributes=("replica_groups channel_handle? split_dimension concat_dimension split_count"),
        pure=False,
    ),
    define(
        "stablehlo.collective_permute",
        "operand",
        attributes="source_target_pairs channel_handle?",
        pure=False,
    ),
    define(
        "stablehlo.collective_broadcast",
        "operand",
        attributes="replica_groups channel_handle?",
        pure=False,
    ),
    define("stablehlo.cross-replica-sum", "operand", attributes="replica_groups", pure=False),
    define("stablehlo.async_start", "inputs*", attributes="", regions="body", pure=False),
    define("stablehlo.async_done", "future", "results_*", pure=False),
    define(
        "stablehlo.send",
        "inputs* token",
        attributes="channel_handle is_host_transfer? source_target_pairs?",
        pure=False,
    ),
    define(
        "stablehlo.recv",
        "token",
        "results_*",
        attributes="channel_handle is_host_transfer? source_target_pairs?",
        pure=False,
    ),
    define(
        "stablehlo.infeed", "token", "results_*", attributes="infeed_config? layout?", pure=False
    ),
    define("stablehlo.outfeed", "inputs* token", attributes="outfeed_config?", pure=False),
]
"""The operations of this file."""

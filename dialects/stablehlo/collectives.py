"""StableHLO's collectives, and the ops that communicate with other devices or the host."""

from __future__ import annotations

from . import checks, collective_checks
from .syntax import define

_GROUPS = "replica_groups:groups channel_handle:channel? use_global_device_ids:unit?"
_TRANSFER = "channel_handle:channel is_host_transfer:bool? source_target_pairs:table?"

ROWS = [
    define(
        "stablehlo.partition_id",
        "-> result",
        " attr-dict : type($result)",
        verify=collective_checks.verify_id,
    ),
    define(
        "stablehlo.replica_id",
        "-> result",
        " attr-dict : type($result)",
        verify=collective_checks.verify_id,
    ),
    define(
        "stablehlo.all_reduce",
        f"operands_* -> results_* | {_GROUPS} | computation",
        pure=False,
        verify=collective_checks.verify_all_reduce,
    ),
    define(
        "stablehlo.collective_reduce",
        f"operands_* -> results_* | {_GROUPS} has_dynamic_root:bool? | computation",
        pure=False,
        verify=collective_checks.verify_all_reduce,
    ),
    define(
        "stablehlo.all_gather",
        f"operands_* -> results_* | {_GROUPS} all_gather_dim:i64attr",
        pure=False,
        verify=collective_checks.verify_all_gather,
    ),
    define(
        "stablehlo.reduce_scatter",
        f"operand -> result | {_GROUPS} scatter_dimension:i64attr | computation",
        pure=False,
        verify=collective_checks.verify_reduce_scatter,
    ),
    define(
        "stablehlo.all_to_all",
        "operands_* -> results_* | replica_groups:groups channel_handle:channel?"
        " split_dimension:i64attr concat_dimension:i64attr split_count:i64attr",
        pure=False,
        verify=collective_checks.verify_all_to_all,
    ),
    define(
        "stablehlo.collective_permute",
        "operand -> result | source_target_pairs:table channel_handle:channel?",
        pure=False,
        verify=collective_checks.verify_collective_permute,
    ),
    define(
        "stablehlo.collective_broadcast",
        "operand -> result | replica_groups:groups channel_handle:channel?",
        pure=False,
        verify=collective_checks.verify_collective_broadcast,
    ),
    define(
        "stablehlo.cross-replica-sum",
        "operand -> result | replica_groups:groups",
        pure=False,
        verify=checks.verify_same_shape,
    ),
    define("stablehlo.async_start", "inputs* -> result | | body", pure=False),
    define("stablehlo.async_done", "future -> results_*", pure=False),
    define(
        "stablehlo.send",
        f"inputs* token -> result | {_TRANSFER}",
        pure=False,
        verify=collective_checks.verify_send,
    ),
    define(
        "stablehlo.recv",
        f"token -> results_* | {_TRANSFER}",
        pure=False,
        verify=collective_checks.verify_recv,
    ),
    define(
        "stablehlo.infeed",
        "token -> results_* | infeed_config:str? layout?",
        pure=False,
        verify=collective_checks.verify_infeed,
    ),
    define(
        "stablehlo.outfeed",
        "inputs* token -> result | outfeed_config:str?",
        pure=False,
        verify=collective_checks.verify_outfeed,
    ),
]
"""The op classes of this module."""

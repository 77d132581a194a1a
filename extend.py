"""The stable API for packages that add operations, targets and passes to mesh-opt.

    from mesh_opt.extend import impl, sharding_rule

The names of this module are stable; the modules that define them may change. Each name is imported
on first use, so that a dialect which needs only verification does not load NumPy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    from .dialects.iree_encoding.interfaces import (
        ContractionEncoding,
        EncodingError,
        EncodingSolverInterface,
        LayoutAttribute,
        Tensor,
    )
    from .dialects.iree_encoding.packed_layout_dict import encoding_info, packed_layout_of
    from .dialects.registry import register_dialects
    from .dialects.shard.annotations import ShardingOp, ShardOp
    from .dialects.shard.grids import GridOp
    from .interpreter.frames import Frame
    from .interpreter.registry import impl, impl_branch, impl_with_regions, terminates
    from .interpreter.run import run, run_partitioned, run_spmd
    from .ir.diagnostics import Note, OperationError, remark
    from .ir.verification import add_checks
    from .passes.compile import CompilePass
    from .passes.data_tile import DataTilePass
    from .passes.registry import OWN_PASSES
    from .passes.sharding.partition.by_rule import partition_by_rule, run_replicated
    from .passes.sharding.partition.partitioner import OpSharding, Partitioner
    from .passes.sharding.partition.registry import partition
    from .passes.sharding.rules.builder import RuleBuilder, elementwise_rule
    from .passes.sharding.rules.registry import dialect_rule, sharding_rule
    from .passes.sharding.spmd import SpmdPass
    from .sharding.factors import FactorKind, FactorRule, ShardRequirement
    from .sharding.sharding import ReductionKind
    from .tiling.packed_layouts import IDENTITY, PackedLayout
    from .tiling.tiled_layouts import tiled_layout
    from .tiling.tiles import Tile

_HOMES = {
    "dialects.iree_encoding.interfaces": (
        "ContractionEncoding",
        "EncodingError",
        "EncodingSolverInterface",
        "LayoutAttribute",
        "Tensor",
    ),
    "dialects.iree_encoding.packed_layout_dict": ("encoding_info", "packed_layout_of"),
    "dialects.registry": ("register_dialects",),
    "dialects.shard.annotations": ("ShardOp", "ShardingOp"),
    "dialects.shard.grids": ("GridOp",),
    "interpreter.frames": ("Frame",),
    "interpreter.registry": ("impl", "impl_branch", "impl_with_regions", "terminates"),
    "interpreter.run": ("run", "run_partitioned", "run_spmd"),
    "ir.diagnostics": ("Note", "OperationError", "remark"),
    "ir.verification": ("add_checks",),
    "passes.compile": ("CompilePass",),
    "passes.data_tile": ("DataTilePass",),
    "passes.registry": ("OWN_PASSES",),
    "passes.sharding.partition.by_rule": ("run_replicated", "partition_by_rule"),
    "passes.sharding.partition.partitioner": ("OpSharding", "Partitioner"),
    "passes.sharding.partition.registry": ("partition",),
    "passes.sharding.rules.builder": ("RuleBuilder", "elementwise_rule"),
    "passes.sharding.rules.registry": ("dialect_rule", "sharding_rule"),
    "passes.sharding.spmd": ("SpmdPass",),
    "sharding.factors": ("FactorKind", "FactorRule", "ShardRequirement"),
    "sharding.sharding": ("ReductionKind",),
    "tiling.packed_layouts": ("IDENTITY", "PackedLayout"),
    "tiling.tiled_layouts": ("tiled_layout",),
    "tiling.tiles": ("Tile",),
}
"""The module that defines each name."""

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "IDENTITY",
    "OWN_PASSES",
    "CompilePass",
    "ContractionEncoding",
    "DataTilePass",
    "EncodingError",
    "EncodingSolverInterface",
    "FactorKind",
    "FactorRule",
    "Frame",
    "GridOp",
    "LayoutAttribute",
    "Note",
    "OpSharding",
    "OperationError",
    "PackedLayout",
    "Partitioner",
    "ReductionKind",
    "RuleBuilder",
    "ShardOp",
    "ShardRequirement",
    "ShardingOp",
    "SpmdPass",
    "Tensor",
    "Tile",
    "add_checks",
    "dialect_rule",
    "elementwise_rule",
    "encoding_info",
    "impl",
    "impl_branch",
    "impl_with_regions",
    "packed_layout_of",
    "partition",
    "partition_by_rule",
    "register_dialects",
    "remark",
    "run",
    "run_partitioned",
    "run_replicated",
    "run_spmd",
    "sharding_rule",
    "terminates",
    "tiled_layout",
]


_FORMER_NAMES = {
    "Shards": "ShardRequirement",
    "run_whole": "run_replicated",
    "spread_by_rule": "partition_by_rule",
}
"""Names of earlier versions, and what they are called."""


def __getattr__(name: str) -> Any:
    """Import a name of `__all__`. Raises AttributeError for any other name.

    A former name still works, with a DeprecationWarning.
    """
    if name in _FORMER_NAMES:
        new_name = _FORMER_NAMES[name]
        warn(f"mesh_opt.extend.{name} is called {new_name}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[__name__], new_name)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __package__), name)
    return value

"""The complete `shard` dialect: grids of processes, shardings of tensors, and collectives.

Syntax and semantics are those of MLIR 22 (mlir/include/mlir/Dialect/Shard/IR). Extensions are
`partial = sum[1]` on `shard.sharding`, `priority = n` on `shard.shard`, and verifiers that reject
programs without a meaning that upstream accepts.
"""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from . import annotations, attributes, collectives, grids

Shard = dialect_of("shard", annotations, attributes, collectives, grids)
"""The dialect. It replaces the one of xDSL, which has 11 of the 22 ops."""

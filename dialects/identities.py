"""Operations whose result is their operand: what changes is how or where the tensor is stored."""

from __future__ import annotations

ANNOTATIONS = frozenset(
    """
    sdy.data_flow_edge sdy.func_data_flow_edge sdy.propagation_barrier sdy.reshard
    sdy.sharding_constraint shard.shard
    """.split()
)
"""Operations that annotate a value with a sharding, or limit how shardings propagate over it."""

SAME_ELEMENTS = ANNOTATIONS | frozenset(
    """
    flow.tensor.barrier flow.tensor.encode flow.tensor.transfer iree_encoding.set_encoding
    iree_encoding.unset_encoding iree_tensor_ext.compute_barrier.end
    iree_tensor_ext.compute_barrier.start
    """.split()
)
"""These, and operations that change the layout or the device of a tensor."""

"""From a target and a tensor of a contraction to the layout that the target wants it in."""

from __future__ import annotations

from .contractions import RESULT, ContractionOperand, Role
from .gpu_layouts import gpu_layout
from .packed_layouts import IDENTITY, PackedLayout
from .targets import GpuTarget, Target
from .tile_tables import tile_family
from .tiled_layouts import tiled_layout
from .tiles import choose_tile, narrow_side


def packed_layout(target: Target, operand: ContractionOperand) -> PackedLayout:
    """The layout of one tensor of a contraction; the identity if the target has no tile for it.

    Tiled dimensions come in the order batch (untiled), M, N, K. The result of a narrow-N product
    is stored with its last two dimensions exchanged, since it is computed as a transposed product.
    """
    roles = operand.roles()
    if roles is None or len(operand.element_types) != 3:
        return IDENTITY
    if isinstance(target, GpuTarget):
        return gpu_layout(target, operand, roles)
    left, right, result = operand.element_types
    narrow = narrow_side(operand, roles)
    family = tile_family(
        target,
        (left, right, result),
        tile_at_run_time=narrow is None and Role.BATCH not in roles.values(),
    )
    tile = choose_tile(family, narrow)
    if tile is None:
        return IDENTITY
    swap_result = narrow is not None and narrow.side is Role.N and operand.index == RESULT
    return tiled_layout(operand, roles, tile, swap_last_two=swap_result)

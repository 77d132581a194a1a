"""From a tile and the roles of a tensor's dimensions to the tensor's packed layout."""

from __future__ import annotations

from .contractions import RESULT, ContractionOperand, Role
from .packed_layouts import IDENTITY, PackedLayout
from .tiles import Tile


def tiled_layout(
    operand: ContractionOperand, roles: dict[int, Role], tile: Tile, *, swap_result: bool
) -> PackedLayout:
    """The layout that cuts a tensor's M, N and K into the tile's sizes.

    Dimensions come in the order batch, M, N, K, those of one role in the order of their loops.
    `swap_result` exchanges the result's M and N, as a transposed product wants it.
    """
    positions = {
        loop: position
        for position, loop in enumerate(operand.tensor_map)
        if loop is not None and loop in roles
    }
    if len(positions) != len(operand.tensor_map):
        return IDENTITY
    order = [Role.BATCH, Role.M, Role.N, Role.K]
    if swap_result and operand.index == RESULT:
        order = [Role.BATCH, Role.N, Role.M]
    outer = [loop for role in order for loop in sorted(positions) if roles[loop] is role]
    if len(outer) != len(positions):
        return IDENTITY
    tiled: list[tuple[int, Role]] = []
    for role in order:
        loop = None if role is Role.BATCH else operand.tiled_loop(role, roles)
        if loop is not None and loop in positions:
            tiled.append((loop, role))
    scalable = tuple(role is tile.scalable for _, role in tiled)
    return PackedLayout(
        inner_positions=tuple(positions[loop] for loop, _ in tiled),
        inner_tiles=tuple(tile.size(role) for _, role in tiled),
        outer_permutation=tuple(positions[loop] for loop in outer),
        scalable=scalable if any(scalable) else (),
    )

"""From a tile and the roles of a tensor's dimensions to the tensor's packed layout."""

from __future__ import annotations

from .contractions import ContractionOperand, Role
from .packed_layouts import IDENTITY, PackedLayout
from .tiles import Tile


def tiled_layout(
    operand: ContractionOperand, roles: dict[int, Role], tile: Tile, *, swap_last_two: bool
) -> PackedLayout:
    """The layout that cuts each M, N and K dimension of a tensor into the tile's sizes."""
    positions = {
        roles[loop]: position
        for position, loop in enumerate(operand.tensor_map)
        if loop is not None and loop in roles
    }
    if len(positions) != len(operand.tensor_map):
        return IDENTITY
    order = sorted(positions, key=lambda role: role.value)
    outer = [positions[role] for role in order]
    tiled = [role for role in order if role is not Role.BATCH]
    if swap_last_two and {Role.M, Role.N} <= set(tiled):
        outer[-2:] = reversed(outer[-2:])
        tiled[-2:] = reversed(tiled[-2:])
    scalable = tuple(role is tile.scalable for role in tiled)
    return PackedLayout(
        inner_positions=tuple(positions[role] for role in tiled),
        inner_tiles=tuple(tile.size(role) for role in tiled),
        outer_permutation=tuple(outer),
        scalable=scalable if any(scalable) else (),
    )

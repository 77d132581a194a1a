"""Build the packed layout of a tensor from a tile and the roles of the tensor's dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from .contractions import LHS, RESULT, RHS, ContractionOperand, Role
from .packed_layouts import IDENTITY, PackedLayout, Swizzle
from .tiles import Tile

SIDES = {LHS: (Role.M, Role.K), RHS: (Role.N, Role.K), RESULT: (Role.M, Role.N)}
"""The roles of a tile's two dimensions, by operand."""


class TileInstruction(Protocol):
    """An instruction tile (CPU or GPU): its sides and its element order in memory."""

    @property
    def tile(self) -> Tile:
        """The sides of the tiles of all three matrices."""
        ...

    def swizzle(self, operand: int) -> Swizzle:
        """Return the element order of one matrix's tile in memory."""
        ...


def tiled_layout(
    operand: ContractionOperand, roles: dict[int, Role], tile: Tile, *, swap_result: bool
) -> PackedLayout:
    """Return the layout that tiles the tensor's M, N and K with the sizes of the tile.

    Dimensions come in the order batch, M, N, K; those of the same role in the order of their loops.
    `swap_result` exchanges M and N of the result, for a transposed product. The layout is the
    identity if a dimension of the tensor is not indexed by one loop with a role.
    """
    positions = {
        loop: position
        for position, loop in enumerate(operand.tensor_map)
        if loop is not None and loop in roles
    }
    if len(positions) != len(operand.tensor_map):
        return IDENTITY
    order = list(Role)
    if swap_result and operand.index == RESULT:
        order[Role.M.value], order[Role.N.value] = Role.N, Role.M
    outer = sorted(positions, key=lambda loop: (order.index(roles[loop]), loop))
    loops = ((role, operand.tiled_loop(role, roles)) for role in order if role is not Role.BATCH)
    tiled = {
        role: positions[loop] for role, loop in loops if loop is not None and loop in positions
    }
    scalable = tuple(role is tile.scalable for role in tiled)
    return PackedLayout(
        inner_positions=tuple(tiled.values()),
        inner_tiles=tuple(map(tile.size, tiled)),
        outer_permutation=tuple(positions[loop] for loop in outer),
        scalable=scalable if any(scalable) else (),
    )


def instruction_layout(
    tiled: TileInstruction,
    operand: ContractionOperand,
    roles: dict[int, Role],
    sides: Mapping[int, tuple[Role, ...]] = SIDES,
) -> PackedLayout:
    """Return the layout of a tensor with tiles in the order in which an instruction loads them.

    `sides` are the roles of a tile's dimensions, by operand.
    """
    layout = tiled_layout(operand, roles, tiled.tile, swap_result=False)
    if layout.is_identity:
        return IDENTITY
    loops = [operand.tiled_loop(role, roles) for role in sides[operand.index]]
    kept = [loop in operand.tensor_map for loop in loops]
    return replace(layout, swizzle=tiled.swizzle(operand.index).restricted(kept))

"""Compute the packed layout that a target prefers for a tensor of a contraction."""

from __future__ import annotations

from .contractions import ContractionOperand, Role, has_several
from .cpu_intrinsics import TiledCpuInstruction, tiled_cpu_instruction
from .gpu_layouts import gpu_layout
from .packed_layouts import IDENTITY, PackedLayout
from .targets import CpuTarget, GpuTarget, Target
from .tile_tables import ElementTypes, tile_family
from .tiled_layouts import instruction_layout, tiled_layout
from .tiles import Tile, choose_tile, fitting_tile, narrow_side

_TILED = (Role.M, Role.N, Role.K)


def packed_layout(target: Target, operand: ContractionOperand) -> PackedLayout:
    """Return the layout of one tensor of a contraction; the identity if the target has no tile.

    Dimensions come in the order batch (untiled), M, N, K. The result of a narrow-N product is
    stored with M and N exchanged, since it is computed as a transposed product. Where several loops
    have the same role, the tile is limited to the sizes of the tiled loops.
    """
    roles = operand.roles()
    if roles is None or len(operand.element_types) != len(operand.maps):
        return IDENTITY
    if isinstance(target, GpuTarget):
        return gpu_layout(target, operand, roles)
    if operand.is_scaled:
        return IDENTITY
    if isinstance(target, CpuTarget) and target.inner_tiled:
        tiled = cpu_instruction_for(target, operand, roles)
        return IDENTITY if tiled is None else instruction_layout(tiled, operand, roles)
    if has_several(roles, _TILED):
        tile, swap = _limited_tile(target, operand, roles)
    else:
        tile, swap = _padded_tile(target, operand, roles)
    return IDENTITY if tile is None else tiled_layout(operand, roles, tile, swap_result=swap)


def _limited_tile(
    target: Target, operand: ContractionOperand, roles: dict[int, Role]
) -> tuple[Tile | None, bool]:
    """Return the largest tile within the sizes of the tiled loops, and whether M and N swap."""
    family = tile_family(target, _types(operand), tile_at_run_time=False)
    tile = fitting_tile(family, *(operand.size(role, roles) for role in _TILED))
    return tile, tile is not None and tile.n < tile.m


def _padded_tile(
    target: Target, operand: ContractionOperand, roles: dict[int, Role]
) -> tuple[Tile | None, bool]:
    """Return the tile with the least padding along the narrow side, and whether M and N swap."""
    narrow = narrow_side(operand, roles)
    at_run_time = narrow is None and Role.BATCH not in roles.values()
    family = tile_family(target, _types(operand), tile_at_run_time=at_run_time)
    return choose_tile(family, narrow), narrow is not None and narrow.side is Role.N


def _types(operand: ContractionOperand) -> ElementTypes:
    left, right, result = operand.element_types
    return left, right, result


def cpu_instruction_for(
    target: CpuTarget, operand: ContractionOperand, roles: dict[int, Role]
) -> TiledCpuInstruction | None:
    """Return the instruction tile that computes a contraction on a CPU with `inner_tiled`.

    `None` if no loop sizes are given, if several loops have the same role, or if no instruction
    fits.
    """
    if not operand.iteration_sizes or has_several(roles, _TILED):
        return None
    sizes = (operand.size(role, roles) for role in (Role.M, Role.N))
    return tiled_cpu_instruction(target, _types(operand), *sizes)

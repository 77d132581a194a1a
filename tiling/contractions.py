"""Contractions as encodings describe them, and the roles of their loops.

`C[b, m, n] += A[b, m, k] * B[b, k, n]`: a loop is batch, M, N or K by which of the three tensors
it indexes. There may be several loops of one role, as M and K in `C[s, t, n] += A[s, t, h, e] *
B[h, e, n]`: then one of each is cut into tiles, and the others count the tiles along with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .element_types import ElementType

LHS, RHS, RESULT = 0, 1, 2


class Role(Enum):
    """What a loop of a contraction is, in the order in which layouts list dimensions."""

    BATCH = 0
    M = 1
    N = 2
    K = 3


_ROLES = {
    (True, True, True): Role.BATCH,
    (True, False, True): Role.M,
    (False, True, True): Role.N,
    (True, True, False): Role.K,
}

DimensionMap = tuple[int | None, ...]
"""For each dimension of a tensor the loop that indexes it; `None` if that is not one loop."""


@dataclass(frozen=True, slots=True)
class ContractionOperand:
    """One tensor of a contraction: what a target needs to know to lay it out.

    `maps` are those of the contraction's left, right and result tensors. `tensor_map` is this
    tensor's own: its operand's unless the tensor is broadcast on the way into the contraction.
    `iteration_sizes` has the extent of each loop, `None` where dynamic; it is empty where nothing
    is known about any of them.
    """

    index: int
    element_types: tuple[ElementType, ...]
    maps: tuple[DimensionMap, ...]
    tensor_map: DimensionMap
    iteration_sizes: tuple[int | None, ...] = ()

    def roles(self) -> dict[int, Role] | None:
        """The role of each loop, or `None` if this is no contraction that can be tiled.

        It has a loop for K and one for M or N, and no loop that only one of the tensors knows.
        """
        if len(self.maps) != 3 or any(loop is None for map_ in self.maps for loop in map_):
            return None
        used = [frozenset(map_) for map_ in self.maps]
        loops = {loop for map_ in self.maps for loop in map_ if loop is not None}
        roles: dict[int, Role] = {}
        for loop in sorted(loops):
            role = _ROLES.get((loop in used[LHS], loop in used[RHS], loop in used[RESULT]))
            if role is None:
                return None
            roles[loop] = role
        has = set(roles.values())
        if Role.K not in has or not has & {Role.M, Role.N}:
            return None
        return roles

    def tiled_loop(self, role: Role, roles: dict[int, Role]) -> int | None:
        """The loop of M, N or K that is cut into tiles; `None` if there is none of that role.

        Of several it is the one that loses least to padding, and of equal ones the last.
        """
        loops = [loop for loop, its_role in roles.items() if its_role is role]
        if len(loops) < 2 or not self.iteration_sizes:
            return loops[-1] if loops else None
        return min(reversed(loops), key=lambda loop: _padding(self.iteration_sizes[loop]))

    def size(self, role: Role, roles: dict[int, Role]) -> int | None:
        """The extent of the tiled loop of a role: 1 if there is none, `None` if dynamic."""
        loop = self.tiled_loop(role, roles)
        if loop is None:
            return 1
        return self.iteration_sizes[loop] if self.iteration_sizes else None


def has_several(roles: dict[int, Role], which: Iterable[Role]) -> bool:
    """Whether more than one loop has one of some roles."""
    found = list(roles.values())
    return any(found.count(role) > 1 for role in which)


USUAL_TILE = 16
"""The tile by which loops of one role are compared, whatever the target has in the end."""

DYNAMIC_PADDING = 1.5
"""What a dynamic extent is thought to grow by: more than a long one, less than a short one."""


def _padding(size: int | None) -> float:
    """By how much an extent grows when it is cut into tiles."""
    if size is None:
        return DYNAMIC_PADDING
    return -(-size // USUAL_TILE) * USUAL_TILE / max(size, 1)

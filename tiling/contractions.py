"""Contractions as encodings describe them, and the roles of their loops.

`C[b, m, n] += A[b, m, k] * B[b, k, n]`: a loop is batch, M, N or K by which of the three tensors
it indexes.
"""

from __future__ import annotations

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
        """The role of each loop, or `None` unless there is at most one of each role."""
        if len(self.maps) != 3 or any(loop is None for map_ in self.maps for loop in map_):
            return None
        used = [frozenset(map_) for map_ in self.maps]
        loops = {loop for map_ in self.maps for loop in map_ if loop is not None}
        roles: dict[int, Role] = {}
        for loop in sorted(loops):
            role = _ROLES.get((loop in used[LHS], loop in used[RHS], loop in used[RESULT]))
            if role is None or role in roles.values():
                return None
            roles[loop] = role
        has = set(roles.values())
        if Role.K not in has or not has & {Role.M, Role.N}:
            return None
        return roles

    def size(self, role: Role, roles: dict[int, Role]) -> int | None:
        """The extent of the loop of a role: 1 if there is none, `None` if dynamic."""
        for loop, its_role in roles.items():
            if its_role is role:
                return self.iteration_sizes[loop]
        return 1

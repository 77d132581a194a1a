"""Contractions as encodings describe them, and the roles of their loops.

In `C[b, m, n] += A[b, m, k] * B[b, k, n]` the role of a loop (batch, M, N or K) follows from which
of the three tensors it indexes. A role may have several loops, as M and K in `C[s, t, n] += A[s, t,
h, e] * B[h, e, n]`. Then one loop of each role is tiled, and the others stay outer dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .element_types import ElementType

LHS, RHS, RESULT = 0, 1, 2


class Role(Enum):
    """The role of a contraction's loop, in the order in which layouts list dimensions."""

    BATCH = 0
    M = 1
    N = 2
    K = 3
    BLOCK = 4
    """The loop inside K over the elements of a factor that share a scale."""


_ROLES: dict[tuple[bool, ...], Role] = {
    (True, True, True): Role.BATCH,
    (True, False, True): Role.M,
    (False, True, True): Role.N,
    (True, True, False): Role.K,
    (True, True, True, True, True): Role.BATCH,
    (True, False, True, False, True): Role.M,
    (False, True, False, True, True): Role.N,
    (True, True, True, True, False): Role.K,
    (True, True, False, False, False): Role.BLOCK,
}
"""The role of a loop, by which tensors it indexes: factors, their scales if any, and the result."""

DimensionMap = tuple[int | None, ...]
"""For each dimension of a tensor the loop that indexes it; `None` if it is not a single loop."""


@dataclass(frozen=True, slots=True)
class ContractionOperand:
    """One tensor of a contraction, with all that a target needs to choose its layout.

    `maps` are those of the left, right and result tensors; scales of factors are in front of the
    result. `tensor_map` is the map of this tensor:
    the one of its operand unless the tensor is broadcast on its way into the contraction.
    `iteration_sizes` has the extent of each loop, `None` where dynamic; it is empty if none is
    known.
    """

    index: int
    element_types: tuple[ElementType, ...]
    maps: tuple[DimensionMap, ...]
    tensor_map: DimensionMap
    iteration_sizes: tuple[int | None, ...] = ()

    @property
    def is_scaled(self) -> bool:
        """Whether the factors are block-scaled: their scales are tensors, too."""
        return len(self.maps) == 5

    def roles(self) -> dict[int, Role] | None:
        """Return the role of each loop, or `None` if the op is not a contraction that can be tiled.

        Such a contraction has a K loop and an M or N loop, and no loop that indexes one tensor
        only.
        """
        if len(self.maps) not in (3, 5) or any(loop is None for map_ in self.maps for loop in map_):
            return None
        used = [frozenset(map_) for map_ in self.maps]
        loops = {loop for map_ in self.maps for loop in map_ if loop is not None}
        roles: dict[int, Role] = {}
        for loop in sorted(loops):
            role = _ROLES.get(tuple(loop in loops_of_one for loops_of_one in used))
            if role is None:
                return None
            roles[loop] = role
        has = set(roles.values())
        if Role.K not in has or not has & {Role.M, Role.N}:
            return None
        return roles

    def tiled_loop(self, role: Role, roles: dict[int, Role]) -> int | None:
        """Return the loop of M, N or K that is tiled; `None` if no loop has that role.

        Among several it is the loop with the least relative padding; among equal ones, the last.
        """
        loops = [loop for loop, its_role in roles.items() if its_role is role]
        if len(loops) < 2 or not self.iteration_sizes:
            return loops[-1] if loops else None
        return min(reversed(loops), key=lambda loop: _padding(self.iteration_sizes[loop]))

    def size(self, role: Role, roles: dict[int, Role]) -> int | None:
        """Return the extent of the tiled loop of a role: 1 if there is none, `None` if dynamic."""
        loop = self.tiled_loop(role, roles)
        if loop is None:
            return 1
        return self.iteration_sizes[loop] if self.iteration_sizes else None


def has_several(roles: dict[int, Role], which: Iterable[Role]) -> bool:
    """Whether more than one loop has one of the given roles."""
    found = list(roles.values())
    return any(found.count(role) > 1 for role in which)


USUAL_TILE = 16
"""The tile size by which loops of one role are compared, whatever tile the target chooses later."""

DYNAMIC_PADDING = 1.5
"""The padding assumed for a dynamic extent: more than a long static one, less than a short one."""


def _padding(size: int | None) -> float:
    """Return the factor by which an extent grows when it is padded to whole tiles."""
    if size is None:
        return DYNAMIC_PADDING
    return -(-size // USUAL_TILE) * USUAL_TILE / max(size, 1)

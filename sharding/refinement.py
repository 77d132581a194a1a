"""Refine grids: divide an axis of extent 8 into two of 2 and 4, so that sub-axes are usable alone.

Process numbers do not change, since grids are row-major: position `p` along an axis of extent `a *
b` is the pair `(p // b, p % b)` along the two axes that replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

from .factors import FactorRule
from .grid import Grid
from .sharding import Axes, DimensionAxes, Partial, Sharding


@dataclass(frozen=True, slots=True)
class Refinement:
    """A grid and a finer one; `parts[a]` are the axes of the fine grid that replace axis `a`."""

    coarse: Grid
    fine: Grid
    parts: tuple[Axes, ...]

    @staticmethod
    def cut(grid: Grid, cuts: Sequence[Iterable[int]]) -> Refinement:
        """Divide axes so that the products of their leading sub-axes are the numbers in `cuts`.

        Axis `a` of extent 8 with `cuts[a] = [2]` becomes two axes of extents 2 and 4. Raises
        ValueError if an extent is unknown, or if a cut does not divide the next one and the extent.
        """
        shape: list[int | None] = []
        parts: list[Axes] = []
        for axis, extent in enumerate(grid.shape):
            wanted = sorted({cut for cut in cuts[axis] if cut > 1 and cut != extent})
            if not wanted or extent is None:
                if wanted:
                    raise ValueError(f"axis {axis} of unknown extent cannot be cut")
                parts.append((len(shape),))
                shape.append(extent)
                continue
            breaks = [1, *wanted, extent]
            for low, high in pairwise(breaks):
                if high % low:
                    raise ValueError(f"{high} is not a multiple of {low} in cuts of axis {axis}")
            parts.append(tuple(range(len(shape), len(shape) + len(breaks) - 1)))
            shape += [high // low for low, high in pairwise(breaks)]
        return Refinement(grid, Grid(grid.name, tuple(shape)), tuple(parts))

    @property
    def is_trivial(self) -> bool:
        """Whether no axis is divided."""
        return all(len(part) == 1 for part in self.parts)

    def refine(self, axes: Axes) -> Axes:
        """Return the axes of the fine grid that replace axes of the coarse one."""
        return tuple(part for axis in axes for part in self.parts[axis])

    def refine_all(self, axes: DimensionAxes) -> DimensionAxes:
        """Apply `refine` to every dimension."""
        return tuple(map(self.refine, axes))

    def refine_sharding(self, sharding: Sharding) -> Sharding:
        """Return the same sharding on the fine grid."""
        return replace(
            sharding,
            grid=self.fine,
            dimension_axes=self.refine_all(sharding.dimension_axes),
            partials=tuple(
                Partial(partial.kind, self.refine(partial.axes)) for partial in sharding.partials
            ),
        )

    def coarsen(self, axes: Axes) -> Axes | None:
        """Return axes of the fine grid as axes of the coarse one; `None` if one is incomplete."""
        result: list[int] = []
        position = 0
        while position < len(axes):
            for coarse, part in enumerate(self.parts):
                if axes[position : position + len(part)] == part:
                    result.append(coarse)
                    position += len(part)
                    break
            else:
                return None
        return tuple(result)

    def coarsen_all(self, axes: DimensionAxes) -> DimensionAxes | None:
        """Apply `coarsen` to every dimension; `None` if it fails for one of them."""
        result = [self.coarsen(each) for each in axes]
        known = [each for each in result if each is not None]
        return tuple(known) if len(known) == len(result) else None


def needed_cuts(grid: Grid, rules: Iterable[FactorRule]) -> list[set[int]]:
    """Return where axes must be divided to match the major factors of reshaped dimensions.

    A major factor of 2 takes half of an axis of extent 4, which is divided at 2. A size that is
    coprime to an extent needs no cut, since no part of the axis fits the factor.
    """
    sizes = {
        rule.factors[factor].size
        for rule in rules
        for tensor in (*rule.operands, *rule.results)
        for dimension in tensor
        for factor in dimension[:-1]
    }
    cuts: list[set[int]] = [set() for _ in grid.shape]
    for size in sizes:
        if size is None:
            continue
        for axis, extent in enumerate(grid.shape):
            if extent is None:
                continue
            common = gcd(size, extent)
            if common not in (1, extent):
                cuts[axis].add(common)
    return [divisor_chain(each) for each in cuts]


def divisor_chain(cuts: Iterable[int]) -> set[int]:
    """Return cuts that divide each other, chosen in increasing order: {2, 3, 4} -> {2, 4}."""
    chain: set[int] = set()
    for cut in sorted(set(cuts)):
        if all(cut % smaller == 0 for smaller in chain):
            chain.add(cut)
    return chain

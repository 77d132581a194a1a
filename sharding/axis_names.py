"""Name grid axes and sub-axes, such as `model:(1)2`.

As in Shardy, `model:(2)4` is the sub-axis of extent 4 whose major sub-axes have extent 2 together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

_PART = re.compile(r"(.*):\((\d+)\)(\d+)")


def sub_axis_names(
    names: Sequence[str], coarse: Sequence[int | None], fine: Sequence[int | None]
) -> list[str]:
    """Return the names of the axes of a refined grid, given names and shape of the coarse grid.

    ["x", "y"], [2, 4], [2, 2, 2] -> ["x", "y:(1)2", "y:(2)2"]
    """
    found: list[str] = []
    rest = list(fine)
    for name, extent in zip(names, coarse, strict=True):
        parts = [rest.pop(0)]
        while extent is not None and prod(part or 1 for part in parts) < extent:
            parts.append(rest.pop(0))
        if len(parts) == 1:
            found.append(name)
            continue
        whole, low, _ = _part(name, extent or 1)
        for part in parts:
            found.append(f"{whole}:({low}){part}")
            low *= part or 1
    return found


def joined_names(
    axes: Sequence[int], names: Sequence[str], shape: Sequence[int | None]
) -> tuple[str, ...]:
    """Return the names of a list of grid axes, with consecutive sub-axes joined.

    [1, 2] of ["x", "y:(1)2", "y:(2)2"] -> ("y",)
    """
    parts = [_part(name, extent or 1) for name, extent in zip(names, shape, strict=True)]
    sizes: dict[str, int] = {}
    for whole, _, extent in parts:
        sizes[whole] = sizes.get(whole, 1) * extent
    found: list[tuple[str, int, int]] = []
    for axis in axes:
        whole, low, extent = parts[axis]
        if found and found[-1][0] == whole and found[-1][1] * found[-1][2] == low:
            extent *= found[-1][2]
            low = found.pop()[1]
        found.append((whole, low, extent))
    return tuple(
        whole if extent == sizes[whole] else f"{whole}:({low}){extent}"
        for whole, low, extent in found
    )


def _part(name: str, extent: int) -> tuple[str, int, int]:
    """Parse an axis name: full axis, extent of its major sub-axes, own extent."""
    found = _PART.fullmatch(name)
    return (name, 1, extent) if found is None else (found[1], int(found[2]), int(found[3]))

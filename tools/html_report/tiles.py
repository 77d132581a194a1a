"""Draw the tiles of an encoded tensor's layout."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from xdsl.dialects.builtin import DYNAMIC_INDEX

from ...passes.encoding.encoding_report import EncodedTensor
from ...tiling.packed_layouts import DYNAMIC_TILE, PackedLayout

MAX_TILES = 10
"""The maximum number of tiles drawn per dimension: the first ones and the last one."""

_CELL = 22


def draw_tiles(row: EncodedTensor) -> str:
    """Return an HTML picture of a tensor with the tiles of its layouts; padding is dashed."""
    pictures = [_draw(row.shape, layout) for layout in row.packed if not layout.is_identity]
    caption = f"<div>{escape(row.tensor)} on {escape(row.device)}: {escape(row.layout)}</div>"
    return caption + "".join(pictures)


def _draw(shape: Sequence[int], layout: PackedLayout) -> str:
    """Draw the last two tiled dimensions of a tensor as rows and columns."""
    tiled = sorted(zip(layout.inner_positions, layout.inner_tiles, strict=True))[-2:]
    axes = [_Axis(shape[dimension], tile) for dimension, tile in tiled]
    rows = axes[0] if len(axes) == 2 else _Axis(1, 1)
    columns = axes[-1] if axes else _Axis(1, 1)
    parts: list[str] = []
    for y, tile_row in enumerate(rows.shown):
        for x, tile_column in enumerate(columns.shown):
            parts.append(_cell(x, y, rows.filled(tile_row), columns.filled(tile_column)))
    width, height = len(columns.shown) * _CELL + 130, len(rows.shown) * _CELL + 20
    labels = (
        f'<text x="0" y="{len(rows.shown) * _CELL + 14}">{columns.label}</text>'
        f'<text x="{len(columns.shown) * _CELL + 5}" y="14">{rows.label}</text>'
    )
    return (
        f'<svg class="tiles" role="img" width="{max(width, 160)}" height="{height}">'
        f"{''.join(parts)}{labels}</svg>"
    )


class _Axis:
    """The tiles of a dimension: which ones are drawn, and how much of each holds elements."""

    def __init__(self, size: int, tile: int) -> None:
        is_open = size == DYNAMIC_INDEX or tile in (DYNAMIC_TILE, 0)
        self._size, self._tile = (3, 1) if is_open else (size, tile)
        count = max(1, -(-self._size // self._tile))
        last = range(count - 1, count)
        self.shown = [*range(count)] if count <= MAX_TILES else [*range(MAX_TILES - 1), *last]
        extent = "?" if size == DYNAMIC_INDEX else str(size)
        each = "?" if tile in (DYNAMIC_TILE, 0) else str(tile)
        self.label = f"{extent} by {each}" + ("" if is_open else f": {count} tiles")

    def filled(self, tile: int) -> float:
        """Return the fraction of a tile that is not padding."""
        return max(0.0, min(1.0, self._size / self._tile - tile))


def _cell(x: int, y: int, rows: float, columns: float) -> str:
    left, top, size = x * _CELL, y * _CELL, _CELL - 2
    return (
        f'<rect class="pad" x="{left}" y="{top}" width="{size}" height="{size}"/>'
        f'<rect class="tile" x="{left}" y="{top}" width="{size * columns:.1f}"'
        f' height="{size * rows:.1f}"/>'
    )

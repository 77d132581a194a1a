"""Draw which devices hold which part of a tensor, as text and as HTML.

dimension 0 by rows, dimension 1 by columns
┌─────┬─────┐
│  0  │  1  │
├─────┼─────┤
│  2  │  3  │
└─────┴─────┘
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise, product
from math import prod

from .grid import extents_text
from .local_shape import explicit_offsets, shard_offsets
from .sharding import Sharding

MAX_CELLS = 256
"""Maximum number of cells; larger maps are reduced to their caption."""

MAX_DEVICES = 4096
"""Maximum number of devices of a grid that has maps."""

_PALETTE = (75, 214, 114, 176, 221, 80, 210, 147)
"""Background colours, as indices into the 256 colours of a terminal."""


@dataclass(frozen=True, slots=True)
class DeviceMap:
    """The parts of a tensor as a table: the last split dimension in columns, all others in rows."""

    sharding: Sharding
    shape: tuple[int | None, ...]
    rows: tuple[str, ...]
    """The part of the tensor in each row, such as `0:4`; empty if rows do not split the tensor."""
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[int, ...], ...], ...]
    """The devices that hold each part."""

    @property
    def caption(self) -> str:
        """The shape, the sharding, and the number of parts and copies, in words."""
        shape = extents_text(self.shape)
        count = self.sharding.grid.device_count()
        text = f"{shape or 'scalar'} by {self.sharding} on {count} device{'s' if count > 1 else ''}"
        parts = prod(len(row) for row in (self.rows, self.columns))
        copies = count // parts if parts else 0
        if self.sharding.partials:
            kinds = ", ".join(partial.kind for partial in self.sharding.partials)
            return f"{text}: parts still to be combined ({kinds})"
        if parts <= 1:
            return f"{text}: whole on each"
        if copies > 1:
            return f"{text}: {parts} parts, {copies} copies of each"
        return f"{text}: {parts} parts"


def device_map(shape: Sequence[int | None], sharding: Sharding) -> DeviceMap | None:
    """Return the map of a tensor.

    Returns `None` if the grid has unknown extents, no devices, or more than `MAX_DEVICES`.
    """
    grid = sharding.grid
    if not grid.is_static or not 0 < grid.device_count() <= MAX_DEVICES:
        return None
    split = [d for d, axes in enumerate(sharding.dimension_axes) if axes]
    row_dimensions, column_dimensions = split[:-1], split[-1:]
    if len(split) == 1 and sharding.rank > 1 and split[0] != sharding.rank - 1:
        row_dimensions, column_dimensions = split, []
    rows = _parts(shape, sharding, row_dimensions)
    columns = _parts(shape, sharding, column_dimensions)
    cells: list[list[list[int]]] = [[[] for _ in columns] for _ in rows]
    for device in range(grid.device_count()):
        at = grid.coordinates(device)
        row = _position(sharding, row_dimensions, at)
        cells[row][_position(sharding, column_dimensions, at)].append(device)
    frozen = tuple(tuple(tuple(cell) for cell in row) for row in cells)
    return DeviceMap(sharding, tuple(shape), tuple(rows), tuple(columns), frozen)


def _parts(shape: Sequence[int | None], sharding: Sharding, dimensions: Sequence[int]) -> list[str]:
    """Return a label for each combination of parts along some dimensions."""
    names = [_intervals(shape[d], sharding, d) for d in dimensions]
    return [", ".join(each) for each in product(*names)]


def _intervals(size: int | None, sharding: Sharding, dimension: int) -> list[str]:
    count = sharding.parts(dimension) or 1
    explicit = explicit_offsets(sharding, dimension)
    if size is None and explicit is None:
        return [f"part {index}" for index in range(count)]
    edges = explicit if explicit is not None else shard_offsets(size or 0, sharding, dimension)
    # Labels name the dimension only if there are more than two.
    which = f"d{dimension} " if sharding.rank > 2 else ""
    return [f"{which}{low}:{high}" for low, high in pairwise(edges)]


def _position(sharding: Sharding, dimensions: Sequence[int], at: Sequence[int]) -> int:
    position = 0
    for dimension in dimensions:
        axes = sharding.dimension_axes[dimension]
        position = position * (sharding.parts(dimension) or 1)
        position += sharding.grid.linear_index(at, axes)
    return position


def listed_devices(devices: Sequence[int]) -> str:
    """Return device numbers as text, with runs of three or more shortened: `0-3,8`."""
    parts: list[str] = []
    for _, group in groupby(enumerate(devices), lambda pair: pair[1] - pair[0]):
        run = [device for _, device in group]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ",".join(parts)


# Text ------------------------------------------------------------------------------------------


def draw_text(picture: DeviceMap, *, color: bool = False) -> str:
    """Return the map as a text table, with terminal colours if `color` is set."""
    if len(picture.rows) * len(picture.columns) > MAX_CELLS:
        return f"{picture.caption}\n"
    texts = [[listed_devices(cell) for cell in row] for row in picture.cells]
    width = max(len(text) for text in (*picture.columns, *(t for row in texts for t in row))) + 4
    margin = max((len(label) for label in picture.rows), default=0)
    margin += 1 if margin else 0
    count = len(picture.columns)
    blank = " " * margin

    def line(left: str, middle: str, right: str) -> str:
        return f"{blank}{left}{middle.join(['─' * width] * count)}{right}\n"

    lines = [f"{picture.caption}\n"]
    if any(picture.columns):
        heads = "".join(f" {label:^{width}}" for label in picture.columns)
        lines.append(f"{blank}{heads.rstrip()}\n")
    lines.append(line("┌", "┬", "┐"))
    for index, (label, row) in enumerate(zip(picture.rows, texts, strict=True)):
        if index:
            lines.append(line("├", "┼", "┤"))
        cells = [f"{text:^{width}}" for text in row]
        if color:
            cells = [
                f"\x1b[30;48;5;{_PALETTE[(index * count + column) % len(_PALETTE)]}m{cell}\x1b[0m"
                for column, cell in enumerate(cells)
            ]
        lines.append(f"{label:<{margin}}│{'│'.join(cells)}│\n")
    lines.append(line("└", "┴", "┘"))
    return "".join(lines)


# HTML ------------------------------------------------------------------------------------------


def draw_html(picture: DeviceMap) -> str:
    """Return the map as an HTML table with inline styles, which can be embedded in any page."""
    if len(picture.rows) * len(picture.columns) > MAX_CELLS:
        return f"<div>{escape(picture.caption)}</div>"
    count = len(picture.columns)
    lines = [
        f"<div>{escape(picture.caption)}</div>",
        '<table style="border-collapse:collapse;font:12px monospace;text-align:center">',
    ]
    if any(picture.columns):
        style = "font-weight:normal;padding:0 .5em"
        heads = "".join(f'<th style="{style}">{column}</th>' for column in picture.columns)
        lines.append(f"<tr><td></td>{heads}</tr>")
    for index, (label, row) in enumerate(zip(picture.rows, picture.cells, strict=True)):
        cells = "".join(
            f'<td style="border:1px solid #888;padding:6px 12px;color:#111;'
            f'background:{cell_color(index * count + column)}">{listed_devices(cell)}</td>'
            for column, cell in enumerate(row)
        )
        lines.append(f'<tr><th style="font-weight:normal;padding:0 6px">{label}</th>{cells}</tr>')
    return "\n".join([*lines, "</table>"])


def cell_color(index: int) -> str:
    """Return the CSS colour of part `index`; colours of neighbouring parts are far apart."""
    return f"hsl({index * 137 % 360} 70% {72 + index // 8 % 3 * 6}%)"

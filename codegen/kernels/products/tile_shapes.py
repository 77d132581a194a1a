"""Choose the shapes of register tiles: what fits in registers, and the remaining columns."""

from __future__ import annotations

from dataclasses import dataclass

from ....runtime.abi.elements import Element
from ...microkernels.products import tile_of
from ..code.ast_builder import Term

MIN_COPIED_ROWS = 18
"""The rows from which on copying a vector for them pays off: three tiles on most CPUs."""

MIN_GATHERED_ROWS = 12
"""The same if the elements of the vector are apart: in `a * b^T`, the alternative is to multiply
along the depth, and to add up the lanes.
"""

FEW_TERMS, MIN_ROWS_OF_FEW_TERMS = 16, 6
"""The depth up to which adding up the lanes takes most of the time, and the rows that suffice."""


SUMS_AT_ONCE = 8
"""The sums that hide the latency of a multiply-add: 4 cycles on each of two units."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """The size of a tile: rows, vectors in a row, and lanes of a vector."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """The elements of a row."""
        return self.vectors * self.lanes


def tile_shape(
    total: Element, columns: Term, rows: Term, *, has_vectors: bool, is_paired: bool
) -> TileShape:
    """Return a tile that fills the registers, but is not larger than the known sizes.

    `has_vectors` says that each row also needs registers for vectors of its own.
    """
    full = tile_of(total)
    lanes = full.lanes
    if isinstance(columns, int) and columns < lanes:
        lanes = _rest_lanes(lanes, columns, is_paired)
    vectors = 2 if not isinstance(columns, int) or columns >= 2 * lanes else 1
    most = full.rows * 2 // 3 if has_vectors else full.rows
    if isinstance(rows, int):
        most = min(most, max(1, rows))
    return TileShape(most, vectors, lanes)


def rows_of_copy(tile: TileShape, depth: int, *, is_contiguous: bool) -> int:
    """Return the rows from which on copying the vectors that they share pays off."""
    if is_contiguous:
        return min(3 * tile.rows, MIN_COPIED_ROWS)
    return MIN_ROWS_OF_FEW_TERMS if depth <= FEW_TERMS else MIN_GATHERED_ROWS


def narrow_rows(tile: TileShape, rows: Term) -> int:
    """Return the rows of a tile of single vectors, given the most that the cache holds.

    With few rows, each sum would wait for its last term. Pieces of a loop that hold no part of
    such a tile hold no part of a whole one, either: the result is a multiple of its rows.
    """
    most = -(-SUMS_AT_ONCE // tile.rows) * tile.rows
    return most if isinstance(rows, int) and rows >= most else tile.rows


def strip_shapes(tile: TileShape, columns: Term, rows: Term, *, is_paired: bool) -> list[TileShape]:
    """Return the shapes of strips: whole tiles, single vectors, then the remaining columns.

    `rows` are the most that the cache holds.
    """
    shapes = [tile] if tile.vectors > 1 else []
    narrow = narrow_rows(tile, rows)
    shapes.append(TileShape(narrow, 1, tile.lanes))
    if not isinstance(columns, int):
        return [*shapes, TileShape(narrow, 1, 1)]
    lanes, rest = tile.lanes, columns % tile.lanes
    while rest:
        lanes = _rest_lanes(lanes, rest, is_paired)
        shapes.append(TileShape(narrow, 1, lanes))
        rest %= lanes
    return shapes


def _rest_lanes(lanes: int, columns: int, is_paired: bool) -> int:
    """Return the lanes of a vector for fewer columns than it has lanes.

    A vector of 13 lanes is loaded in pieces of 8, 4 and 1, but multiplied at once. Paired terms
    need an instruction of exactly that many lanes, so that lanes are halved.
    """
    if not is_paired:
        return columns
    while lanes > columns:
        lanes //= 2
    return lanes

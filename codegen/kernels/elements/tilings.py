"""The tiles of `linalg.pack`, and where an element lies in the plain and in the packed tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from ....ir.attribute_access import integers, operand_groups
from ..code.ast_builder import AstBuilder, Term
from .static_values import shape_of
from .writer import Indices, KernelWriter


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiling of a plain tensor of a given shape, in the terms of `linalg.pack`.

    `outer` holds, for each dimension of the plain tensor, its number of tiles.
    """

    shape: Indices
    outer: Indices
    inner: tuple[int, ...]
    tiles: Indices
    permutation: tuple[int, ...]

    def tile(self, dimension: int) -> Term:
        """Return the tile size of a dimension, 1 if it is not tiled."""
        return self.tiles[self.inner.index(dimension)] if dimension in self.inner else 1

    def plain(
        self, code: AstBuilder, numbers: Mapping[int, Term], within: Mapping[int, Term]
    ) -> Indices:
        """Return an element's indices in the plain tensor.

        They are given by dimension of it: the `numbers` of tiles, and indices `within` the tiles.
        """
        return tuple(
            code.add(
                code.multiply(numbers[dimension], self.tile(dimension)), within.get(dimension, 0)
            )
            for dimension in range(len(self.shape))
        )

    def packed(self, numbers: Mapping[int, Term], within: Mapping[int, Term]) -> Indices:
        """Return an element's indices in the packed tensor, given those of `plain`."""
        return (
            *(numbers[dimension] for dimension in self.permutation),
            *(within.get(dimension, 0) for dimension in self.inner),
        )


def tiling_of(writer: KernelWriter, operation: Operation) -> Tiling:
    """Return the tiling of a `linalg.pack` or `linalg.unpack`."""
    is_pack = operation.name == "linalg.pack"
    plain, packed = operation.operands[0], operation.results[0]
    if not is_pack:
        plain, packed = packed, plain
    groups = operand_groups(operation, operation.operands)
    dynamic = groups[3] if is_pack else operation.operands[2:]
    rank = len(shape_of(plain))
    permutation = integers(operation, "outer_dims_perm") or tuple(range(rank))
    counts = writer.shape(packed)
    return Tiling(
        writer.shape(plain),
        tuple(counts[permutation.index(dimension)] for dimension in range(rank)),
        integers(operation, "inner_dims_pos"),
        writer.mixed_numbers(integers(operation, "static_inner_tiles"), dynamic),
        permutation,
    )

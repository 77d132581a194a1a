"""Rules of the linalg operations that are no loop nests: `softmax`, `pack` and `unpack`."""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import FactorKind, FactorRule
from .builder import RuleBuilder, integer, integers
from .registry import rule


@rule("linalg.softmax")
def softmax(operation: Operation) -> FactorRule | None:
    """Rows are independent of each other; each is needed whole."""
    shape, normalised = tensor_shape(operation.operands[0]), integer(operation, "dimension")
    if shape is None or normalised is None or not operation.results:
        return None
    builder = RuleBuilder(operation)
    for dimension, size in enumerate(shape):
        whole = dimension == normalised
        factor = builder.factor(
            size, FactorKind.NEED_REPLICATION if whole else FactorKind.PASS_THROUGH
        )
        builder.operand(0, dimension, factor)
        builder.operand(1, dimension, factor)
        builder.result(0, dimension, factor)
    return builder.build()


def _packing_rule(
    operation: Operation, plain: Shape | None, packed: Shape | None, *, packs: bool
) -> FactorRule | None:
    """The rule of `pack` and `unpack`, which have the same two sides.

    A tiled dimension is made of a count of tiles and a tile, if tiles fill it exactly; tiles
    stay whole, so that blocks of the plain tensor are whole tiles. Otherwise it needs replication.
    """
    positions = integers(operation, "inner_dims_pos")
    tiles = integers(operation, "static_inner_tiles")
    if plain is None or packed is None or positions is None or tiles is None:
        return None
    if not operation.results:
        return None
    permutation = integers(operation, "outer_dims_perm") or tuple(range(len(plain)))
    builder = RuleBuilder(operation)
    whole, passes = FactorKind.NEED_REPLICATION, FactorKind.PASS_THROUGH
    plain_side: list[tuple[int, ...]] = []
    packed_side: list[tuple[int, ...]] = [()] * len(packed)
    outer_place = {dimension: place for place, dimension in enumerate(permutation)}
    for dimension, extent in enumerate(plain):
        count = packed[outer_place[dimension]]
        if dimension not in positions:
            factor = builder.factor(extent if extent is not None else count)
            plain_side.append((factor,))
            packed_side[outer_place[dimension]] = (factor,)
            continue
        order = positions.index(dimension)
        exact = extent is not None and count is not None and extent == count * tiles[order]
        outer = builder.factor(count, passes if exact else whole)
        inner = builder.factor(tiles[order] if tiles[order] > 0 else None, whole)
        plain_side.append((outer, inner) if exact else (outer,))
        packed_side[outer_place[dimension]] = (outer,)
        packed_side[len(plain) + order] = (inner,)
    source, destination = (plain_side, packed_side) if packs else (packed_side, plain_side)
    builder.operand_dimensions(0, source)
    builder.operand_dimensions(1, destination)
    builder.result_dimensions(0, destination)
    return builder.build()


@rule("linalg.pack")
def pack(operation: Operation) -> FactorRule | None:
    """From plain to packed."""
    plain, packed = (tensor_shape(operand) for operand in operation.operands[:2])
    return _packing_rule(operation, plain, packed, packs=True)


@rule("linalg.unpack")
def unpack(operation: Operation) -> FactorRule | None:
    """From packed to plain."""
    packed, plain = (tensor_shape(operand) for operand in operation.operands[:2])
    return _packing_rule(operation, plain, packed, packs=False)

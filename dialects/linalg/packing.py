"""`linalg.pack`, `unpack` and `softmax`: the linalg ops that are no loop nests.

`pack` tiles the dimensions `inner_dims_pos` and moves the tiles innermost; `unpack` inverts it. The
dimensions of the packed tensor are the tiled source dimensions, permuted by `outer_dims_perm`,
followed by one dimension per tile size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    ShapedType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, number_list
from ...ir.index_lists import index_array, split_list
from ...ir.syntax.assembly_format import Syntax, values
from ...ir.syntax.operations import SyntaxOperation
from ...ir.tensor_types import shape_text, shapes_agree, verify_ranked_tensor
from .base import DestinationEffects, tensor_types
from .checks import verify_destinations

PACKED_LAYOUT = (
    "( outer_dims_perm = numbers($outer_dims_perm))? inner_dims_pos = numbers($inner_dims_pos)"
    " inner_tiles = dynamic-list($inner_tiles, $static_inner_tiles) into $dest attr-dict"
    " : type($source) -> type($dest, $result)"
)


class _PackingOp(SyntaxOperation):
    """Base of `pack` and `unpack`."""

    result = result_def(TensorType)
    inner_dims_pos = prop_def(DenseArrayBase.constr(i64))
    outer_dims_perm = opt_prop_def(DenseArrayBase.constr(i64))
    static_inner_tiles = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())

    @property
    def tiled_dimensions(self) -> tuple[int, ...]:
        """The tiled dimensions of the unpacked tensor, in the order of the tile sizes."""
        return number_list(self.inner_dims_pos)

    @property
    def outer_permutation(self) -> tuple[int, ...]:
        """The source dimension of each outer dimension of the packed tensor; empty for identity."""
        return number_list(self.outer_dims_perm)

    @property
    def unpacked_type(self) -> TensorType[Attribute]:
        """The type of the unpacked tensor."""
        return verify_ranked_tensor(self.operands[0])

    @property
    def packed_type(self) -> TensorType[Attribute]:
        """The type of the packed tensor."""
        return verify_ranked_tensor(self.operands[1])

    def verify_(self) -> None:
        super().verify_()
        verify_destinations(self, 1, 1)
        markers = number_list(self.static_inner_tiles).count(DYNAMIC_INDEX)
        # Only the segment `inner_tiles` counts: a padding value of type index is no tile size.
        dynamic = values(self, "inner_tiles")
        if markers != len(dynamic):
            raise VerifyException(f"expected {markers} dynamic tile sizes, found {len(dynamic)}")
        self._verify_layout()

    def _verify_layout(self) -> None:
        unpacked, packed = self.unpacked_type.get_shape(), self.packed_type.get_shape()
        positions, tiles = self.tiled_dimensions, number_list(self.static_inner_tiles)
        rank = len(unpacked)
        if any(not 0 <= p < rank for p in positions) or len(set(positions)) < len(positions):
            raise VerifyException(
                f"invalid inner_dims_pos vector: expected distinct numbers below {rank}, found "
                f"{list(positions)}"
            )
        if len(tiles) != len(positions):
            raise VerifyException(
                "tiling factors must equal the number of dimensions to tile: there are "
                f"{len(tiles)} and {len(positions)}"
            )
        if 0 in tiles:
            raise VerifyException("invalid zero tile factor")
        permutation = self.outer_permutation or tuple(range(rank))
        if sorted(permutation) != list(range(rank)):
            raise VerifyException(
                f"invalid outer_dims_perm vector: {list(permutation)} is not a permutation of "
                f"{rank} dimensions"
            )
        if len(packed) != rank + len(tiles):
            raise VerifyException(
                "packed rank != (unpacked rank + num tiling factors), got "
                f"{len(packed)} != {rank + len(tiles)}"
            )
        expected = packed_shape(unpacked, positions, tiles, permutation)
        for index, (size, tile) in enumerate(zip(packed[rank:], tiles, strict=True)):
            if (tile == DYNAMIC_INDEX) != (size == DYNAMIC_INDEX) or size != tile:
                raise VerifyException(
                    "mismatch in inner tile sizes specified and shaped of tiled dimension in "
                    f"the packed type: tile {index} is {shape_text([tile])}, dimension "
                    f"{rank + index} is {shape_text([size])}"
                )
        for size, wanted in zip(packed[:rank], expected, strict=False):
            if DYNAMIC_INDEX not in (size, wanted) and size != wanted:
                expected_type = TensorType(self.packed_type.element_type, expected)
                raise VerifyException(
                    f"expected '{expected_type}' for the packed domain value, got "
                    f"'{self.packed_type}'"
                )


def packed_shape(
    unpacked: Sequence[int],
    positions: Sequence[int],
    tiles: Sequence[int],
    permutation: Sequence[int] = (),
) -> list[int]:
    """Return the shape of the packed tensor: the permuted outer dimensions, then the tile sizes.

    Unknown sizes are `DYNAMIC_INDEX`.
    """
    outer = list(unpacked)
    for position, tile in zip(positions, tiles, strict=True):
        size = outer[position]
        if DYNAMIC_INDEX in (size, tile):
            outer[position] = DYNAMIC_INDEX
        else:
            outer[position] = -(-size // tile)
    return [*(outer[source] for source in permutation or range(len(outer))), *tiles]


@irdl_op_definition
class PackOp(_PackingOp):
    """Pack a tensor into tiles; incomplete tiles are filled with the padding value.

    Without a padding value the verifier asks that static tile sizes divide the sizes of the source.
    """

    name = "linalg.pack"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    padding_value = opt_operand_def()
    inner_tiles = var_operand_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        inner_dims_pos: Sequence[int],
        inner_tiles: Sequence[int | SSAValue],
        outer_dims_perm: Sequence[int] = (),
        padding_value: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[source, dest, padding_value, split_list(inner_tiles)[1]],
            result_types=[dest.type],
            properties=_layout_properties(inner_dims_pos, inner_tiles, outer_dims_perm),
        )

    SYNTAX: ClassVar[Syntax] = (
        " $source( padding_value($padding_value^ : type($padding_value)))?" + PACKED_LAYOUT
    )

    def verify_(self) -> None:
        super().verify_()
        element = self.unpacked_type.element_type
        if self.padding_value is not None:
            if self.padding_value.type != element:
                raise VerifyException(
                    f"expected padding_value has '{element}' but got: '{self.padding_value.type}'"
                )
            return
        shape = self.unpacked_type.get_shape()
        for position, tile in zip(
            self.tiled_dimensions, number_list(self.static_inner_tiles), strict=True
        ):
            size = shape[position]
            if DYNAMIC_INDEX not in (size, tile) and size % tile:
                raise VerifyException(
                    "invalid tile factor or output size provided. Only full tiles are supported "
                    f"when padding_value is not set: dimension {position} is {size}, its tile "
                    f"{tile}"
                )


@irdl_op_definition
class UnpackOp(_PackingOp):
    """Unpack a tensor from tiles; elements that were padding are dropped."""

    name = "linalg.unpack"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    inner_tiles = var_operand_def(IndexType)

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        inner_dims_pos: Sequence[int],
        inner_tiles: Sequence[int | SSAValue],
        outer_dims_perm: Sequence[int] = (),
    ) -> None:
        super().__init__(
            operands=[source, dest, split_list(inner_tiles)[1]],
            result_types=[dest.type],
            properties=_layout_properties(inner_dims_pos, inner_tiles, outer_dims_perm),
        )

    @property
    def unpacked_type(self) -> TensorType[Attribute]:
        return verify_ranked_tensor(self.dest)

    @property
    def packed_type(self) -> TensorType[Attribute]:
        return verify_ranked_tensor(self.source)

    SYNTAX: ClassVar[Syntax] = " $source" + PACKED_LAYOUT


def _layout_properties(
    inner_dims_pos: Sequence[int],
    inner_tiles: Sequence[int | SSAValue],
    outer_dims_perm: Sequence[int],
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "inner_dims_pos": DenseArrayBase.from_list(i64, inner_dims_pos),
        "static_inner_tiles": index_array(inner_tiles),
    }
    if outer_dims_perm:
        properties["outer_dims_perm"] = DenseArrayBase.from_list(i64, outer_dims_perm)
    return properties


@irdl_op_definition
class SoftmaxOp(SyntaxOperation):
    """Compute exp(x - max(x)) / sum(exp(x - max(x))) along one dimension.

    Input and output have the same shape.
    """

    name = "linalg.softmax"

    input = operand_def()
    output = operand_def()
    res = var_result_def()
    dimension = prop_def(IntegerAttr)

    traits = traits_def(DestinationEffects())

    def __init__(self, input: SSAValue, output: SSAValue, dimension: int) -> None:
        super().__init__(
            operands=[input, output],
            result_types=[tensor_types([output])],
            properties={"dimension": IntegerAttr(dimension, i64)},
        )

    SYNTAX: ClassVar[Syntax] = (
        " attr-dict dimension(signed-int($dimension)) ins($input : type($input))"
        " outs($output : type($output))( -> result-types($res))?"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_destinations(self, 1)
        input_type, output_type = self.input.type, self.output.type
        if not isinstance(input_type, ShapedType) or not isinstance(output_type, ShapedType):
            raise VerifyException("expected an input and an output of ranked shape")
        if element_type(self.input.type) != element_type(self.output.type):
            raise VerifyException("expected input and output of the same element type")
        shape = input_type.get_shape()
        if not shapes_agree(shape, output_type.get_shape()):
            raise VerifyException(
                f"incompatible output shape: input is '{input_type}', output is '{output_type}'"
            )
        dimension = self.dimension.value.data
        if not 0 <= dimension < len(shape):
            raise VerifyException(
                f"incorrect dimension specified: {dimension} of a tensor of rank {len(shape)}"
            )

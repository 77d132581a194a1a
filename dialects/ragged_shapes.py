"""Tensors of rows of different lengths, in `iree_tensor_ext`.

`tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>` has three rows, of elements of 4 numbers, of
different lengths. They are stored one after another, as a `tensor<?x4xf32>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import base, irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from ..ir.syntax.assembly_format import values
from ..ir.syntax.attribute_format import FormattedAttribute
from ..ir.syntax.rows import PURE, Rows

Shaped = TensorType[Attribute] | MemRefType[Attribute]

row = Rows("iree_tensor_ext", {"shaped": base(TensorType) | base(MemRefType)})


@irdl_attr_definition
class RaggedShapeAttr(FormattedAttribute):
    """`<0>`: rows of different lengths along this dimension and the next."""

    name = "iree_tensor_ext.ragged_shape"
    dimension: IntegerAttr

    FORMAT: ClassVar[str] = "<$dimension:index>"


def _layouts(type_: Shaped) -> tuple[Attribute, ...]:
    """Return the attributes that may say that a type is ragged."""
    # The parser reads the one attribute of `memref<3x?xf32, #ragged>` as a memory space.
    if isinstance(type_, TensorType):
        return (type_.encoding,)
    return type_.layout, type_.memory_space


def _row_dimension(type_: Shaped) -> int | None:
    """Return the dimension that counts the rows; `None` if the type is not ragged."""
    for layout in _layouts(type_):
        if isinstance(layout, RaggedShapeAttr):
            return layout.dimension.value.data
    return None


def _shaped(value: SSAValue) -> Shaped:
    return cast(Shaped, value.type)


def _verify_cast(cast_: Operation) -> None:
    source, result = _shaped(values(cast_, "source")[0]), _shaped(cast_.results[0])
    lengths = _shaped(values(cast_, "column_lengths")[0]).get_shape()
    dimension = cast(IntegerAttr, cast_.properties["raggedDim"]).value.data
    rank, shape = source.get_num_dims(), result.get_shape()
    if not 0 <= dimension < rank:
        raise VerifyException(
            f"expected `ragged_dim` to be less than {rank}, i.e the rank of source, found "
            f"{dimension}"
        )
    if len(shape) != rank + 1:
        raise VerifyException(
            f"expected result rank to be {rank + 1}, i.e. one more than the source rank, but got "
            f"{len(shape)}"
        )
    if len(lengths) != 1:
        raise VerifyException("expected `column_lengths` to be of rank 1")
    rows = _row_dimension(result)
    if rows is None:
        kind = "an encoding" if isinstance(result, TensorType) else "a layout"
        raise VerifyException(
            f"expected result type to have {kind} attribute that implements the "
            "`SparseShapeAttrInterface`"
        )
    if rows != dimension:
        raise VerifyException(
            f"mismatch in specified `ragged_dim` value of {dimension} and `raggedRow` value in the "
            f"sparse encoding {rows}"
        )
    _verify_row_count(bool(values(cast_, "num_ragged_rows")), lengths[0], dimension, shape)
    if shape[dimension + 1] != DYNAMIC_INDEX:
        raise VerifyException(
            f"expected dimension {dimension + 1} of result, i.e. `ragged_dim` + 1, to be dynamic"
        )
    for index, size in enumerate(source.get_shape()):
        if index != dimension:
            _verify_kept_size(index, size, index + (index > dimension), shape)


def _verify_row_count(given: bool, lengths: int, dimension: int, shape: Sequence[int]) -> None:
    """Check the number of rows, which is one less than there are entries of `column_lengths`.

    `given` is whether an operand is the number; otherwise the type says it. Raises VerifyException.
    """
    if given:
        unexpected = "invalid to have static"
        if lengths != DYNAMIC_INDEX:
            raise VerifyException(
                f"{unexpected} dimensions for `column_lengths` when `num_ragged_rows` is dynamic"
            )
        if shape[dimension] != DYNAMIC_INDEX:
            raise VerifyException(
                f"{unexpected} value for dimension {dimension} of result when `num_ragged_rows` is "
                "specified as dynamic value"
            )
        return
    if lengths < 2:
        raise VerifyException(
            "expected shape of `column_lengths` to be static and greater than 1 when "
            "`num_ragged_rows` is unspecified, i.e. number of ragged rows is statically known"
        )
    if shape[dimension] != lengths - 1:
        raise VerifyException(
            f"expected shape of dimension {dimension} of result, i.e. the `ragged_dim`, to be "
            f"static and equal to {lengths - 1} when `num_ragged_rows` is unspecified, i.e number "
            "of ragged rows is statically known"
        )


def _verify_kept_size(index: int, size: int, position: int, shape: Sequence[int]) -> None:
    if shape[position] == size:
        return
    if size == DYNAMIC_INDEX:
        raise VerifyException(
            f"expected dimension {position} of result to be dynamic since the corresponding "
            f"dimension {index} in the source is dynamic"
        )
    found = "?" if shape[position] == DYNAMIC_INDEX else shape[position]
    raise VerifyException(
        f"expected shape of dimension {position} of result to match the shape of dimension "
        f"{index} of source, but got {found} and {size} respectively"
    )


def _verify_linearize(linearize: Operation) -> None:
    source, result = _shaped(values(linearize, "source")[0]), _shaped(linearize.results[0])
    rows = _row_dimension(source)
    if rows is None:
        raise VerifyException("expected source type to have a ragged tensor encoding")
    if not isinstance(_layouts(result)[0], NoneAttr):
        raise VerifyException("expected result type to have no encoding or identity layout")
    sizes, shape = source.get_shape(), result.get_shape()
    if not 0 <= rows < len(sizes) - 1:
        raise VerifyException(f"the source has no dimensions {rows} and {rows + 1}")
    if len(shape) != len(sizes) - 1:
        raise VerifyException(
            f"expected result rank to be {len(sizes) - 1} (source rank - number of sparse "
            f"dimensions + 1), but got {len(shape)}"
        )
    for index, size in enumerate(sizes):
        position = index - (index > rows)
        found = shape[position]
        if index in (rows, rows + 1) or DYNAMIC_INDEX in (size, found) or size == found:
            continue
        raise VerifyException(
            f"expected source dimension {index} with size {size} to be preserved in result "
            f"dimension {position} but got size {found}"
        )


ROWS = (
    row(
        "cast_to_ragged_shape",
        "source:shaped column_lengths:shaped num_ragged_rows? source_dynamic_dims*"
        " -> result:shaped | raggedDim:int",
        " $source ragged_dim(index($raggedDim)) column_lengths($column_lengths)"
        "( num_ragged_rows($num_ragged_rows))? attr-dict"
        " : (shaped($source_dynamic_dims, $source), type($column_lengths)) -> type($result)",
        verify=_verify_cast,
        traits=PURE,
    ),
    row(
        "linearize_ragged_dims",
        "source:shaped result_dynamic_dims* -> result:shaped",
        " $source attr-dict : type($source) -> shaped($result_dynamic_dims, $result)",
        verify=_verify_linearize,
        traits=PURE,
    ),
)

"""`tensor.expand_shape`, `reshape`, `gather` and `scatter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    UnrankedTensorType,
    i64,
)
from xdsl.dialects.tensor import CollapseShapeOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, number_list
from ...ir.index_lists import index_array, split_list
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE, SIGNLESS, Kind, Rows
from ...ir.tensor_types import element_count, shape_text, shapes_agree, sizes_agree, static_shape
from .checks import require_same_elements

_KINDS: Mapping[str, Kind] = {
    "numbers": DenseArrayBase.constr(i64),
    "shaped": BaseAttr(TensorType) | BaseAttr(UnrankedTensorType),
}
_row = Rows("tensor", _KINDS, "tensor", PURE)


@dataclass(frozen=True, slots=True)
class Reassociation:
    """`[[0, 1], [2]]`: lists of integers, printed without their types."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("reassociation",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes["reassociation"] = parser.parse_attribute()

    def print(self, printer: Printer, operation: Operation) -> None:
        def index(attribute: Attribute) -> None:
            number = attribute.value.data if isinstance(attribute, IntegerAttr) else attribute
            printer.print_string(str(number))

        def group(attribute: Attribute) -> None:
            with printer.in_square_brackets():
                printer.print_list(cast("ArrayAttr[Attribute]", attribute).data, index)

        groups = cast("ArrayAttr[Attribute]", operation.properties["reassociation"])
        with printer.in_square_brackets():
            printer.print_list(groups.data, group)


def reassociation_attribute(groups: Sequence[Sequence[int]]) -> ArrayAttr[Attribute]:
    """Return groups of dimensions as the attribute `reassociation`."""
    return ArrayAttr([ArrayAttr([IntegerAttr(each, i64) for each in group]) for group in groups])


def collapse_shape(
    source: SSAValue, groups: Sequence[Sequence[int]], result_type: Attribute
) -> CollapseShapeOp:
    """Return a `tensor.collapse_shape` that merges each group of dimensions into one."""
    return CollapseShapeOp.create(
        operands=[source],
        result_types=[result_type],
        properties={"reassociation": reassociation_attribute(groups)},
    )


@irdl_op_definition
class ExpandShapeOp(SyntaxOperation):
    """Split each dimension of a tensor into a group of dimensions.

    The verifier compares the output shape with the result type; a group with a dynamic size needs a
    dynamic source dimension.
    """

    name = "tensor.expand_shape"

    src = operand_def(TensorType)
    dynamic_output_shape = var_operand_def(IndexType)
    reassociation = prop_def(ArrayAttr)
    static_output_shape = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(
        self,
        src: SSAValue,
        output_shape: Sequence[int | SSAValue],
        reassociation: Sequence[Sequence[int]],
        result_type: Attribute,
    ) -> None:
        super().__init__(
            operands=[src, split_list(output_shape)[1]],
            result_types=[result_type],
            properties={
                "reassociation": reassociation_attribute(reassociation),
                "static_output_shape": index_array(output_shape),
            },
        )

    SYNTAX: ClassVar[Syntax] = (
        " $src ",
        Reassociation(),
        " output_shape dynamic-list($dynamic_output_shape, $static_output_shape)"
        " attr-dict : type($src) into type($result)",
    )

    def verify_(self) -> None:
        super().verify_()
        sizes, shape = number_list(self.static_output_shape), static_shape(self.result)
        if len(sizes) != len(shape):
            raise VerifyException(
                "expected number of static shape dims to be equal to the output rank "
                f"({len(shape)}) but found {len(sizes)} inputs instead"
            )
        if sizes.count(DYNAMIC_INDEX) != len(self.dynamic_output_shape):
            raise VerifyException(
                f"expected {sizes.count(DYNAMIC_INDEX)} dynamic sizes, found "
                f"{len(self.dynamic_output_shape)}"
            )
        for dimension, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
            if size >= 0 and extent >= 0 and size != extent:
                raise VerifyException(
                    f"expected output shape dim {dimension} to be {extent}, found {size}"
                )
        self._verify_dynamic_dimensions()

    def _verify_dynamic_dimensions(self) -> None:
        """Check that a source dimension is dynamic if a dimension of its group is."""
        source, shape = static_shape(self.src), static_shape(self.result)
        groups = cast(Sequence[ArrayAttr[IntegerAttr[IndexType]]], self.reassociation.data)
        for dimension, group in enumerate(groups):
            parts = [shape[part.value.data] for part in group.data]
            if dimension < len(source) and source[dimension] >= 0 and any(p < 0 for p in parts):
                raise VerifyException(
                    f"expected dimension {dimension} of collapsed type to be dynamic since one or "
                    "more of the corresponding dimensions in the expanded type is dynamic"
                )


def _verify_reshape(operation: Operation) -> None:
    source, shape = operation.operands
    result = operation.results[0]
    if element_type(source.type) != element_type(result.type):
        raise VerifyException(
            "element types of source and destination tensor types should be the same"
        )
    lengths = static_shape(shape)
    _require_indices(shape)
    if len(lengths) != 1:
        raise VerifyException("expected the shape to be a tensor of rank 1")
    if not isinstance(result.type, TensorType):
        return
    extents = static_shape(result)
    if lengths[0] < 0:
        raise VerifyException(
            "cannot use shape operand with dynamic length to reshape to statically-ranked "
            "tensor type"
        )
    if lengths[0] != len(extents):
        raise VerifyException(
            "length of shape operand differs from the result's tensor rank: "
            f"{lengths[0]} and {len(extents)}"
        )
    before = element_count(static_shape(source)) if isinstance(source.type, TensorType) else -1
    after = element_count(extents)
    if not sizes_agree(before, after):
        raise VerifyException(
            "source and destination tensor should have the same number of elements: "
            f"{before} and {after}"
        )


ReshapeOp = _row(
    "reshape",
    "source:shaped shape:tensor -> result:shaped",
    " $source($shape) attr-dict : (type($source), type($shape)) -> type($result)",
    verify=_verify_reshape,
    doc="""Reshape a tensor to a shape that is given as a tensor of rank 1.

    Element types and, if static, the numbers of elements must agree.
    """,
)


def _require_indices(value: SSAValue) -> None:
    if not SIGNLESS.verifies(element_type(value.type)):
        raise VerifyException(
            f"expected a tensor of signless integers or index values, but got '{value.type}'"
        )


def _verify_indexed(
    operation: Operation, whole: SSAValue, indices: SSAValue, part: SSAValue, key: str
) -> None:
    """Check that `part` has the slices of `whole` at `indices`, rank-reduced or not."""
    require_same_elements(whole, part)
    dimensions = number_list(operation.properties[key])
    shape, index_shape = static_shape(whole), static_shape(indices)
    if not dimensions:
        raise VerifyException(f"{key} must be non-empty")
    if list(dimensions) != sorted(set(dimensions)) or not all(
        0 <= each < len(shape) for each in dimensions
    ):
        raise VerifyException(
            f"{key} must be strictly increasing values below the rank {len(shape)}, found "
            f"{list(dimensions)}"
        )
    if not index_shape or not shapes_agree(index_shape[-1:], (len(dimensions),)):
        raise VerifyException(
            f"{key} length {len(dimensions)} must match the last dimension of the indices, "
            f"which are '{indices.type}'"
        )
    _require_indices(indices)
    ones = [1 if i in dimensions else size for i, size in enumerate(shape)]
    dropped = [size for i, size in enumerate(shape) if i not in dimensions]
    expected = ((*index_shape[:-1], *ones), (*index_shape[:-1], *dropped))
    if not any(shapes_agree(static_shape(part), each) for each in expected):
        raise VerifyException(
            f"result type mismatch: expected shape ({shape_text(expected[0])}) or its "
            f"rank-reduced variant ({shape_text(expected[1])}), found "
            f"({shape_text(static_shape(part))})"
        )


def _verify_gather(gather: Operation) -> None:
    source, indices = gather.operands
    _verify_indexed(gather, source, indices, gather.results[0], "gather_dims")


def _verify_scatter(scatter: Operation) -> None:
    if "unique" not in scatter.properties:
        raise VerifyException("requires 'unique' attribute to be set")
    source, dest, indices = scatter.operands
    _verify_indexed(scatter, dest, indices, source, "scatter_dims")
    result = scatter.results[0].type
    if dest.type != result:
        raise VerifyException(f"expected the result to be '{dest.type}', found '{result}'")


GatherOp = _row(
    "gather",
    "source indices -> result | gather_dims:numbers unique:unit?",
    " $source[$indices] gather_dims(numbers($gather_dims))( unique$unique)?"
    " attr-dict : signature($source, $indices, $result)",
    verify=_verify_gather,
    doc="""Gather slices of a tensor, one for each index tuple of `indices`.

    `gather_dims`, strictly increasing, are the dimensions that a tuple indexes. The result has the
    leading dimensions of `indices`, followed by the slice, in which these have size 1 or are
    dropped.
    """,
)

ScatterOp = _row(
    "scatter",
    "source dest indices -> result | scatter_dims:numbers unique:unit?",
    " $source into $dest[$indices] scatter_dims(numbers($scatter_dims))( unique$unique)?"
    " attr-dict : signature($source, $dest, $indices, $result)",
    verify=_verify_scatter,
    doc="""Insert slices into a tensor, one for each index tuple of `indices`.

    `scatter_dims`, strictly increasing, are the dimensions that a tuple indexes. `unique` must be
    set. The result has the type of `dest`.
    """,
)

"""`tensor.gather` and `tensor.scatter`: slices of a tensor by lists of indices."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import number_list
from ..ir.tensor_types import shape_text, shapes_agree, static_shape
from .tensor_checks import require_same_elements


class _IndexedOp(IRDLOperation):
    """What `gather` and `scatter` have in common."""

    @staticmethod
    def parse_dimensions(parser: Parser, keyword: str) -> dict[str, Attribute]:
        """Parse `gather_dims([0, 1]) unique`."""
        parser.parse_keyword(keyword)
        with parser.in_parens():
            numbers = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
        properties: dict[str, Attribute] = {keyword: DenseArrayBase.from_list(i64, numbers)}
        if parser.parse_optional_keyword("unique"):
            properties["unique"] = UnitAttr()
        return properties

    def print_dimensions(self, printer: Printer, keyword: str) -> None:
        """Print what `parse_dimensions` reads, the attributes and the type."""
        numbers = ", ".join(map(str, number_list(self.properties[keyword])))
        printer.print_string(f" {keyword}([{numbers}])")
        if "unique" in self.properties:
            printer.print_string(" unique")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    def verify_indexed(self, whole: SSAValue, indices: SSAValue, part: SSAValue, key: str) -> None:
        """Check that `part` has the slices of `whole` that `indices` name."""
        require_same_elements(whole, part)
        dimensions = number_list(self.properties[key])
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
        ones = [1 if i in dimensions else size for i, size in enumerate(shape)]
        dropped = [size for i, size in enumerate(shape) if i not in dimensions]
        expected = ((*index_shape[:-1], *ones), (*index_shape[:-1], *dropped))
        if not any(shapes_agree(static_shape(part), each) for each in expected):
            raise VerifyException(
                f"result type mismatch: expected shape ({shape_text(expected[0])}) or its "
                f"rank-reduced variant ({shape_text(expected[1])}), found "
                f"({shape_text(static_shape(part))})"
            )


@irdl_op_definition
class GatherOp(_IndexedOp):
    """Slices of a tensor, one for each list of indices."""

    name = "tensor.gather"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    gather_dims = prop_def(DenseArrayBase.constr(i64))
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        source = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            indices = parser.parse_unresolved_operand()
        properties = cls.parse_dimensions(parser, "gather_dims")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function_type = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(
                [source, indices], function_type.inputs.data, position
            ),
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            printer.print_ssa_value(self.indices)
        self.print_dimensions(printer, "gather_dims")

    def verify_(self) -> None:
        self.verify_indexed(self.source, self.indices, self.result, "gather_dims")


@irdl_op_definition
class ScatterOp(_IndexedOp):
    """A tensor in which some slices, one for each list of indices, are others."""

    name = "tensor.scatter"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = operand_def(TensorType)
    scatter_dims = prop_def(DenseArrayBase.constr(i64))
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("into")
        dest = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            indices = parser.parse_unresolved_operand()
        properties = cls.parse_dimensions(parser, "scatter_dims")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function_type = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(
                [source, dest, indices], function_type.inputs.data, position
            ),
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        with printer.in_square_brackets():
            printer.print_ssa_value(self.indices)
        self.print_dimensions(printer, "scatter_dims")

    def verify_(self) -> None:
        if self.unique is None:
            raise VerifyException("requires 'unique' attribute to be set")
        self.verify_indexed(self.dest, self.indices, self.source, "scatter_dims")
        if self.dest.type != self.result.type:
            raise VerifyException(
                f"expected the result to be '{self.dest.type}', found '{self.result.type}'"
            )

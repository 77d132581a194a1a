"""`chlo.scan`: a body that is applied along a dimension and carries values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import integer
from ...ir.tensor_types import shapes_agree
from ..stablehlo.types import types_agree

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_OPTIONS = ("is_associative", "is_reverse", "scan_dim_size")


@irdl_op_definition
class ScanOp(IRDLOperation):
    """Apply the body to the slices of `inputs` along a dimension, one after the other.

    The body takes slices and carried values, which begin as `inits`; it returns slices of `outputs`
    and the next carried values. `carries` are the last ones. The verifier compares the types of
    slices and carried values inside and outside.
    """

    name = "chlo.scan"

    inputs = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    carries = var_result_def(TensorType)
    dimension = prop_def(IntegerAttr)
    scan_dim_size = opt_prop_def(IntegerAttr)
    is_reverse = opt_prop_def(IntegerAttr)
    is_associative = opt_prop_def(IntegerAttr)
    body = region_def("single_block")
    irdl_options = (
        AttrSizedOperandSegments(as_property=True),
        AttrSizedResultSegments(as_property=True),
    )
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def extent(self) -> int:
        """The number of slices; negative if it is dynamic."""
        dimension = integer(self, "dimension")
        arrays = (*self.inputs, *self.outputs)
        sizes = [cast("TensorType[Any]", each.type).get_shape()[dimension] for each in arrays]
        return max([integer(self, "scan_dim_size", -1), *sizes])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        names = parser.Delimiter.PAREN, parser.parse_unresolved_operand
        inputs = parser.parse_comma_separated_list(*names)
        parser.parse_keyword("inits")
        inits = parser.parse_comma_separated_list(*names)
        parser.parse_keyword("dimension")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension": IntegerAttr(parser.parse_integer(), 64)}
        found = parser.parse_optional_attr_dict_with_keyword()
        attributes = dict(found.data) if found is not None else {}
        properties |= {name: attributes.pop(name) for name in _OPTIONS if name in attributes}
        region = parser.parse_region()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        results = types.outputs.data
        if len(results) < len(inits):
            parser.raise_error(f"expected a result for each of {len(inits)} inits", position)
        properties |= {
            name: DenseArrayBase.from_list(i32, [count, len(inits)])
            for name, count in zip(_SEGMENTS, (len(inputs), len(results) - len(inits)), strict=True)
        }
        operands = parser.resolve_operands([*inputs, *inits], types.inputs.data, position)
        return cls.create(
            operands=operands,
            result_types=results,
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        for values, word in ((self.inputs, " inits "), (self.inits, " dimension=")):
            with printer.in_parens():
                printer.print_list(values, printer.print_ssa_value)
            printer.print_string(word)
        printer.print_string(str(integer(self, "dimension")))
        options = {name: self.properties[name] for name in _OPTIONS if name in self.properties}
        shown = dict(sorted({**self.attributes, **options}.items()))
        if shown:
            printer.print_string(" attributes")
            printer.print_op_attributes(shown)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    def verify_(self) -> None:
        if not self.inputs and not self.outputs:
            raise VerifyException("expected at least one input or output")
        if len(self.inits) != len(self.carries):
            raise VerifyException(
                f"expected a result for each of {len(self.inits)} inits, got {len(self.carries)}"
            )
        slices = [self._slice(each.type) for each in self.inputs]
        block = self.body.block
        _agree(
            "arguments of the body",
            [each.type for each in block.args],
            [*slices, *(each.type for each in self.inits)],
        )
        last = block.last_op
        if last is None or last.name != "stablehlo.return":
            raise VerifyException("expected the body to end in 'stablehlo.return'")
        slices = [self._slice(each.type) for each in self.outputs]
        carried = [each.type for each in self.carries]
        _agree("values that the body returns", last.operand_types, [*slices, *carried])
        _agree("carried values", [each.type for each in self.inits], carried)

    def _slice(self, type_: Attribute) -> Attribute:
        """Return the type of a slice. Raises VerifyException for a tensor without the dimension."""
        tensor = cast("TensorType[Any]", type_)
        sizes = list(tensor.get_shape())
        dimension = integer(self, "dimension")
        if not 0 <= dimension < len(sizes):
            raise VerifyException(f"expected {type_} to have the dimension {dimension}")
        if not shapes_agree((sizes.pop(dimension),), (self.extent,)):
            raise VerifyException(
                f"expected {type_} to have {self.extent} elements in dimension {dimension}"
            )
        return TensorType(tensor.element_type, sizes)


def _agree(what: str, found: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    """Check that types are equal up to dynamic sizes. Raises VerifyException."""
    if not types_agree(found, expected):
        texts = [", ".join(map(str, types)) or "nothing" for types in (expected, found)]
        raise VerifyException(f"expected {what} of types {texts[0]}, got {texts[1]}")

"""Shared parts of linalg ops: attributes, memory effects, operand syntax, the base class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, i32, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, get_effects

from ...ir.attribute_access import number_list
from ...ir.regions import inner_operations
from ...ir.syntax.keyword_attributes import KeywordAttribute
from ...ir.syntax.region_headers import print_types
from ...ir.syntax.typed_values import parse_typed_operands, print_typed_operands
from .checks import only_block, verify_structured
from .named_ops import IteratorType
from .structured_view import structured_view

# Attributes --------------------------------------------------------------------------------------


@irdl_attr_definition
class IteratorTypeAttr(KeywordAttribute[IteratorType]):
    """`#linalg.iterator_type<parallel>`."""

    name = "linalg.iterator_type"
    WORDS = tuple(IteratorType)


@irdl_attr_definition
class TypeFunctionAttr(KeywordAttribute[str]):
    """`#linalg.type_fn<cast_unsigned>`: how a named op converts integers to a wider type."""

    name = "linalg.type_fn"
    WORDS = ("cast_signed", "cast_unsigned")


@irdl_attr_definition
class ElementwiseKindAttr(KeywordAttribute[str]):
    """`#linalg.elementwise_kind<exp>`: the scalar function of `linalg.elementwise`."""

    name = "linalg.elementwise_kind"
    WORDS = (
        *("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round", "sqrt", "rsqrt"),
        *("square", "tanh", "erf", "add", "sub", "mul", "div", "div_unsigned", "max_signed"),
        *("min_signed", "max_unsigned", "min_unsigned", "powf", "select"),
    )


# Effects -----------------------------------------------------------------------------------------

_READ_AND_WRITE = frozenset(
    (EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE))
)


class DestinationEffects(MemoryEffect):
    """Reads and writes of memref operands; on tensors only the effects of the body."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        if any(isinstance(operand.type, MemRefType) for operand in op.operands):
            return _READ_AND_WRITE
        effects: set[EffectInstance] = set()
        for inner in inner_operations(op):
            inner_effects = get_effects(inner)
            if inner_effects is None:
                return None
            effects |= inner_effects
        return effects


# Operand syntax ----------------------------------------------------------------------------------


@cache
def segment_sizes(*sizes: int) -> DenseArrayBase:
    """Return the property `operandSegmentSizes`."""
    return DenseArrayBase.from_list(i32, sizes)


def parse_operand_group(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    """Parse `ins(%a, %b : type, type)`; return the operands, none if the keyword is absent."""
    position = parser.pos
    if not parser.parse_optional_keyword(keyword):
        return ()
    parser.parse_punctuation("(")
    unresolved, types = parse_typed_operands(parser)
    parser.parse_punctuation(")")
    if len(types) != len(unresolved):
        parser.raise_error(
            f"{keyword} has {len(unresolved)} operands but {len(types)} types", position
        )
    return parser.resolve_operands(unresolved, types, position)


def parse_input_and_output(parser: Parser) -> Sequence[SSAValue]:
    """Parse `ins(%a : type) outs(%b : type)`; return the two operands."""
    position = parser.pos
    operands = (*parse_operand_group(parser, "ins"), *parse_operand_group(parser, "outs"))
    if len(operands) != 2:
        parser.raise_error(
            f"expected 1 input and 1 output, but found {len(operands)} operands", position
        )
    return operands


def print_operand_group(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    """Print ` ins(%a, %b : type, type)`; print nothing if there are no values."""
    if values:
        printer.print_string(f" {keyword}(")
        print_typed_operands(printer, values)
        printer.print_string(")")


def print_result_types(printer: Printer, operation: Operation) -> None:
    """Print ` -> type` or ` -> (type, type)`; print nothing if there are no results."""
    types = operation.result_types
    if not types:
        return
    printer.print_string(" -> ")
    print_types(printer, types)


def tensor_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """Return the result types of an op with the outputs `values`; memrefs have no result."""
    types: list[Attribute] = [value.type for value in values]
    return [each for each in types if not isinstance(each, MemRefType)]


def print_sorted_attributes(
    printer: Printer, attributes: Mapping[str, Attribute], hidden: Sequence[str] = ()
) -> None:
    """Print ` {a = ..., b = ...}`, sorted by name as MLIR does, without the names in `hidden`."""
    shown = {name: attributes[name] for name in sorted(attributes) if name not in hidden}
    printer.print_op_attributes(shown)


def parse_numbers(parser: Parser) -> DenseArrayBase:
    """Parse ` = [1, 0]`."""
    parser.parse_punctuation("=")
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, numbers)


def print_numbers(printer: Printer, keyword: str, numbers: Attribute | None) -> None:
    """Print ` keyword = [1, 0]`."""
    printer.print_string(f" {keyword} = [{', '.join(map(str, number_list(numbers)))}]")


# The base class ----------------------------------------------------------------------------------


class StructuredOp(IRDLOperation):
    """Base of the ops that are loop nests over `inputs` and `outputs`."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(DestinationEffects())

    HIDDEN_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "operandSegmentSizes",
        "linalg.memoized_indexing_maps",
    )
    """Attributes that the custom syntax does not print."""

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        result_types: Sequence[Attribute] | None,
        properties: Mapping[str, Attribute],
        body: Region,
    ) -> None:
        """Build the op; if `result_types` is `None`, each output that is a tensor has a result."""
        # xDSL's builder is bypassed: it recomputes which operand is in which segment, and takes as
        # long as everything else together.
        Operation.__init__(
            self,
            operands=[*inputs, *outputs],
            result_types=tensor_types(outputs) if result_types is None else result_types,
            properties={
                **properties,
                "operandSegmentSizes": segment_sizes(len(inputs), len(outputs)),
            },
            regions=[body],
        )

    @property
    def loop_count(self) -> int | None:
        """The number of loops; `None` if the op is too malformed to tell."""
        view = structured_view(self)
        return None if view is None else len(view.iterators)

    def verify_(self) -> None:
        only_block(self.body)
        verify_structured(self, len(self.inputs))

"""Shared parts of linalg ops: attributes, memory effects, verification, operand syntax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import auto
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, ShapedType, TensorType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
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
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ...ir.attribute_access import element_type, number_list
from ...ir.regions import inner_operations
from ...ir.syntax.keyword_attributes import KeywordAttribute
from ...ir.syntax.region_headers import print_types
from .named_ops import IteratorType
from .structured_view import StructuredView, given_maps, structured_view

# Attributes --------------------------------------------------------------------------------------


class TypeFunction(StrEnum):
    """How a named op converts integers to a wider type."""

    SIGNED = "cast_signed"
    UNSIGNED = "cast_unsigned"


class ElementwiseKind(StrEnum):
    """The scalar functions of `linalg.elementwise`."""

    EXP = auto()
    LOG = auto()
    ABS = auto()
    CEIL = auto()
    FLOOR = auto()
    NEGF = auto()
    RECIPROCAL = auto()
    ROUND = auto()
    SQRT = auto()
    RSQRT = auto()
    SQUARE = auto()
    TANH = auto()
    ERF = auto()
    ADD = auto()
    SUB = auto()
    MUL = auto()
    DIV = auto()
    DIV_UNSIGNED = auto()
    MAX_SIGNED = auto()
    MIN_SIGNED = auto()
    MAX_UNSIGNED = auto()
    MIN_UNSIGNED = auto()
    POWF = auto()
    SELECT = auto()


@irdl_attr_definition
class IteratorTypeAttr(KeywordAttribute[IteratorType]):
    """`#linalg.iterator_type<parallel>`."""

    name = "linalg.iterator_type"
    WORDS = tuple(IteratorType)


@irdl_attr_definition
class TypeFunctionAttr(KeywordAttribute[TypeFunction]):
    """`#linalg.type_fn<cast_unsigned>`."""

    name = "linalg.type_fn"
    WORDS = tuple(TypeFunction)


@irdl_attr_definition
class ElementwiseKindAttr(KeywordAttribute[ElementwiseKind]):
    """`#linalg.elementwise_kind<exp>`."""

    name = "linalg.elementwise_kind"
    WORDS = tuple(ElementwiseKind)


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
    unresolved = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    if len(types) != len(unresolved):
        parser.raise_error(
            f"{keyword} has {len(unresolved)} operands but {len(types)} types", position
        )
    return parser.resolve_operands(unresolved, types, position)


def print_operand_group(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    """Print ` ins(%a, %b : type, type)`; print nothing if there are no values."""
    if values:
        printer.print_string(f" {keyword}(")
        printer.print_list(values, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list([value.type for value in values], printer.print_attribute)
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


# Verification ------------------------------------------------------------------------------------


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


def verify_structured(operation: Operation, input_count: int) -> None:
    """Check the rules that all structured ops share, with MLIR's error messages.

    Raises VerifyException.
    """
    verify_destinations(operation, input_count)
    maps = given_maps(operation)
    if maps is not None and len(maps) != len(operation.operands):
        raise VerifyException(
            f"expected the number of indexing_map ({len(maps)}) to be equal to the number of "
            f"input/output operands ({len(operation.operands)})"
        )
    view = structured_view(operation)
    if view is None:
        raise VerifyException("has no loops, indexing maps and body that fit its operands")
    _verify_maps(view)
    _verify_shapes(view)
    verify_body(operation, view.body, len(view.outputs))


def verify_destinations(
    operation: Operation, input_count: int, output_count: int | None = None
) -> None:
    """Check that each output tensor has a result of its type, and tensors and memrefs do not mix.

    The outputs follow the inputs. All remaining operands are outputs unless `output_count` is
    given.
    """
    operands = operation.operands
    end = len(operands) if output_count is None else input_count + output_count
    for index, output in enumerate(operands[input_count:end], start=input_count):
        if not isinstance(output.type, TensorType | MemRefType):
            raise VerifyException(
                f"operand #{index} must be a ranked tensor or memref, but got '{output.type}'"
            )
    tensors = [operand for operand in operands if isinstance(operand.type, TensorType)]
    if tensors and any(isinstance(operand.type, MemRefType) for operand in operands):
        raise VerifyException("expected to have pure tensor or buffer semantics")
    outputs = [operand for operand in operands[input_count:end] if operand in tensors]
    if len(operation.results) != len(outputs):
        raise VerifyException(
            f"expected the number of tensor results ({len(operation.results)}) to be equal to "
            f"the number of output tensors ({len(outputs)})"
        )
    for index, (output, result) in enumerate(
        zip(outputs, operation.results, strict=True), start=input_count
    ):
        if output.type != result.type:
            raise VerifyException(
                f"expected type of operand #{index} ('{output.type}') to match type of "
                f"corresponding result ('{result.type}')"
            )


def _verify_maps(view: StructuredView) -> None:
    loops = len(view.iterators)
    operands = (*view.inputs, *view.outputs)
    for index, (operand, indexing_map) in enumerate(zip(operands, view.maps, strict=True)):
        if indexing_map.num_symbols:
            raise VerifyException(f"unexpected symbols in indexing_map #{index}")
        if indexing_map.num_dims != loops:
            raise VerifyException(
                f"expected indexing_map #{index} to have {loops} dim(s) to match the number "
                "of loops"
            )
        operand_type = operand.type
        rank = len(operand_type.get_shape()) if isinstance(operand_type, ShapedType) else 0
        if rank != len(indexing_map.results):
            raise VerifyException(
                f"expected operand #{index} rank ({rank}) to match the result rank of "
                f"indexing_map ({len(indexing_map.results)})"
            )


def _verify_shapes(view: StructuredView) -> None:
    """Check that operands determine the size of every loop and contain every element accessed."""
    sizes: list[int | None] = [None] * len(view.iterators)
    named: set[int] = set()
    shapes = [
        (index, indexing_map, operand.type.get_shape())
        for index, (operand, indexing_map) in enumerate(
            zip((*view.inputs, *view.outputs), view.maps, strict=True)
        )
        if isinstance(operand.type, ShapedType)
    ]
    for index, indexing_map, shape in shapes:
        for dimension, (result, size) in enumerate(zip(indexing_map.results, shape, strict=True)):
            if not isinstance(result, AffineDimExpr):
                continue
            loop = result.position
            named.add(loop)
            if size < 0:
                continue
            known = sizes[loop]
            if known is None:
                sizes[loop] = size
            elif known != size:
                raise VerifyException(
                    f"inferred input/output operand #{index} has shape's dimension "
                    f"#{dimension} to be {known}, but found {size}"
                )
    if len(named) < len(sizes):
        missing = next(loop for loop in range(len(sizes)) if loop not in named)
        raise VerifyException(
            f"invalid indexing maps are non-invertible: no operand has a dimension of loop "
            f"d{missing} alone"
        )
    for index, indexing_map, shape in shapes:
        for dimension, (result, size) in enumerate(zip(indexing_map.results, shape, strict=True)):
            if not isinstance(result, AffineDimExpr):
                _verify_window(indexing_map, index, dimension, result, size, sizes)


def _verify_window(
    indexing_map: AffineMap,
    index: int,
    dimension: int,
    result: AffineExpr,
    size: int,
    sizes: Sequence[int | None],
) -> None:
    loops = {each.position for each in result.dfs() if isinstance(each, AffineDimExpr)}
    if size <= 0 or any(not sizes[loop] for loop in loops):
        return
    first = result.eval([0] * len(sizes), [])
    last = result.eval([(each or 1) - 1 for each in sizes], [])
    if min(first, last) < 0:
        raise VerifyException(
            f"unexpected result less than 0 at expression #{dimension} in {indexing_map}"
        )
    if max(first, last) >= size:
        raise VerifyException(
            f"inferred input/output operand #{index} has shape's dimension #{dimension} to be "
            f"greater than or equal to {max(first, last) + 1}, but found {size}"
        )


def verify_body(operation: Operation, body: Block, output_count: int) -> None:
    """Check that the body takes one element per operand and yields one value per output."""
    operands = operation.operands
    if len(body.args) != len(operands):
        raise VerifyException(
            "expected as many non-induction variable region arguments as the number of "
            f"input/output operands ({len(operands)}), but found {len(body.args)}"
        )
    for index, (operand, argument) in enumerate(zip(operands, body.args, strict=True)):
        wanted = element_type(operand.type)
        if argument.type != wanted:
            raise VerifyException(
                f"expected type of bb argument #{index} ('{argument.type}') to match element or "
                f"self type of the corresponding operand ('{wanted}')"
            )
    terminator = body.last_op
    if terminator is None or terminator.name != "linalg.yield":
        raise VerifyException("expected its body to end in 'linalg.yield'")
    yielded = terminator.operands
    if len(yielded) != output_count:
        raise VerifyException(
            f"expected number of yield values ({len(yielded)}) to match the number of inits / "
            f"outs operands of the enclosing LinalgOp ({output_count})"
        )
    for index, (value, output) in enumerate(
        zip(yielded, operands[len(operands) - output_count :], strict=True)
    ):
        wanted = element_type(output.type)
        if value.type != wanted:
            raise VerifyException(
                f"type of yield operand {index + 1} ('{value.type}') doesn't match the element "
                f"type of the enclosing {operation.name} op ('{wanted}')"
            )


def only_block(region: Region) -> Block:
    """Return the single block of a body. Raises VerifyException unless there is exactly one."""
    blocks = list(region.blocks)
    if len(blocks) != 1:
        raise VerifyException(f"expected a body of one block, but found {len(blocks)}")
    return blocks[0]

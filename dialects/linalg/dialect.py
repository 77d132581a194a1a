"""The linalg dialect of MLIR 22. It replaces the one of xDSL, which has a third of the ops.

The classes of the named structured ops are generated from the rows of `named_ops.py`. As in MLIR,
the scalar body is a region that the custom syntax omits and the generic syntax prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ShapedType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Dialect, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, number_list
from ...ir.dialect_extension import variant
from ...ir.syntax.region_headers import parse_arrow_types
from .base import (
    ElementwiseKindAttr,
    IteratorTypeAttr,
    StructuredOp,
    TypeFunctionAttr,
    parse_operand_group,
    print_operand_group,
    print_result_types,
    print_sorted_attributes,
    segment_sizes,
)
from .bodies import BodyError, IndexOp, YieldOp, body_template, clone_body
from .checks import OTHER_BODY
from .named_ops import CONTRACT, ELEMENTWISE, NAMED_OPS, BodyKind, IteratorType, NamedOp
from .packing import PackOp, SoftmaxOp, UnpackOp
from .region_ops import BroadcastOp, MapOp, ReduceOp, TransposeOp
from .structured_view import given_maps, is_unsigned_cast

IndexingMaps = ArrayAttr[AffineMapAttr]


@cache
def _default_maps(row: NamedOp, rank: int) -> IndexingMaps:
    """Return the default indexing maps of a row, cached: one attribute for all ops of a kind."""
    return ArrayAttr(map(AffineMapAttr, row.maps(rank)))


_ITERATOR_TYPES = {each: IteratorTypeAttr(each) for each in IteratorType}

_HIDDEN_MAPS = (*StructuredOp.HIDDEN_ATTRIBUTES, "indexing_maps")


@irdl_op_definition
class GenericOp(StructuredOp):
    """A structured op with explicit indexing maps, iterator types and body."""

    name = "linalg.generic"

    indexing_maps = prop_def(IndexingMaps)
    iterator_types = prop_def(ArrayAttr[IteratorTypeAttr])
    doc = opt_prop_def(StringAttr)
    library_call = opt_prop_def(StringAttr)

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        body: Region,
        indexing_maps: Sequence[AffineMap],
        iterators: Sequence[IteratorType] | None = None,
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        """Build the op; without `iterators` all loops are parallel."""
        if iterators is None:
            iterators = [IteratorType.PARALLEL] * indexing_maps[0].num_dims
        properties = {
            "indexing_maps": ArrayAttr(map(AffineMapAttr, indexing_maps)),
            "iterator_types": ArrayAttr(map(_ITERATOR_TYPES.__getitem__, iterators)),
        }
        super().__init__(inputs, outputs, result_types, properties, body)

    # Custom parser: one dictionary in front of the operands holds several properties.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        attributes = _parse_trait(parser)
        properties: dict[str, Attribute] = {}
        for name in ("indexing_maps", "iterator_types"):
            value = attributes.pop(name, None)
            if not isinstance(value, ArrayAttr):
                parser.raise_error(f"expected '{name}' attribute", position)
            properties[name] = cast("ArrayAttr[Attribute]", value)
        names = cast("ArrayAttr[Attribute]", properties["iterator_types"])
        iterators: list[IteratorTypeAttr] = []
        for iterator in names:
            if isinstance(iterator, StringAttr):
                if iterator.data not in set(IteratorType):
                    parser.raise_error(f"unexpected iterator_type ({iterator.data})", position)
                iterator = IteratorTypeAttr(IteratorType(iterator.data))  # noqa: PLW2901
            if not isinstance(iterator, IteratorTypeAttr):
                parser.raise_error(f"unexpected iterator_type ({iterator})", position)
            iterators.append(iterator)
        properties["iterator_types"] = ArrayAttr(iterators)
        for name in ("doc", "library_call"):
            value = attributes.pop(name, None)
            if value is not None:
                properties[name] = value
        inputs = parse_operand_group(parser, "ins")
        outputs = parse_operand_group(parser, "outs")
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        body = parser.parse_region()
        properties["operandSegmentSizes"] = segment_sizes(len(inputs), len(outputs))
        return cls.create(
            operands=(*inputs, *outputs),
            result_types=parse_arrow_types(parser),
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        shown = dict(self.properties)
        shown["iterator_types"] = ArrayAttr(
            StringAttr(each.data.value) for each in self.iterator_types
        )
        print_sorted_attributes(printer, shown, self.HIDDEN_ATTRIBUTES)
        print_operand_group(printer, "ins", self.inputs)
        print_operand_group(printer, "outs", self.outputs)
        if self.attributes:
            printer.print_string(" attrs =")
            print_sorted_attributes(printer, self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body)
        print_result_types(printer, self)


def _parse_trait(parser: Parser) -> dict[str, Attribute]:
    """Parse `{indexing_maps = ...}`, or an attribute alias of such a dictionary."""
    position = parser.pos
    trait = parser.parse_optional_attribute()
    if not isinstance(trait, DictionaryAttr):
        parser.raise_error("expected a dictionary or an alias of one", position)
    return dict(trait.data)


class NamedStructuredOp(StructuredOp):
    """Base of the ops whose maps and body are implied by their name."""

    ROW: ClassVar[NamedOp]

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        result_types: Sequence[Attribute] | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        properties = dict(properties or {})
        body = self.new_body(inputs, outputs, properties)
        super().__init__(inputs, outputs, result_types, properties, body)

    @classmethod
    def new_body(
        cls,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        properties: Mapping[str, Attribute],
    ) -> Region:
        """Return the implied body for operands of these types.

        Raises BodyError if the number of operands is wrong or the op is not defined for their
        element types.
        """
        return clone_body(*cls.computation(inputs, outputs, properties))

    @classmethod
    def computation(
        cls,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        properties: Mapping[str, Attribute],
    ) -> tuple[NamedOp, tuple[Attribute, ...], str, bool]:
        """Return the arguments of `body_template` for this op.

        Raises BodyError if the number of operands is wrong.
        """
        row = cls.row_for(properties)
        if (len(inputs), len(outputs)) != (row.input_count, 1):
            raise BodyError(
                f"expected {row.input_count} inputs and 1 output, but found {len(inputs)} and "
                f"{len(outputs)}"
            )
        types = tuple(element_type(value.type) for value in (*inputs, *outputs))
        return row, types, "", is_unsigned_cast(properties.get("cast"))

    def prints_generically(self) -> bool:
        """Return whether the custom syntax would lose the maps."""
        read = dict(self.properties)
        self.add_default_maps(read, self.outputs)
        return read != self.properties

    def _has_implied_body(self) -> bool:
        try:
            computation = self.computation(self.inputs, self.outputs, self.properties)
            expected = body_template(*computation).parent
        except BodyError:
            return False
        return expected is not None and self.body.is_structurally_equivalent(expected)

    @classmethod
    def row_for(cls, properties: Mapping[str, Attribute]) -> NamedOp:
        """Return the row of the table for an op with these properties."""
        return cls.ROW

    @classmethod
    def parse_leading(cls, parser: Parser, properties: dict[str, Attribute]) -> None:
        """Parse the syntax between the name and the attribute dictionary."""
        if cls.ROW.custom_maps and parser.parse_optional_keyword("indexing_maps"):
            properties["indexing_maps"] = parse_maps(parser)

    def print_leading(self, printer: Printer) -> None:
        """Print the syntax between the name and the attribute dictionary."""
        maps = given_maps(self)
        if maps is not None and maps != self.ROW.maps(0):
            print_maps(printer, self)

    # Custom parser: the name implies the body and the default maps.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        properties: dict[str, Attribute] = {}
        cls.parse_leading(parser, properties)
        attributes = parser.parse_optional_attr_dict()
        for name in cls.get_irdl_definition().properties:
            if name in attributes:
                properties[name] = attributes.pop(name)
        inputs = parse_operand_group(parser, "ins")
        outputs = parse_operand_group(parser, "outs")
        try:
            body = cls.new_body(inputs, outputs, properties)
        except BodyError as error:
            parser.raise_error(f"'{cls.name}' op {error}", position)
        cls.add_default_maps(properties, outputs)
        properties["operandSegmentSizes"] = segment_sizes(len(inputs), len(outputs))
        return cls.create(
            operands=(*inputs, *outputs),
            result_types=parse_arrow_types(parser),
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    @classmethod
    def add_default_maps(
        cls, properties: dict[str, Attribute], outputs: Sequence[SSAValue]
    ) -> None:
        """Set `indexing_maps` to its default where MLIR stores it although the text omits it."""
        if cls.ROW.custom_maps and "indexing_maps" not in properties:
            properties["indexing_maps"] = _default_maps(cls.ROW, 0)

    def print(self, printer: Printer) -> None:
        self.print_leading(printer)
        shown = {**self.properties, **self.attributes}
        print_sorted_attributes(printer, shown, self.HIDDEN_ATTRIBUTES)
        print_operand_group(printer, "ins", self.inputs)
        print_operand_group(printer, "outs", self.outputs)
        print_result_types(printer, self)

    def verify_(self) -> None:
        row = self.row_for(self.properties)
        if (len(self.inputs), len(self.outputs)) != (row.input_count, 1):
            raise VerifyException(
                f"expected {row.input_count} inputs and 1 output, but found "
                f"{len(self.inputs)} and {len(self.outputs)}"
            )
        if row.name == "fill" and isinstance(self.inputs[0].type, ShapedType):
            raise VerifyException("expected op with scalar input")
        for name in ("strides", "dilations") if row.windows else ():
            self._verify_window_numbers(name)
        if row.custom_maps:
            self._verify_custom_maps()
        super().verify_()
        if not self._has_implied_body():
            raise VerifyException(OTHER_BODY)

    def _verify_window_numbers(self, name: str) -> None:
        values = self.properties.get(name)
        if values is None:
            return
        count, numbers = self.row_for(self.properties).windows, number_list(values)
        value_type = getattr(values, "type", None)
        if len(numbers) != count or getattr(value_type, "element_type", None) != i64:
            raise VerifyException(
                f"attribute '{name}' failed to satisfy constraint: 64-bit signless int elements "
                f"attribute of shape [{count}]"
            )
        if 0 in numbers:
            raise VerifyException(f"attribute '{name}' must not contain 0, found {list(numbers)}")

    def _verify_custom_maps(self) -> None:
        """Check that each map of a matmul only permutes or drops dimensions of the default map."""
        maps = given_maps(self)
        if maps is None:
            return
        for index, (given, default) in enumerate(zip(maps, self.ROW.maps(0), strict=False)):
            if not set(given.results) <= set(default.results):
                raise VerifyException(
                    f"unexpected dim expression in map result: indexing_map #{index} may only "
                    f"permute or drop the dimensions of {default}, but is {given}"
                )


def parse_maps(parser: Parser) -> IndexingMaps:
    """Parse ` = [affine_map<...>, ...]`."""
    parser.parse_punctuation("=")
    position = parser.pos
    value = parser.parse_attribute()
    if isinstance(value, ArrayAttr):
        maps = cast("ArrayAttr[Attribute]", value)
        if all(isinstance(each, AffineMapAttr) for each in maps):
            return cast(IndexingMaps, maps)
    parser.raise_error("expected an array of affine maps", position)


def print_maps(printer: Printer, operation: StructuredOp) -> None:
    """Print ` indexing_maps = [...]`."""
    printer.print_string(" indexing_maps = ")
    printer.print_attribute(operation.properties["indexing_maps"])


@irdl_op_definition
class ContractOp(NamedStructuredOp):
    """Multiply two inputs and sum over the loops that the output's map does not use.

    The maps must be projected permutations.
    """

    name = "linalg.contract"
    ROW: ClassVar[NamedOp] = CONTRACT

    indexing_maps = prop_def(IndexingMaps)
    cast = opt_prop_def(TypeFunctionAttr)

    @classmethod
    def parse_leading(cls, parser: Parser, properties: dict[str, Attribute]) -> None:
        parser.parse_keyword("indexing_maps")
        properties["indexing_maps"] = parse_maps(parser)

    def print_leading(self, printer: Printer) -> None:
        print_maps(printer, self)

    HIDDEN_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        *StructuredOp.HIDDEN_ATTRIBUTES,
        "indexing_maps",
    )

    def verify_(self) -> None:
        maps = [each.data for each in self.indexing_maps]
        for index, each in enumerate(maps):
            dimensions = [r for r in each.results if isinstance(r, AffineDimExpr)]
            if len(set(dimensions)) < len(each.results):
                raise VerifyException(
                    f"indexing_map #{index} is not a projected permutation: {each}"
                )
        super().verify_()
        left, right, out = (each.used_dims() for each in maps)
        for dimension in range(maps[0].num_dims):
            inputs = (dimension in left) + (dimension in right)
            if inputs < (1 if dimension in out else 2):
                raise VerifyException(
                    f"iteration space dim at index {dimension} is neither a contracting dim nor of "
                    "parallel iteration type"
                )
        if not left & right - out:
            raise VerifyException("'indexing_maps' do not specify a contracting dimension")


@irdl_op_definition
class ElementwiseOp(NamedStructuredOp):
    """Apply a scalar function elementwise; the maps may transpose or broadcast operands."""

    name = "linalg.elementwise"
    ROW: ClassVar[NamedOp] = ELEMENTWISE

    kind = prop_def(ElementwiseKindAttr)
    indexing_maps = opt_prop_def(IndexingMaps)

    HIDDEN_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        *StructuredOp.HIDDEN_ATTRIBUTES,
        "indexing_maps",
        "kind",
    )

    @classmethod
    def row_for(cls, properties: Mapping[str, Attribute]) -> NamedOp:
        kind = properties.get("kind")
        return _ELEMENTWISE_ROWS[kind.data] if isinstance(kind, ElementwiseKindAttr) else cls.ROW

    @classmethod
    def parse_leading(cls, parser: Parser, properties: dict[str, Attribute]) -> None:
        if parser.parse_optional_keyword("kind") is not None:
            parser.parse_punctuation("=")
            properties["kind"] = parser.parse_attribute()
        else:
            # Versions of MLIR after 22 print `<add>`.
            properties["kind"] = ElementwiseKindAttr(ElementwiseKindAttr.parse_parameter(parser))
        if parser.parse_optional_keyword("indexing_maps"):
            properties["indexing_maps"] = parse_maps(parser)

    def print_leading(self, printer: Printer) -> None:
        printer.print_string(" kind=")
        printer.print_attribute(self.kind)
        maps = given_maps(self) or ()
        if any(each != AffineMap.identity(each.num_dims) for each in maps):
            print_maps(printer, self)

    @classmethod
    def add_default_maps(
        cls, properties: dict[str, Attribute], outputs: Sequence[SSAValue]
    ) -> None:
        if "indexing_maps" not in properties:
            row = cls.row_for(properties)
            shape = getattr(outputs[0].type, "get_shape", tuple[int])()
            properties["indexing_maps"] = _default_maps(row, len(shape))


def _elementwise_row(kind: str) -> NamedOp:
    """Return the row of a kind; kinds without a named op have two inputs."""
    named = NAMED_OPS.get(f"linalg.{kind}")
    subscripts = "*, * -> *" if named is None else named.subscripts
    return NamedOp("elementwise", None, subscripts, BodyKind.FUNCTION, function=kind)


_ELEMENTWISE_ROWS = {kind: _elementwise_row(kind) for kind in ElementwiseKindAttr.WORDS}


@cache
def _prototype(windows: bool, has_cast: bool, custom_maps: bool) -> type[NamedStructuredOp]:
    """Return the class of the named ops that have this combination of optional properties."""
    members: dict[str, object] = {
        "name": "linalg.named",
        "__annotations__": {"HIDDEN_ATTRIBUTES": "ClassVar"},
    }
    if windows:
        members["strides"] = opt_prop_def(DenseIntOrFPElementsAttr)
        members["dilations"] = opt_prop_def(DenseIntOrFPElementsAttr)
    if has_cast:
        members["cast"] = opt_prop_def(TypeFunctionAttr)
    if custom_maps:
        members["indexing_maps"] = opt_prop_def(IndexingMaps)
        members["HIDDEN_ATTRIBUTES"] = _HIDDEN_MAPS
    return irdl_op_definition(type("NamedOpPrototype", (NamedStructuredOp,), members))


NAMED_CLASSES: dict[str, type[NamedStructuredOp]] = {
    name: variant(_prototype(row.windows > 0, row.has_cast, row.custom_maps), name, {"ROW": row})
    for name, row in NAMED_OPS.items()
}
"""The classes of the named structured ops by full name."""

Linalg = Dialect(
    "linalg",
    [
        *NAMED_CLASSES.values(),
        BroadcastOp,
        ContractOp,
        ElementwiseOp,
        GenericOp,
        IndexOp,
        MapOp,
        PackOp,
        ReduceOp,
        SoftmaxOp,
        TransposeOp,
        UnpackOp,
        YieldOp,
    ],
    [ElementwiseKindAttr, IteratorTypeAttr, TypeFunctionAttr],
)

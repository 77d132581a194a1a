"""Parse constants, locations, shapes, affine maps and resources.

xDSL lacks some of MLIR's spellings of these, or misreads them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, count
from typing import Any, cast
from weakref import WeakValueDictionary, finalize

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    AnyFloat,
    AnyTensorType,
    AnyUnrankedTensorType,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NoneAttr,
    RankedStructure,
    StringAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr, AffineMap, AffineSet
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..nesting_limits import MAXIMUM_AFFINE_DEPTH, MAXIMUM_CONSTANT_ELEMENTS
from ..tensor_types import VerifiableTensorEncoding
from .affine_text import DIVISIONS, AffineValueParser, SemiAffineParser
from .dense_literals import Bits, BitsElement, from_stored, representable
from .quick_parser import QuickParser
from .source import Source

_RESOURCE = re.compile(r'([\w$.-]++)\s*+:\s*+"(0x[^"]*+)"')


_handles: WeakValueDictionary[tuple[str, str], StringAttr] = WeakValueDictionary()
"""The handle attribute of each resource, by dialect and key. All uses share one object."""


class ResourceParser(QuickParser):
    """The part of the parser that reads resources."""

    source: Source

    def __init__(self, context: Context, content: str, name: str) -> None:
        super().__init__(context, content, name)
        self.external_resources: dict[str, dict[str, str]] = {}
        self._resource_keys: dict[tuple[str, str], str] = {}
        self._kept_handles: list[StringAttr | None] = []

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        """Read the name of a resource and return the key under which it is stored.

        The store is global to the process. If another file's resource has the same name but
        different data, the new one is renamed; equal data shares the entry. A resource that was
        read here is removed with the parser and the last attribute that refers to it.
        """
        name = self.parse_identifier(context_msg=" for resource handle")
        key = self._resource_keys.get((dialect_name, name))
        if key is None:
            data = self._resource_texts.get(name, "")
            names = chain((name,), (f"{name}_{number}" for number in count()))
            key = next(known for known in names if interface.lookup(known) in (None, data))
            if interface.lookup(key) is None:
                interface.declare_resource(key)
                if data:
                    interface.parse_resource(key, data)
                handle = _handles[dialect_name, key] = StringAttr(key)
                finalize(handle, interface._blob_storage.pop, key, None)  # pyright: ignore[reportPrivateUsage]
            self._kept_handles.append(_handles.get((dialect_name, key)))
            self._resource_keys[dialect_name, name] = key
        return key

    def _parse_builtin_dense_resource_attr(self) -> DenseResourceAttr:
        parsed = super()._parse_builtin_dense_resource_attr()
        handle = _handles.get(("builtin", parsed.resource_handle.data), parsed.resource_handle)
        return DenseResourceAttr(handle, parsed.type)

    @cached_property
    def _resource_texts(self) -> dict[str, str]:
        """Return the text of each resource in the file's metadata, read once for all of them."""
        start = self.source.content.rfind("{-#")
        entries = _RESOURCE.finditer(self.source.content, start) if start >= 0 else ()
        texts: dict[str, str] = {}
        for entry in entries:
            texts.setdefault(entry[1], entry[2])
        return texts

    def _parse_external_resources(self) -> None:
        """Keep the metadata `{name: {key: "text"}}`, which holds a reproducer's pipeline."""

        def parse_entry() -> tuple[str, str]:
            key = self.parse_identifier()
            self.parse_punctuation(":")
            token = self._current_token
            if token.kind is MLIRTokenKind.STRING_LIT:
                return key, self.parse_str_literal()
            self._consume_token()
            return key, token.text

        def parse_group() -> None:
            name = self.parse_identifier()
            self.parse_punctuation(":")
            entries = self.parse_comma_separated_list(self.Delimiter.BRACES, parse_entry)
            self.external_resources[name] = dict(entries)

        self.parse_comma_separated_list(self.Delimiter.BRACES, parse_group)


_BITS = ("0x", "0X")

_ABOUT_THE_WHOLE = ("a constant has", "Expected at least one", "Shape mismatch")
"""Prefixes of error messages that concern a constant as a whole and not one element."""


_ELEMENTS = IntegerType | IndexType | AnyFloat | ComplexType
"""The valid element types of constants."""


class LiteralParser(ResourceParser):
    """The part of the parser that reads constants, numbers, shapes, affine maps and locations."""

    # Dense and sparse constants

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """Read `<...> : type` after `dense`; report errors of the whole constant at its start."""
        # `dense` is the word that was read last.
        start = self.source.content.rfind("dense", 0, self.pos)
        with self._placing_errors(start):
            if self._next_is_text():
                return self._parse_stored_elements(start, type)
            return super().parse_dense_int_or_fp_elements_attr(type)

    def _next_is_text(self) -> bool:
        content = self.source.content
        return content[self.pos + 1 :].lstrip()[:1] == '"' if content[self.pos] == "<" else False

    def _parse_stored_elements(
        self, start: int, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        self.parse_punctuation("<")
        position = self.pos
        digits = self.parse_str_literal()
        try:
            data = bytes.fromhex(digits[2:]) if digits.startswith("0x") else None
        except ValueError:
            data = None
        if data is None or not (digits == "0x" or digits[2:].isalnum()):
            message = "expected string containing hex digits starting with `0x`"
            self.raise_error(message, position)
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
        literal_type = self._parse_dense_literal_type() if type is None else type
        elements = from_stored(data, literal_type)
        if elements is None:
            message = f"elements hex data size is invalid for provided type: '{literal_type}'"
            self.raise_error(message, start)
        return DenseIntOrFPElementsAttr(literal_type, BytesAttr(elements))

    def _parse_optional_builtin_parametrized_attr(self) -> Attribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT and token.text == "sparse":
            self._consume_token()
            return self._parse_sparse(token.start)
        return super()._parse_optional_builtin_parametrized_attr()

    def _parse_sparse(self, start: int) -> DenseIntOrFPElementsAttr:
        """Read `<indices, values> : type` after `sparse` into the equivalent dense constant."""
        self.parse_punctuation("<", " in sparse attribute")
        indices: tuple[list[AttrParser._TensorLiteralElement], list[int]] = ([], [0])
        values = indices
        if self.parse_optional_punctuation(">") is None:
            indices = self._parse_tensor_literal()
            self.parse_punctuation(",", " in sparse attribute")
            values = self._parse_tensor_literal()
            self.parse_punctuation(">", " in sparse attribute")
        self.parse_punctuation(":", " in sparse attribute")
        with self._placing_errors(start):
            literal_type = self._parse_dense_literal_type()
        shape = literal_type.get_shape()
        element = literal_type.element_type
        numbers = [each.to_int(self, allow_negative=False) for each in indices[0]]
        places = _places(numbers, indices[1], shape)
        found: list[Any] = [each.to_type(self, element) for each in values[0]]
        if places is not None and not values[1]:
            found *= len(places)
        if places is None or len(found) != len(places):
            self.raise_error(f"indices and values do not fit '{literal_type}'", start)
        zero: Any = (0, 0) if isinstance(element, ComplexType) else 0
        dense: list[Any] = [zero] * math.prod(shape)
        for place, value in zip(places, found, strict=True):
            dense[place] = value
        return cast(Any, DenseIntOrFPElementsAttr.from_list)(literal_type, dense)

    def _parse_dense_literal_type(self) -> RankedStructure[Any]:
        position = self.pos
        # xDSL's own method builds the constraint for each literal, half of the time of a short one.
        found: Any = self.expect(self.parse_optional_type, "expected the type of a constant")
        if not (
            isinstance(found, TensorType | VectorType | MemRefType)
            and isinstance(cast(Any, found).element_type, _ELEMENTS)
        ):
            kinds = "a tensor, vector or memref of integers, floats or complex numbers"
            self.raise_error(f"a constant has type '{found}', expected {kinds}")
        literal_type = cast(RankedStructure[Any], found)
        if DYNAMIC_INDEX in literal_type.get_shape():
            self.raise_error(f"a constant has type '{found}', expected a static shape")
        if math.prod(literal_type.get_shape()) > MAXIMUM_CONSTANT_ELEMENTS:
            self.raise_error(
                f"a constant may have at most {MAXIMUM_CONSTANT_ELEMENTS} elements", position
            )
        self._require_known_bits(literal_type.element_type, position)
        return literal_type

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        if any(bits in element.span.text for bits in _BITS):
            return BitsElement(element.is_negative, element.value, element.span)
        return element

    def _parse_optional_complex(self) -> Any:
        """Read `(1.0, 0x7FC00000)`, whose parts may have different spellings."""
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return None
        opening = self._consume_token().span
        start, source = opening.start, opening.input
        parts: list[int | float] = []
        for closing in (",", ")"):
            value, span = self._parse_bool_int_or_float()
            parts.append(Bits(value) if span.text.startswith(_BITS) else value)
            end = self._current_token.span.end
            self.parse_punctuation(closing)
        if len({type(part) for part in parts} - {Bits}) > 1:
            self.raise_error("Complex value must be either (float, float) or (int, int)")
        return tuple(parts), Span(start, end, source)

    # Numbers

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """Read a number with its optional type, if there is one."""
        start = self.pos
        with self._placing_errors(start, ("Integer value",)):
            return self._parse_optional_number(start)

    def _parse_optional_number(self, start: int) -> IntegerAttr | FloatAttr | None:
        text = self._current_token.text
        if text in ("true", "false") or text.startswith(_BITS):
            return super().parse_optional_builtin_int_or_float_attr()
        number = self.parse_optional_number()
        if number is None:
            return None
        if self._current_token.kind is not MLIRTokenKind.COLON:
            return FloatAttr(number, 64) if isinstance(number, float) else IntegerAttr(number, 64)
        position = self.pos
        kind = self._parse_attribute_type()
        if isinstance(kind, AnyFloat):
            self._require_known_bits(kind, position)
            return FloatAttr(representable(float(number), kind), kind)
        if isinstance(number, float):
            self.raise_error("Floating point value is not valid for integer type.", start)
        try:
            return IntegerAttr(number, cast(Any, kind))
        except (TypeError, AttributeError):
            self.raise_error("Invalid type given for integer or float attribute.", position)

    def _require_known_bits(self, element: Attribute, position: int) -> None:
        """Raise ParseError for a float type whose bits xDSL does not know."""
        if isinstance(element, AnyFloat):
            try:
                _ = element.compile_time_size
            except NotImplementedError:
                self.raise_error(f"constants of type {element} are not supported", position)

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.pos
        self.parse_punctuation("<", " in dense array")
        element = self.parse_attribute()
        if not isinstance(element, AnyFloat) or self.parse_optional_punctuation(">"):
            self._resume_from(start)
            return super()._parse_builtin_densearray_attr()
        self._require_known_bits(element, start)
        self.parse_punctuation(":", " in dense array")
        numbers: list[Any] = self.parse_comma_separated_list(
            self.Delimiter.NONE,
            lambda: self._parse_tensor_literal_element().to_type(self, element),
        )
        self.parse_punctuation(">", " in dense array")
        rounded = [representable(float(number), element) for number in numbers]
        return DenseArrayBase.from_list(element, rounded)

    # Shapes

    def _parse_tensor_attrs(self) -> AnyTensorType | AnyUnrankedTensorType:
        start = self.pos
        type_ = super()._parse_tensor_attrs()
        encoding = type_.encoding if isinstance(type_, TensorType) else None
        if isinstance(encoding, VerifiableTensorEncoding):
            with self._placing_errors(start, about=("",)):
                encoding.verify_encoding(cast("TensorType[Attribute]", type_))
        return type_

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Read a dimension of a shape. Raises ParseError if it exceeds 64 bits, as in MLIR."""
        start = self.pos
        size = super().parse_shape_dimension(allow_dynamic)
        if size >= 1 << 63:
            self.raise_error("invalid dimension: it does not fit into 64 bits", start)
        return size

    def parse_shape(self) -> tuple[list[int] | None, Attribute]:
        """Read a ranked shape, or `*xf32` for an unranked one (`None` for the dimensions)."""
        if self.parse_optional_punctuation("*") is None:
            return self.parse_ranked_shape()
        found = self._current_token.text
        if self._parse_optional_shape_delimiter() is None:
            self.raise_error(f"expected 'x' after '*', found '{found}'")
        found = self._current_token.text
        element = self.parse_optional_type()
        if element is None:
            self.raise_error(f"expected the type of elements, found '{found}'")
        return None, element

    def parse_ranked_shape(self) -> tuple[list[int], Attribute]:
        """Read dimensions and an element type, such as `2x?xf32`."""
        dimensions = self.parse_dimension_list()
        found = self._current_token.text
        if dimensions and self._parse_optional_shape_delimiter() is None:
            self.raise_error(f"expected 'x' after a dimension, found '{found}'")
        found = self._current_token.text
        element = self.parse_optional_type()
        if element is None:
            self.raise_error(f"expected a dimension or the type of elements, found '{found}'")
        return dimensions, element

    # Affine maps

    def parse_affine_map(self) -> AffineMap:
        start = self.pos
        read = SemiAffineParser(self._parser_state).parse_affine_map()
        self._check_expressions(read.results, start)
        return read

    def parse_affine_set(self) -> AffineSet:
        start = self.pos
        read = SemiAffineParser(self._parser_state).parse_affine_set()
        sides = [side for one in read.constraints for side in (one.lhs, one.rhs)]
        self._check_expressions(sides, start)
        return read

    def _check_expressions(self, expressions: Sequence[AffineExpr], start: int) -> None:
        """Raise ParseError for too deep expressions, and for divisors <= 0, which MLIR accepts."""
        level, depth = expressions, 0
        while operators := [each for each in level if isinstance(each, AffineBinaryOpExpr)]:
            level = [side for each in operators for side in (each.lhs, each.rhs)]
            depth += 1
            if depth > MAXIMUM_AFFINE_DEPTH:
                message = (
                    f"an affine expression may have at most {MAXIMUM_AFFINE_DEPTH} operators in "
                    "a row; compute a part of it with an op of its own"
                )
                self.raise_error(message, start, self.pos)
        for inner in chain.from_iterable(expression.dfs() for expression in expressions):
            if not isinstance(inner, AffineBinaryOpExpr) or inner.kind not in DIVISIONS.values():
                continue
            if isinstance(inner.rhs, AffineConstantExpr) and inner.rhs.value <= 0:
                message = f"divides by {inner.rhs.value}; divisors must be greater than 0"
                self.raise_error(message, start, self.pos)

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        """Read `[%i + 1, symbol(%n)]`. Values become dimensions, as in MLIR; xDSL's are symbols."""
        start = self.pos
        reader = AffineValueParser(self)
        results = reader.parse_expressions(self.Delimiter.SQUARE)
        self._check_expressions(results, start)
        found, operands = reader.map_to(results)
        return found, [self.resolve_operand(operand, IndexType()) for operand in operands]

    # Locations

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT or token.text != "fused":
            location = super()._parse_location()
            if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to"):
                # Only the start of a range (`to 4:7` or `to :7`) is kept.
                self.parse_optional_integer(allow_boolean=False, allow_negative=False)
                self.parse_punctuation(":")
                self.parse_integer(allow_boolean=False, allow_negative=False)
            return location
        self._consume_token()
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<"):
            metadata = self.parse_attribute()
            self.parse_punctuation(">", " after the metadata of a fused location")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(parts), metadata)

    # Places of errors

    @contextmanager
    def _placing_errors(
        self, start: int, about: tuple[str, ...] = _ABOUT_THE_WHOLE
    ) -> Generator[None]:
        """Report errors whose messages start with a prefix in `about` at `start` instead."""
        try:
            yield
        except (ParseError, VerifyException) as error:
            message = error.msg if isinstance(error, ParseError) else str(error)
            if not message.startswith(about):
                raise
            raise ParseError(Span(start, start, self.source), message) from error


def _places(numbers: Sequence[int], found: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """Return the linear positions of a list of indices; `None` if they do not fit the shape."""
    rank = len(shape)
    if (len(found) == 1 and rank == 1) or not found:
        rows = [[number] for number in numbers]
    elif len(found) == 2 and found[1] == rank:
        rows = [numbers[at : at + rank] for at in range(0, len(numbers), rank)]
    else:
        return [] if found == [0] else None
    if any(
        len(row) != rank or any(index >= size for index, size in zip(row, shape, strict=True))
        for row in rows
    ):
        return None
    places: list[int] = []
    for row in rows:
        place = 0
        for index, size in zip(row, shape, strict=True):
            place = place * size + index
        places.append(place)
    return places

"""StableHLO's types, the dimension numbers of convolutions, and bounds of dynamic sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.dialect_extension import plain_type
from ...ir.syntax.attribute_format import FormattedAttribute, Kind, list_of
from ...ir.syntax.structs import parse_fields
from ...ir.tensor_types import BoundedSize, VerifiableTensorEncoding, shapes_agree

# Dimensions of convolutions ----------------------------------------------------------------------

DimensionRoles = tuple[str | int, ...]
"""The role of each dimension: a letter, or the number of a spatial dimension."""


def _parse_roles(parser: AttrParser, letters: str) -> DimensionRoles:
    """Parse `[b, 0, 1, f]`: the letters, and the numbers of the spatial dimensions."""

    def role() -> str | int:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if number is not None:
            return number
        if parser.parse_optional_punctuation("?"):
            return "?"
        return parser.parse_identifier()

    position = parser.pos
    roles = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, role))
    numbers = sorted(each for each in roles if isinstance(each, int))
    words = sorted(each for each in roles if isinstance(each, str) and each != "?")
    if numbers != list(range(len(numbers))) or words != sorted(letters):
        wanted = " and ".join(letters)
        parser.raise_error(f"expected {wanted}, and each spatial dimension once", position)
    return roles


_RAW_ROLES = (
    ("input", {"b": "batch", "f": "feature"}),
    ("kernel", {"i": "input_feature", "o": "output_feature"}),
    ("output", {"b": "batch", "f": "feature"}),
)
"""The three tensors of a convolution in the raw form: a prefix, and the roles by their letters."""


def _parse_raw(parser: AttrParser) -> tuple[DimensionRoles, DimensionRoles, DimensionRoles]:
    """Parse `input_batch_dimension = 0, input_spatial_dimensions = [1, 2], ...>`.

    Raises ParseError unless each dimension of a tensor has one role.
    """
    position = parser.pos
    names = [
        f"{tensor}_{role}"
        for tensor, roles in _RAW_ROLES
        for role in (*(f"{each}_dimension" for each in roles.values()), "spatial_dimensions")
    ]
    found = parse_fields(parser, dict.fromkeys(names, AttrParser.parse_attribute))

    def numbers(name: str) -> list[int]:
        value = found.get(name)
        listed = cast("ArrayAttr[Attribute]", value) if isinstance(value, ArrayAttr) else [value]
        return [each.value.data for each in listed if isinstance(each, IntegerAttr)]

    def roles_of(tensor: str, roles: dict[str, str]) -> DimensionRoles:
        places: list[tuple[int, str | int]] = [
            *(
                (at, letter)
                for letter, role in roles.items()
                for at in numbers(f"{tensor}_{role}_dimension")
            ),
            *((at, number) for number, at in enumerate(numbers(f"{tensor}_spatial_dimensions"))),
        ]
        places.sort(key=lambda place: place[0])
        if [at for at, _ in places] != list(range(len(places))) or len(places) < len(roles):
            parser.raise_error(f"expected one role for each dimension of the {tensor}", position)
        return tuple(role for _, role in places)

    first, second, third = (roles_of(*each) for each in _RAW_ROLES)
    return first, second, third


@irdl_attr_definition
class ConvAttr(Data[tuple[DimensionRoles, DimensionRoles, DimensionRoles]]):
    """`#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`."""

    name = "stablehlo.conv"

    @classmethod
    def parse_roles(
        cls, parser: AttrParser
    ) -> tuple[DimensionRoles, DimensionRoles, DimensionRoles]:
        """Parse the text without the angle brackets."""
        first = _parse_roles(parser, "bf")
        parser.parse_keyword("x")
        second = _parse_roles(parser, "io")
        parser.parse_punctuation("->")
        return first, second, _parse_roles(parser, "bf")

    @classmethod
    def parse_parameter(
        cls, parser: AttrParser
    ) -> tuple[DimensionRoles, DimensionRoles, DimensionRoles]:
        parser.parse_punctuation("<")
        if parser.parse_optional_keyword("raw"):
            return _parse_raw(parser)
        roles = cls.parse_roles(parser)
        parser.parse_punctuation(">")
        return roles

    def text(self) -> str:
        """Return the text without the angle brackets."""
        first, second, third = (f"[{', '.join(map(str, each))}]" for each in self.data)
        return f"{first}x{second}->{third}"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text()}>")

    def positions(self, which: int, letters: str) -> tuple[int, ...]:
        """Return the positions of `letters`, then those of the spatial dimensions in order.

        `which` selects input, kernel or output. Raises ValueError if a letter is missing.
        """
        roles = self.data[which]
        spatial = sorted(role for role in roles if isinstance(role, int))
        return tuple(roles.index(each) for each in (*letters, *spatial))


@irdl_attr_definition
class BoundsAttr(Data[tuple[int | None, ...]], VerifiableTensorEncoding):
    """`#stablehlo.bounds<3, ?>`: upper bounds of the dynamic sizes of a type."""

    name = "stablehlo.bounds"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int | None, ...]:
        return _parse_bounds(parser, parser.Delimiter.ANGLE)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{_bounds_text(self.data)}>")

    def verify_encoding(self, tensor: TensorType[Attribute]) -> None:
        """Check that the bounds are those of the dynamic sizes. Raises VerifyException."""
        sizes = tensor.get_shape()
        if len(self.data) != len(sizes) or any(
            bound is not None and size >= 0 for bound, size in zip(self.data, sizes, strict=True)
        ):
            raise VerifyException(
                f"expected a bound or '?' for each dynamic size, '?' for others, got {tensor}"
            )


def tensor_sizes(tensor: TensorType[Any]) -> tuple[int, ...]:
    """Return the sizes of a type; dynamic ones are negative, those with a bound `BoundedSize`."""
    sizes, bounds = tensor.get_shape(), tensor.encoding
    if not isinstance(bounds, BoundsAttr):
        return tuple(sizes)
    pairs = zip(sizes, bounds.data, strict=True)
    return tuple(size if bound is None else BoundedSize(bound) for size, bound in pairs)


def types_agree(found: Sequence[Attribute], expected: Sequence[Attribute]) -> bool:
    """Return whether types are equal up to dynamic sizes."""
    return len(found) == len(expected) and all(map(_agrees, found, expected))


def _agrees(one: Attribute, other: Attribute) -> bool:
    if not (isinstance(one, TensorType) and isinstance(other, TensorType)):
        return one == other
    left, right = cast("TensorType[Any]", one), cast("TensorType[Any]", other)
    sizes = (tensor_sizes(left), tensor_sizes(right))
    return left.element_type == right.element_type and shapes_agree(*sizes)


@irdl_attr_definition
class TypeExtensionsAttr(Data[tuple[int | None, ...]]):
    """`#stablehlo.type_extensions<bounds = [3, ?]>`: the older spelling of `BoundsAttr`."""

    name = "stablehlo.type_extensions"

    def __new__(cls, data: tuple[int | None, ...]) -> Any:
        """Return a `BoundsAttr`, so that types in both spellings are equal."""
        return BoundsAttr(data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int | None, ...]:
        with parser.in_angle_brackets():
            parser.parse_keyword("bounds")
            parser.parse_punctuation("=")
            return _parse_bounds(parser, parser.Delimiter.SQUARE)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<bounds = [{_bounds_text(self.data)}]>")


def _parse_bounds(parser: AttrParser, delimiter: AttrParser.Delimiter) -> tuple[int | None, ...]:
    def bound() -> int | None:
        is_open = parser.parse_optional_punctuation("?") is not None
        return None if is_open else parser.parse_integer(allow_boolean=False)

    return tuple(parser.parse_comma_separated_list(delimiter, bound))


def _bounds_text(bounds: tuple[int | None, ...]) -> str:
    return ", ".join("?" if bound is None else str(bound) for bound in bounds)


# Types -------------------------------------------------------------------------------------------


TokenType = plain_type("stablehlo.token", "`!stablehlo.token`: a value that orders side effects.")


@irdl_attr_definition
class FutureType(FormattedAttribute, TypeAttribute):
    """`!stablehlo.future<T>`: the results of an asynchronous op."""

    name = "stablehlo.future"

    types: ArrayAttr[Attribute]
    FORMAT: ClassVar[str] = "<$types:list>"
    KINDS: ClassVar[Mapping[str, Kind]] = {"list": list_of(lambda p: p.parse_type())}

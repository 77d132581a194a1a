"""StableHLO's types, the dimension numbers of convolutions, and bounds of dynamic sizes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...ir.dialect_extension import plain_type

# Dimensions of convolutions ----------------------------------------------------------------------

DimensionRoles = tuple[str | int, ...]
"""The role of each dimension: a letter, or the number of a spatial dimension."""


def _parse_roles(parser: AttrParser) -> DimensionRoles:
    def role() -> str | int:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if number is not None:
            return number
        if parser.parse_optional_punctuation("?"):
            return "?"
        return parser.parse_identifier()

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, role))


@irdl_attr_definition
class ConvAttr(Data[tuple[DimensionRoles, DimensionRoles, DimensionRoles]]):
    """`#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`."""

    name = "stablehlo.conv"

    @classmethod
    def parse_roles(
        cls, parser: AttrParser
    ) -> tuple[DimensionRoles, DimensionRoles, DimensionRoles]:
        """Parse the text without the angle brackets."""
        first = _parse_roles(parser)
        parser.parse_keyword("x")
        second = _parse_roles(parser)
        parser.parse_punctuation("->")
        return first, second, _parse_roles(parser)

    @classmethod
    def parse_parameter(
        cls, parser: AttrParser
    ) -> tuple[DimensionRoles, DimensionRoles, DimensionRoles]:
        with parser.in_angle_brackets():
            return cls.parse_roles(parser)

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
class BoundsAttr(Data[tuple[int | None, ...]]):
    """`#stablehlo.bounds<3, ?>`: upper bounds of the dynamic sizes of a type."""

    name = "stablehlo.bounds"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int | None, ...]:
        with parser.in_angle_brackets():
            return tuple(
                parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _bound(parser))
            )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{_bounds_text(self.data)}>")


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
            return tuple(
                parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _bound(parser))
            )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<bounds = [{_bounds_text(self.data)}]>")


def _bound(parser: AttrParser) -> int | None:
    return (
        None
        if parser.parse_optional_punctuation("?")
        else parser.parse_integer(allow_boolean=False)
    )


def _bounds_text(bounds: tuple[int | None, ...]) -> str:
    return ", ".join("?" if bound is None else str(bound) for bound in bounds)


# Types -------------------------------------------------------------------------------------------


TokenType = plain_type("stablehlo.token", "`!stablehlo.token`: a value that orders side effects.")


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.future<T>`: the results of an asynchronous op."""

    name = "stablehlo.future"

    types: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return [ArrayAttr(types)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types, printer.print_attribute)  # pyright: ignore

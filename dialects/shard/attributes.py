"""Attributes and the type of the `shard` dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import I16, I64, ArrayAttr, DenseArrayBase, StringAttr, i16, i64
from xdsl.ir import Attribute, OpaqueSyntaxAttribute, ParametrizedAttribute, TypeAttribute
from xdsl.ir.core import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...sharding.sharding import Axes, ReductionKind

AxesAttr: TypeAlias = DenseArrayBase[I16]
"""A list of grid axes: `array<i16: 0, 1>`, in operations written `[0, 1]`."""

IndicesAttr: TypeAlias = DenseArrayBase[I64]
"""A list of numbers in which `DYNAMIC_INDEX` marks those that are operands."""

WHOLE_LOOPS_ATTRIBUTE = "shard.whole_loops"
"""Discardable attribute of ours on `linalg.generic`: loops of which no device runs a part."""


def axes_attribute(axes: Iterable[int]) -> AxesAttr:
    """The attribute for a list of grid axes. Raises VerifyException beyond 16 bits."""
    return _axes_attribute(tuple(axes))


def indices_attribute(values: Iterable[int]) -> IndicesAttr:
    """The attribute for a list of 64-bit numbers."""
    return _indices_attribute(tuple(values))


# Programs repeat a few lists all over, and building an attribute costs more than finding it.


@lru_cache(maxsize=1024)
def _axes_attribute(axes: tuple[int, ...]) -> AxesAttr:
    return DenseArrayBase.from_list(i16, axes)


@lru_cache(maxsize=1024)
def _indices_attribute(values: tuple[int, ...]) -> IndicesAttr:
    return DenseArrayBase.from_list(i64, values)


def parse_axes(parser: AttrParser, what: str = "") -> AxesAttr:
    """Parse one bare list of axes, `[0, 1]`; `what` says in errors which list it is."""
    position = parser.pos
    axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer, what)
    for axis in axes:
        if not -(2**15) <= axis < 2**15:
            parser.raise_error(f"grid axis {axis} does not fit in 16 bits", position, parser.pos)
    return axes_attribute(axes)


def print_axes(printer: Printer, axes: AxesAttr) -> None:
    """Print one bare list of axes, `[0, 1]`."""
    with printer.in_square_brackets():
        printer.print_list(axes.get_values(), printer.print_int)


@irdl_attr_definition
class AxesArrayAttr(ParametrizedAttribute, OpaqueSyntaxAttribute):
    """For each dimension of a tensor the grid axes that split it: `[[0, 1], [], [2]]`.

    The attribute is printed `#shard<axisarray[[0]]>`; `#shard.axisarray<[[0]]>` is read too. No
    list at all says the same as one empty list, and only the latter is a text that upstream reads.
    """

    name = "shard.axisarray"

    axes: ArrayAttr[AxesAttr]

    @classmethod
    def parse_lists(cls, parser: AttrParser) -> AxesArrayAttr:
        """Parse the bare form that operations use."""
        return cls.new(cls.parse_parameters(parser))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is not None:
            parameters = cls.parse_parameters(parser)
            parser.parse_punctuation(">")
            return parameters
        lists = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE,
            lambda: parse_axes(parser, " of the axes of one dimension, as in [[0], []]"),
        )
        return (ArrayAttr(lists or [axes_attribute(())]),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_square_brackets():
            printer.print_list(self.axes.data, lambda axes: print_axes(printer, axes))

    @classmethod
    def from_lists(cls, lists: Iterable[Iterable[int]]) -> AxesArrayAttr:
        """The attribute for a list of axes per dimension."""
        attributes = [axes_attribute(axes) for axes in lists]
        return cls.new((ArrayAttr(attributes or [axes_attribute(())]),))

    def lists(self) -> tuple[Axes, ...]:
        """The axes of each dimension."""
        return tuple(axes.get_values() for axes in self.axes.data)


@irdl_attr_definition
class ReductionKindAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """How the devices of a group combine their values: `#shard<partial max>`."""

    name = "shard.partial"

    kind: StringAttr

    @property
    def reduction(self) -> ReductionKind:
        """The kind as a value of the sharding algebra."""
        return ReductionKind(self.kind.data)

    @classmethod
    @lru_cache(maxsize=64)
    def from_kind(cls, kind: ReductionKind) -> ReductionKindAttr:
        """The attribute for a kind."""
        return cls.new((StringAttr(kind.value),))

    @classmethod
    def parse_keyword(cls, parser: AttrParser) -> ReductionKindAttr:
        """Parse `max`, or `<max>` as `mesh` writes it."""
        angle = parser.parse_optional_punctuation("<") is not None
        kind = next((kind for kind in ReductionKind if parser.parse_optional_keyword(kind)), None)
        if kind is None:
            parser.raise_error(f"expected one of {', '.join(ReductionKind)}")
        if angle:
            parser.parse_punctuation(">")
        return cls.from_kind(kind)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return cls.parse_keyword(parser).parameters

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.kind.data)

    def verify(self) -> None:
        if self.kind.data not in set(ReductionKind):
            raise VerifyException(f"'{self.kind.data}' is not a reduction kind")


@irdl_attr_definition
class ShardingType(ParametrizedAttribute, TypeAttribute):
    """The type of a sharding as a value, `!shard.sharding`."""

    name = "shard.sharding"

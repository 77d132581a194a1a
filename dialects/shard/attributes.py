"""The attributes and the type of the `shard` dialect."""

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

from ...ir.lazy_patterns import LazyPatterns
from ...sharding.sharding import Axes, ReductionKind

CANONICALIZATION = LazyPatterns(str(__package__), ("canonicalization",))
"""The trait by which `canonicalize` finds the patterns of `shard`."""


AxesAttr: TypeAlias = DenseArrayBase[I16]
"""A list of grid axes: `array<i16: 0, 1>`, in operations written `[0, 1]`."""

IndicesAttr: TypeAlias = DenseArrayBase[I64]
"""A list of integers in which `DYNAMIC_INDEX` stands for each that is an operand."""

WHOLE_LOOPS_ATTRIBUTE = "shard.whole_loops"
"""Discardable attribute of `linalg.generic`: the loops that are not split over devices."""


def axes_attribute(axes: Iterable[int]) -> AxesAttr:
    """Return the attribute for a list of grid axes.

    Raises VerifyException if an axis does not fit in 16 bits.
    """
    return _axes_attribute(tuple(axes))


def indices_attribute(values: Iterable[int]) -> IndicesAttr:
    """Return the attribute for a list of 64-bit integers."""
    return _indices_attribute(tuple(values))


# Programs repeat a few lists very often, and building an attribute costs more than a look-up.


@lru_cache(maxsize=1024)
def _axes_attribute(axes: tuple[int, ...]) -> AxesAttr:
    return DenseArrayBase.from_list(i16, axes)


@lru_cache(maxsize=1024)
def _indices_attribute(values: tuple[int, ...]) -> IndicesAttr:
    return DenseArrayBase.from_list(i64, values)


def parse_axes(parser: AttrParser, what: str = "") -> AxesAttr:
    """Parse one bare list of axes, `[0, 1]`; `what` names the list in error messages."""
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
    """The grid axes that split each dimension of a tensor: `[[0, 1], [], [2]]`.

    It is printed as `#shard<axisarray[[0]]>`; `#shard.axisarray<[[0]]>` is read as well. An empty
    array means the same as one empty list and is stored as the latter, because upstream only parses
    that.
    """

    name = "shard.axisarray"

    axes: ArrayAttr[AxesAttr]

    @classmethod
    def parse_lists(cls, parser: AttrParser) -> AxesArrayAttr:
        """Parse the bare form that is used inside ops: `[[0], []]`."""
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
        """Return the attribute for one list of axes per dimension."""
        attributes = [axes_attribute(axes) for axes in lists]
        return cls.new((ArrayAttr(attributes or [axes_attribute(())]),))

    def lists(self) -> tuple[Axes, ...]:
        """Return the axes of each dimension."""
        return tuple(axes.get_values() for axes in self.axes.data)


def stated_lists(axes: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """Return the axes of each dimension as they are printed: without trailing empty lists."""
    while len(axes) > 1 and not axes[-1]:
        axes = axes[:-1]
    return axes or ((),)


@irdl_attr_definition
class ReductionKindAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """The kind of a reduction across the devices of a group: `#shard<partial max>`."""

    name = "shard.partial"

    kind: StringAttr

    @property
    def reduction(self) -> ReductionKind:
        """The kind as a `ReductionKind` of `sharding/`."""
        return ReductionKind(self.kind.data)

    @classmethod
    @lru_cache(maxsize=64)
    def from_kind(cls, kind: ReductionKind) -> ReductionKindAttr:
        """Return the attribute for a reduction kind."""
        return cls.new((StringAttr(kind.value),))

    @classmethod
    def parse_keyword(cls, parser: AttrParser) -> ReductionKindAttr:
        """Parse `max`, or `<max>` as the `mesh` dialect writes it."""
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
    """The type of a sharding as an SSA value, `!shard.sharding`."""

    name = "shard.sharding"

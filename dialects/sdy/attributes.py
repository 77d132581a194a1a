"""Attributes of the Shardy dialect `sdy`: meshes, axes and shardings, as values and as text.

The values are plain frozen dataclasses, each wrapped by an attribute. Syntax and rules are those of
Shardy (openxla/shardy, docs/sharding_representation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Data, OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@dataclass(frozen=True, slots=True)
class Mesh:
    """Named axes with their sizes, and the device ids if they are not 0, 1, 2, ..."""

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        axes = ", ".join(f'"{name}"={size}' for name, size in self.axes)
        devices = ", ".join(map(str, self.device_ids))
        return f"<[{axes}]" + (f", device_ids=[{devices}]>" if self.device_ids else ">")

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.axes)

    def validation_error(self) -> str | None:
        """Return what is wrong with the mesh; `None` if it is valid."""
        names = [name for name, _ in self.axes]
        for name, size in self.axes:
            if names.count(name) > 1:
                return f'duplicate axis name: "{name}"'
            if size < 1:
                return f"axis size must be at least 1, got: {size}"
        if not self.device_ids:
            return None
        if min(self.device_ids) < 0:
            return f"device id must be non-negative, got: {min(self.device_ids)}"
        if not self.axes and len(self.device_ids) == 1:
            return None
        total = prod(size for _, size in self.axes)
        if total != len(self.device_ids):
            return (
                "total product of axis sizes must match total number of device ids, got: "
                f"{total} != {len(self.device_ids)}"
            )
        if sorted(self.device_ids) != list(range(total)):
            ids = ", ".join(map(str, sorted(self.device_ids)))
            return f"sorted device ids must be iota(product(axes)), got: {ids}"
        return None


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis of a mesh, or a sub-axis of one with `sub_axis = (pre_size, size)`.

    The sub-axis follows the `pre_size` major positions of the axis and has `size` positions:
    `"x":(2)4` of an axis of 16 is the middle digit of the position written as 2 x 4 x 2.
    """

    name: str
    sub_axis: tuple[int, int] | None = None

    def __str__(self) -> str:
        part = "" if self.sub_axis is None else f":({self.sub_axis[0]}){self.sub_axis[1]}"
        return f'"{self.name}"{part}'

    def extent(self, size: int) -> tuple[int, int]:
        """Return where the sub-axis begins and ends in an axis of `size`, as products of sizes."""
        first, width = self.sub_axis or (1, size)
        return first, first * width

    def validation_error(self, size: int) -> str | None:
        """Return what is wrong with the reference to an axis of `size`; `None` if it is valid."""
        if self.sub_axis is None:
            return None
        first, width = self.sub_axis
        if first < 1:
            return f"sub-axis pre-size must be at least 1: {self}"
        if width < 2:
            return f"sub-axis size must be greater than 1: {self}"
        if size % (first * width):
            return (
                f"sub-axis next pre-size {first * width} doesn't divide the size of the full "
                f"axis {size}: {self}"
            )
        if width == size:
            return f"sub-axis size is equal to the full axis size: {self}"
        return None


def axes_text(axes: tuple[AxisRef, ...]) -> str:
    """Return the text that `parse_axes` parses."""
    return "{" + ", ".join(map(str, axes)) + "}"


@dataclass(frozen=True, slots=True)
class DimensionSharding:
    """The axes that split a dimension, major to minor.

    Propagation may split an open dimension further. Dimensions with a lower `priority` are
    propagated first; `None` is the same as 0.
    """

    axes: tuple[AxisRef, ...] = ()
    is_open: bool = False
    priority: int | None = None

    def __str__(self) -> str:
        parts = [*map(str, self.axes), *(["?"] if self.is_open else [])]
        priority = "" if self.priority is None else f"p{self.priority}"
        return "{" + ", ".join(parts) + "}" + priority


@dataclass(frozen=True, slots=True)
class TensorSharding:
    """The sharding of a tensor on a mesh, which is given by name or inline."""

    mesh: str | Mesh
    dimensions: tuple[DimensionSharding, ...]
    replicated: tuple[AxisRef, ...] = ()
    """Axes that must not split any dimension (explicitly replicated)."""
    unreduced: tuple[AxisRef, ...] = ()
    """Axes along which the tensor is still to be summed."""

    def __str__(self) -> str:
        mesh = f"@{self.mesh}" if isinstance(self.mesh, str) else f"mesh{self.mesh}"
        parts = [mesh, "[" + ", ".join(map(str, self.dimensions)) + "]"]
        if self.replicated:
            parts.append(f"replicated={axes_text(self.replicated)}")
        if self.unreduced:
            parts.append(f"unreduced={axes_text(self.unreduced)}")
        return "<" + ", ".join(parts) + ">"

    def validation_error(self, mesh: Mesh, rank: int | None) -> str | None:
        """Return what is wrong with the sharding of a tensor of `rank`; `None` if it is valid."""
        if not mesh.axes and mesh.device_ids:
            is_empty = not (self.dimensions or self.replicated or self.unreduced)
            return None if is_empty else "non-empty sharding for a mesh of one device"
        if rank is not None and len(self.dimensions) != rank:
            return f"sharding doesn't match tensor rank: {len(self.dimensions)} != {rank}"
        lists = (*(dimension.axes for dimension in self.dimensions),)
        error = axes_validation_error((*lists, self.replicated, self.unreduced), mesh)
        if error is not None:
            return error
        for index, dimension in enumerate(self.dimensions):
            if dimension.priority is not None and not dimension.axes and not dimension.is_open:
                return f"dim {index} is empty and closed but has a priority"
        for what, axes in (("replicated", self.replicated), ("unreduced", self.unreduced)):
            order = [(list(mesh.sizes).index(each.name), each.sub_axis or (1, 0)) for each in axes]
            if order != sorted(order):
                return f"{what} axes are not in the order of the mesh: {axes_text(axes)}"
        return None


def axes_validation_error(lists: tuple[tuple[AxisRef, ...], ...], mesh: Mesh) -> str | None:
    """Return what is wrong with lists of axes that must not overlap; `None` if they are valid."""
    sizes = mesh.sizes
    seen: list[AxisRef] = []
    for axes in lists:
        for position, axis in enumerate(axes):
            if axis.name not in sizes:
                return f'unknown axis name: "{axis.name}"'
            size = sizes[axis.name]
            error = axis.validation_error(size)
            if error is not None:
                return error
            first, end = axis.extent(size)
            for other in seen:
                other_first, other_end = other.extent(size)
                if other.name != axis.name or first >= other_end or other_first >= end:
                    continue
                if other == axis:
                    return f"duplicate axis ref: {axis}"
                return f"overlapping axis refs: {other}, {axis}"
            if position and axes[position - 1].name == axis.name:
                previous = axes[position - 1]
                if previous.extent(size)[1] == first:
                    return f"two consecutive sub-axes can be merged: {previous}, {axis}"
            seen.append(axis)
    return None


# Text --------------------------------------------------------------------------------------------


def parse_mesh(parser: AttrParser) -> Mesh:
    """Parse `<["a"=2, "b"=4], device_ids=[...]>`."""

    def axis() -> tuple[str, int]:
        name = parser.parse_str_literal()
        parser.parse_punctuation("=")
        return name, parser.parse_integer(allow_boolean=False)

    position = parser.pos
    with parser.in_angle_brackets():
        axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, axis)
        devices: list[int] = []
        if parser.parse_optional_punctuation(","):
            parser.parse_keyword("device_ids")
            parser.parse_punctuation("=")
            devices = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            if not devices:
                parser.raise_error("expected a device id", position)
    mesh = Mesh(tuple(axes), tuple(devices))
    error = mesh.validation_error()
    if error is not None:
        parser.raise_error(error, position)
    return mesh


def parse_axis(parser: AttrParser) -> AxisRef:
    """Parse `"a"` or `"a":(2)4`."""
    name = parser.parse_str_literal()
    if not parser.parse_optional_punctuation(":"):
        return AxisRef(name)
    with parser.in_parens():
        first = parser.parse_integer(allow_boolean=False)
    return AxisRef(name, (first, parser.parse_integer(allow_boolean=False)))


def parse_axes(parser: AttrParser) -> tuple[AxisRef, ...]:
    """Parse `{"a", "b":(2)4}`."""
    return tuple(
        parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: parse_axis(parser))
    )


def _parse_dimension(parser: AttrParser) -> DimensionSharding:
    """Parse `{"a", ?}p1`."""
    position = parser.pos

    def entry() -> AxisRef | None:
        return None if parser.parse_optional_punctuation("?") else parse_axis(parser)

    entries = parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
    axes = tuple(axis for axis in entries if axis is not None)
    is_open = len(axes) < len(entries)
    if is_open and (entries[-1] is not None or len(axes) < len(entries) - 1):
        parser.raise_error("expected '?' once, at the end of a dimension's axes", position)
    priority = None
    word = parser.parse_optional_identifier()
    if word is not None:
        if not word.startswith("p") or not word[1:].isdecimal():
            parser.raise_error(f"expected a priority such as p1, got {word}", position)
        priority = int(word[1:])
    return DimensionSharding(axes, is_open, priority)


def parse_sharding(parser: AttrParser) -> TensorSharding:
    """Parse `<@mesh, [{"a"}, {?}], replicated={"b"}, unreduced={"c"}>`."""
    with parser.in_angle_brackets():
        if parser.parse_optional_keyword("mesh"):
            mesh: str | Mesh = parse_mesh(parser)
        else:
            mesh = parser.parse_symbol_name().data
        parser.parse_punctuation(",")
        dimensions = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_dimension(parser)
        )
        listed: dict[str, tuple[AxisRef, ...]] = {}
        while parser.parse_optional_punctuation(","):
            position = parser.pos
            keyword = parser.parse_identifier()
            if keyword not in ("replicated", "unreduced") or keyword in listed:
                parser.raise_error("expected 'replicated' or 'unreduced', each once", position)
            parser.parse_punctuation("=")
            listed[keyword] = parse_axes(parser)
            if not listed[keyword]:
                parser.raise_error(f"expected an axis after '{keyword}'", position)
    return TensorSharding(
        mesh, tuple(dimensions), listed.get("replicated", ()), listed.get("unreduced", ())
    )


def parse_shardings(parser: AttrParser) -> tuple[TensorSharding, ...]:
    """Parse `[<@mesh, ...>, ...]`."""
    return tuple(
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_sharding(parser))
    )


def shardings_text(shardings: tuple[TensorSharding, ...]) -> str:
    """Return the text that `parse_shardings` parses."""
    return "[" + ", ".join(map(str, shardings)) + "]"


# Attributes --------------------------------------------------------------------------------------


@irdl_attr_definition
class MeshAttr(Data[Mesh]):
    """`#sdy.mesh<["a"=2, "b"=4]>`."""

    name = "sdy.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mesh:
        return parse_mesh(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@irdl_attr_definition
class ShardingAttr(Data[TensorSharding]):
    """`#sdy.sharding<@mesh, [{"a"}, {?}]>`."""

    name = "sdy.sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSharding:
        return parse_sharding(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data))


@irdl_attr_definition
class ShardingPerValueAttr(Data[tuple[TensorSharding, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"a"}]>, ...]>`."""

    name = "sdy.sharding_per_value"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[TensorSharding, ...]:
        with parser.in_angle_brackets():
            return parse_shardings(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{shardings_text(self.data)}>")


@irdl_attr_definition
class ManualAxesAttr(OpaqueSyntaxAttribute, Data[tuple[str, ...]]):
    """`#sdy<manual_axes{"a", "b"}>`."""

    name = "sdy.manual_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.BRACES, parser.parse_str_literal)
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("{" + ", ".join(f'"{axis}"' for axis in self.data) + "}")

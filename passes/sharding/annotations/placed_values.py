"""List the values of a program that have a sharding, for `--show-shardings` and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ....dialects.shard.boundary import Boundary, boundary_of
from ....ir.locations import source_behind
from ....ir.tensor_types import Shape, shape_of, tensor_shape
from ....ir.text.print_style import PrintStyle
from ....ir.text.printer import ModulePrinter
from ....sharding.device_map import device_map, draw_html, draw_text
from ....sharding.sharding import Sharding
from ...imports.import_annotations import import_annotations
from .access import SHARD, ShardingTable, annotation_of

Placed = tuple[str, Shape, Sharding]
"""The name of a tensor, the shape of the whole tensor, and its sharding."""


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """Values of a function that have the same shape and sharding."""

    function: str
    values: tuple[str, ...]
    shape: Shape
    sharding: Sharding


def placed_groups(module: ModuleOp) -> list[PlacedGroup]:
    """Return the values that have a sharding, grouped by function, shape and sharding.

    Groups are in program order. Raises OperationError for invalid annotations.
    """
    module = module.clone()
    import_annotations(module)
    groups: dict[tuple[str, Shape, Sharding], dict[str, None]] = {}
    for operation in module.walk():
        if isinstance(operation, FuncOp) and operation.body.blocks:
            for value, shape, sharding in _of_function(operation):
                key = operation.sym_name.data, shape, sharding
                groups.setdefault(key, {})[value] = None
    return [
        PlacedGroup(function, tuple(values), shape, sharding)
        for (function, shape, sharding), values in groups.items()
    ]


def _of_function(function: FuncOp) -> Iterator[Placed]:
    """Yield the values that have a sharding, in program order; some several times."""
    printer = ModulePrinter(PrintStyle())
    for index, argument in enumerate(function.body.blocks[0].args):
        text = printer.value_text(argument)
        yield from _of_boundary(text, boundary_of(function, "arg_attrs", index))
    table = ShardingTable()
    for operation in function.body.walk():
        if operation.name == SHARD:
            yield _of_annotation(operation, printer, table)
    for index in range(len(function.function_type.outputs)):
        yield from _of_boundary(f"result #{index}", boundary_of(function, "res_attrs", index))


def _of_boundary(value: str, boundary: Boundary | None) -> Iterator[Placed]:
    if boundary is not None:
        yield value, shape_of(boundary.global_type), boundary.sharding


def _of_annotation(operation: Operation, printer: ModulePrinter, table: ShardingTable) -> Placed:
    annotation = annotation_of(operation, table)
    # In a chain of annotations the annotated tensor is the source of the first one.
    source = source_behind(annotation.source, SHARD)
    shape = tensor_shape(annotation.source) or ()
    return printer.value_text(source), shape, annotation.sharding


def render_shardings(groups: Sequence[PlacedGroup], *, color: bool = False) -> str:
    """Return device maps of shardings as text, each with the values that have the sharding."""
    lines: list[str] = []
    last = ""
    for group in groups:
        if group.function != last:
            lines.append(f"@{group.function}\n\n")
            last = group.function
        picture = device_map(group.shape, group.sharding)
        text = f"{group.sharding}\n" if picture is None else draw_text(picture, color=color)
        lines.append(f"{', '.join(group.values)}: {text}\n")
    return "".join(lines) or "no value has a sharding\n"


def shardings_html(groups: Sequence[PlacedGroup]) -> str:
    """Return device maps of shardings as HTML, each with the values that have the sharding."""
    parts: list[str] = []
    for group in groups:
        values = escape(f"@{group.function}: {', '.join(group.values)}")
        picture = device_map(group.shape, group.sharding)
        drawn = escape(str(group.sharding)) if picture is None else draw_html(picture)
        parts.append(f"<div><code>{values}</code>{drawn}</div>")
    return "".join(parts) or "<p>no value has a sharding</p>"

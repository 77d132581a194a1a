"""Report what encodings cost: the device, layout and storage of each encoded tensor.

The report is meant for people. It says most after layouts are resolved and before tensors become
bytes; an unresolved layout is reported as open. The program is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.iree_encoding.interfaces import (
    EncodingError,
    Tensor,
    TensorEncoding,
    plain,
    storage_formulas,
    tensor_encoding,
)
from ...dialects.stream.affinity import affinity_of
from ...ir.host_programs import host_operations
from ...ir.syntax.assembly_format import values
from ...ir.tensor_types import ranked
from ...tiling.packed_layouts import DYNAMIC_TILE, PackedLayout
from ..stream.analysis.layout_origin import LayoutOrigins

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class EncodedTensor:
    """One row of the report. Sizes are bytes; `None` where they depend on dynamic dimensions."""

    operation: Operation
    """The operation that makes the tensor, or the first that reads it if it comes from outside."""
    tensor: str
    shape: tuple[int, ...]
    layout: str
    packed: tuple[PackedLayout, ...]
    """The layouts that the encoding may resolve to; empty if it is open or unknown."""
    device: str
    origin: str
    """The device that chose the layout; after a transfer it differs from `device`."""
    logical_bytes: int | None
    stored_bytes: int | None

    @property
    def waste(self) -> float | None:
        """The fraction of the stored bytes that is padding, 0 to 1; `None` if unknown."""
        if not self.stored_bytes or self.logical_bytes is None:
            return None
        return 1 - self.logical_bytes / self.stored_bytes


def encoded_tensors(module: ModuleOp) -> Iterator[EncodedTensor]:
    """Yield each encoded tensor of a module's host program once, in program order."""
    origins = LayoutOrigins(module)
    seen: set[SSAValue] = set()
    for operation in host_operations(module):
        for value, type_ in tensors_of(operation):
            encoding = tensor_encoding(type_)
            if encoding is None or value in seen:
                continue
            seen.add(value)
            tensor = cast(Tensor, type_)
            packed = _packed(tensor, encoding)
            yield EncodedTensor(
                operation=operation,
                tensor=str(plain(tensor)),
                shape=tensor.get_shape(),
                layout=_layout(encoding, packed),
                packed=packed or (),
                device=_device(affinity_of(operation)),
                origin=", ".join(_device(o.affinity) for o in origins.of(value)) or UNKNOWN,
                logical_bytes=_bytes(plain(tensor)),
                stored_bytes=_bytes(tensor),
            )


def tensors_of(operation: Operation) -> Iterator[tuple[SSAValue, Attribute]]:
    """Yield the tensors that an operation makes and the resources that it types as tensors."""
    for result in operation.results:
        if (tensor := ranked(result)) is not None:
            yield result, tensor
    if operation.name == "stream.tensor.dispatch":
        for group, encodings in (
            ("mixed_operands", "operand_encodings"),
            ("results_", "result_encodings"),
        ):
            types = cast("ArrayAttr[Attribute]", operation.properties[encodings])
            yield from zip(values(operation, group), types, strict=True)
        return
    for name, type_ in operation.properties.items():
        value = getattr(operation, name.removesuffix("_encoding"), None)
        if name.endswith("_encoding") and isinstance(value, SSAValue):
            yield cast(SSAValue, value), type_


def _packed(tensor: Tensor, encoding: TensorEncoding) -> tuple[PackedLayout, ...] | None:
    """Return the layouts that the tensor's devices give it; `None` if one of them cannot tell."""
    try:
        return tuple(layout.packed_layout(tensor) for layout in encoding.layouts())
    except EncodingError:
        return None


def _layout(encoding: TensorEncoding, packed: tuple[PackedLayout, ...] | None) -> str:
    if packed is None:
        return str(encoding)
    return " or ".join(dict.fromkeys(map(_tiles, packed))) or "open"


def _tiles(layout: PackedLayout) -> str:
    if layout.is_identity:
        return "plain"
    sizes = ["?" if tile == DYNAMIC_TILE else str(tile) for tile in layout.inner_tiles]
    order = list(layout.inner_positions)
    return f"tiles {'x'.join(sizes)} of dimensions {order}"


def _device(affinity: Attribute | None) -> str:
    if affinity is None:
        return UNKNOWN
    names = getattr(affinity, "device_names", None)
    return str(affinity) if names is None else "|".join(f"@{name}" for name in names())


def _bytes(tensor: Tensor) -> int | None:
    """Return the storage size of a tensor in bytes; `None` if it is dynamic or has no formula."""
    try:
        formulas = storage_formulas(tensor)
        return max(f.evaluate() for f in formulas) if all(f.is_static for f in formulas) else None
    except ValueError:
        return None


COLUMNS = ("tensor", "layout", "device", "laid out for", "bytes", "stored", "padding")


def render_report(rows: Sequence[EncodedTensor]) -> str:
    """Return the rows as a table, followed by a line with their sum."""
    if not rows:
        return "no tensor has an encoding; the passes data-tile and compile give them encodings\n"
    cells = [COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    stored = sum(row.stored_bytes or 0 for row in rows)
    logical = sum(row.logical_bytes or 0 for row in rows if row.stored_bytes is not None)
    lines.append(
        f"{len(rows)} encoded tensors; those of known size have {logical} bytes, stored in {stored}"
    )
    return "\n".join(lines) + "\n"


def _cells(row: EncodedTensor) -> tuple[str, ...]:
    waste = row.waste
    return (
        row.tensor,
        row.layout,
        row.device,
        row.origin,
        UNKNOWN if row.logical_bytes is None else str(row.logical_bytes),
        UNKNOWN if row.stored_bytes is None else str(row.stored_bytes),
        UNKNOWN if waste is None else f"{waste:.1%}",
    )

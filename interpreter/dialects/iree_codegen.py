"""Execute `iree_codegen.inner_tiled`: products of tiles in the register layout of an instruction.

Each tile is permuted (unswizzled) to rows and columns, multiplied, and permuted back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...dialects import iree_cpu, iree_gpu
from ...dialects.iree_codegen import InnerTiledOp
from ...dialects.iree_encoding.interfaces import Tensor
from ...ir.diagnostics import OperationError
from ...ir.linear_forms import loops_of
from ...ir.tensor_types import element_of
from ...runtime.abi.arrays import Array, Value, arithmetic_dtype, shape_text, wrap
from ...runtime.abi.values import integer_width, signed, unsigned
from ...tiling.cpu_intrinsics import TiledCpuInstruction
from ...tiling.element_types import ElementKind, ElementType
from ...tiling.gpu_intrinsics import TiledGpuInstruction
from ...tiling.gpu_scaled_intrinsics import TiledScaledInstruction
from ...tiling.packed_layouts import Swizzle
from ..frames import Frame
from ..registry import Results, impl

INNER = ("YZ", "XZ", "YX")
SCALED_INNER = ("YZW", "XZW", "YZ", "XZ", "YX")
"""The dimensions of a tile of each operand, in the notation of `np.einsum`."""


@impl("iree_codegen.inner_tiled")
def _inner_tiled(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    op = cast(InnerTiledOp, op)
    tiled = _instruction(op)
    inner = SCALED_INNER if isinstance(tiled, TiledScaledInstruction) else INNER
    tiles: list[Array] = []
    letters: list[str] = []
    extents: dict[str, int] = {}
    for index, (operand, map_) in enumerate(zip(operands, op.indexing_maps, strict=True)):
        array, swizzle = np.asarray(operand), tiled.swizzle(index)
        outer = "".join(chr(ord("a") + loop) for loop in loops_of(map_.data))
        _check(op, array, len(outer), swizzle)
        tiles.append(_in_rows(array, len(outer), swizzle))
        letters.append(outer + inner[index])
        for letter, extent in zip(outer, array.shape, strict=False):
            if extents.setdefault(letter, extent) != extent:
                raise OperationError(
                    op,
                    f"has operands with {extents[letter]} and with {extent} tiles along one loop",
                )
    *factors, start = tiles
    factors = [
        _numbers(one, type_)
        for one, type_ in zip(factors, tiled.instruction.types[:-1], strict=True)
    ]
    width = integer_width(op.results[0].type)
    compute = np.dtype(np.int64) if width is not None else arithmetic_dtype(start.dtype)
    notation = f"{','.join(letters[:-1])}->{letters[-1]}"
    product = np.einsum(notation, *(one.astype(compute) for one in factors), optimize=True)
    total = start.astype(compute) + product
    total = total.astype(start.dtype) if width is None else wrap(total, width)
    return (_in_memory(total, len(letters[-1]) - 2, tiled.swizzle(len(factors))),)


Tiled = TiledGpuInstruction | TiledScaledInstruction | TiledCpuInstruction


def _instruction(op: InnerTiledOp) -> Tiled:
    found: Tiled | None = None
    if isinstance(op.kind, iree_cpu.DataTiledMmaLayoutAttr):
        found = op.kind.instruction()
    elif isinstance(op.kind, iree_gpu.DataTiledMmaLayoutAttr):
        text = op.kind.description
        found = TiledGpuInstruction.parse(text.data) if isinstance(text, StringAttr) else None
    elif isinstance(op.kind, iree_gpu.DataTiledScaledMmaLayoutAttr):
        text = op.kind.description
        found = TiledScaledInstruction.parse(text.data) if isinstance(text, StringAttr) else None
    count = 0 if found is None else len(found.instruction.types)
    if found is None or len(op.operands) != count or op.permutations is not None:
        raise OperationError(
            op, f"is not supported: expected a product by a known instruction, found {op.kind}"
        )
    types = tuple(element_of(cast(Tensor, operand.type)).name for operand in op.operands)
    if types != (expected := tuple(one.name.lstrip("su") for one in found.instruction.types)):
        raise OperationError(
            op, f"expects elements of {', '.join(expected)}, found {', '.join(types)}"
        )
    return found


def _numbers(array: Array, type_: ElementType) -> Array:
    """Read integers with the signedness of the element type; return floats as they are."""
    if type_.is_float:
        return array
    if type_.kind is ElementKind.UNSIGNED:
        return unsigned(array, type_.bits)
    return signed(array, type_.bits)


def _check(op: Operation, array: Array, outer: int, swizzle: Swizzle) -> None:
    """Raise OperationError if the tiles of a tensor are not those that the instruction expects."""
    expected = tuple(swizzle.memory_sizes())
    if array.shape[outer:] != expected:
        raise OperationError(
            op,
            f"expects tiles of {shape_text(expected)}, found {shape_text(array.shape[outer:])}",
        )


def _in_rows(array: Array, outer: int, swizzle: Swizzle) -> Array:
    """Permute tiles from memory order to rows and columns."""
    inverse = [outer + swizzle.permutation.index(i) for i in range(len(swizzle.permutation))]
    moved = array.transpose([*range(outer), *inverse])
    return moved.reshape(*array.shape[:outer], *_sides(swizzle))


def _in_memory(array: Array, outer: int, swizzle: Swizzle) -> Array:
    """Permute tiles from rows and columns to memory order."""
    expanded = array.reshape(*array.shape[:outer], *swizzle.sizes())
    return expanded.transpose([*range(outer), *(outer + i for i in swizzle.permutation)])


def _sides(swizzle: Swizzle) -> list[int]:
    return [int(np.prod([factor.size for factor in group])) for group in swizzle.expand_shape]

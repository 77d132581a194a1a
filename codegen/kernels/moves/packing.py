"""Copy between row-major and tiled tensors: `linalg.pack`, `linalg.unpack` and encoding layouts.

The loops go tile by tile. Whole tiles have loops of static length. The last dimension of the plain
tensor is innermost, so that at least one side is accessed in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from xdsl.ir import Operation

from ....ir.attribute_access import operand_groups
from ....runtime.abi.elements import Element, integer_element
from ....tiling.packed_layouts import PackedLayout
from ..code.ast_builder import AstBuilder, Term
from ..elements.expressions import writer_of_stored
from ..elements.kernel_text import KernelText, Panels, SizeConstant, TileCount
from ..elements.tilings import Tiling, tiling_of
from ..elements.writer import Indices, KernelWriter
from ..loops.tiles import flat_loop, write_tiled_loops

Visit = Callable[[Indices, Indices], None]
"""Called with an element's indices in the plain and in the packed tensor."""


def write_pack(writer: KernelWriter, operation: Operation) -> TileCount:
    """Write the loops of a `linalg.pack`."""
    code = writer.code
    groups = operand_groups(operation, operation.operands)
    source, padding = groups[0][0], groups[2]
    result = operation.results[0]
    tiling = tiling_of(writer, operation)
    shape = writer.shape(result)

    def copy(plain: Indices, packed: Indices) -> None:
        writer.store(result, code.linear(packed, shape), writer.element(source, plain))

    def fill(plain: Indices, packed: Indices) -> None:
        writer.store(result, code.linear(packed, shape), writer.scalar(padding[0]))

    return walk_tiles(code, tiling, copy, fill if padding else None)


def write_unpack(writer: KernelWriter, operation: Operation) -> TileCount:
    """Write the loops of a `linalg.unpack`."""
    code = writer.code
    result = operation.results[0]
    tiling = tiling_of(writer, operation)
    shape = writer.shape(result)

    def copy(plain: Indices, packed: Indices) -> None:
        element = writer.element(operation.operands[0], packed)
        writer.store(result, code.linear(plain, shape), element)

    return walk_tiles(code, tiling, copy, None)


def walk_tiles(code: AstBuilder, tiling: Tiling, copy: Visit, fill: Visit | None) -> TileCount:
    """Visit every element of the plain tensor with `copy`, and the padding of tiles with `fill`.

    `fill` may also visit elements that `copy` visits later. There may be more tiles than the tensor
    reaches, and tiles that lie entirely beyond it.
    """
    rank = len(tiling.shape)
    shape, outer = tiling.shape, tiling.outer
    last = rank - 1
    # An untiled last dimension is walked inside of the tiles of the other dimensions.
    run = last if rank and tiling.tile(last) == 1 else None
    loops = [dimension for dimension in tiling.permutation if dimension != run]
    inner = [dimension for dimension in tiling.inner if dimension != run]
    if last in inner:
        inner.remove(last)
        inner.append(last)

    def at_tile(numbers: Indices) -> None:
        number: dict[int, Term] = dict(zip(loops, numbers, strict=True))
        lanes = {each: _lanes(code, tiling, each, number[each]) for each in inner}
        full: Term = 1
        for each in inner:
            tile = tiling.tile(each)
            if lanes[each] != tile:
                full = code.both(full, code.compare("sge", lanes[each], tile))

        def nest(
            remaining: Sequence[int], ends: dict[int, Term], visit: Visit, span: tuple[Term, Term]
        ) -> None:
            if remaining:
                with code.loop(0, ends[remaining[0]]) as index:
                    within[remaining[0]] = index
                    nest(remaining[1:], ends, visit, span)
            elif run is not None:
                with code.loop(*span) as index:
                    number[run] = index
                    visit(tiling.plain(code, number, within), tiling.packed(number, within))
            else:
                visit(tiling.plain(code, number, within), tiling.packed(number, within))

        within: dict[int, Term] = {}
        whole = {each: tiling.tile(each) for each in inner}
        inside: tuple[Term, Term] = (0, 0) if run is None else (0, shape[run])
        with_all: tuple[Term, Term] = (0, 0) if run is None else (0, outer[run])
        with code.when(full) if full != 1 else nullcontext():
            nest(inner, whole, copy, inside)
            if fill is not None and inside != with_all:
                nest(inner, whole, fill, (inside[1], with_all[1]))
        if full != 1:
            with code.otherwise():
                if fill is not None:
                    nest(inner, whole, fill, with_all)
                nest(inner, lanes, copy, inside)

    counts = [outer[each] if each in tiling.inner else shape[each] for each in loops]
    return write_tiled_loops(code, tuple(counts), at_tile)


def _lanes(code: AstBuilder, tiling: Tiling, dimension: int, number: Term) -> Term:
    """Return how many elements of a dimension a tile has; less than 1 beyond the tensor."""
    size, tile, count = tiling.shape[dimension], tiling.tile(dimension), tiling.outer[dimension]
    if isinstance(size, int) and isinstance(tile, int) and code.multiply(count, tile) == size:
        return tile
    return code.minimum(code.subtract(size, code.multiply(number, tile)), tile)


def write_relayout(
    operation: Operation, layout: PackedLayout, rank: int, element: Element, *, is_pack: bool
) -> KernelText:
    """Return the kernel that packs a row-major tensor into a layout, or unpacks it.

    It copies binding 1 to binding 0. Its constants are the extents of the tensor, then the numbers
    of tiles in the order of the packed tensor. Padding is filled with zeros. Bits of the packed
    tensor beyond its elements are ignored.
    """
    plain, packed = Panels("plain"), Panels("packed")
    source, target = (plain, packed) if is_pack else (packed, plain)
    writer = writer_of_stored(operation, target)
    code = writer.code
    shape = tuple(writer.constant(SizeConstant(plain, axis)) for axis in range(rank))
    counts = tuple(writer.constant(SizeConstant(packed, axis)) for axis in range(rank))
    permutation = layout.outer_permutation or tuple(range(rank))
    outer = tuple(counts[permutation.index(dimension)] for dimension in range(rank))
    tiling = Tiling(shape, outer, layout.inner_positions, layout.inner_tiles, permutation)
    packed_shape = (*counts, *layout.inner_tiles)
    to, start = writer.address(target), writer.address(source)
    has_spare_bits = not is_pack and element.width != 8 * element.storage_bytes
    stored = integer_element(8 * element.storage_bytes).name if has_spare_bits else element.name

    def copy(at: Indices, packed_at: Indices) -> None:
        places = (code.linear(packed_at, packed_shape), code.linear(at, shape))
        written, taken = places if is_pack else places[::-1]
        value = code.call(f"load_{stored}_1", start, taken)
        if stored != element.name:
            value = code.call(f"converti_{stored}_{element.name}", value)
        code.run(f"store_{element.name}_0", to, written, value)

    def fill(at: Indices, packed_at: Indices) -> None:
        zero = code.number(0, element)
        code.run(f"store_{element.name}_0", to, code.linear(packed_at, packed_shape), zero)

    return writer.finish(walk_tiles(code, tiling, copy, fill if is_pack else None))


def write_fill(operation: Operation, element: Element) -> KernelText:
    """Return the kernel that sets `constants[0]` integers of binding 0 to `constants[1]`."""
    target = Panels("target")
    writer = writer_of_stored(operation, target)
    code = writer.code
    count, pattern = (writer.constant(SizeConstant(target, number)) for number in range(2))
    value = pattern if element.width == 64 else code.call(f"converti_i64_{element.name}", pattern)
    with flat_loop(code, count, FILL_CHUNK) as index:
        code.run(f"store_{element.name}_0", writer.address(target), index, value)
    return writer.finish(TileCount((((count,), FILL_CHUNK),)))


FILL_CHUNK = 16384
"""The integers in a tile of a fill."""

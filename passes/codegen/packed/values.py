"""Keep the tensors of a kernel in the layouts in which its operations need them.

A tensor is made once, in the layout of its producer. An operation that needs another layout asks
for that form here, and `linalg.pack` or `linalg.unpack` is emitted in front of it. So relayouts
occur exactly where layouts differ: between a binding and the kernel's own layout, and where encoded
values meet plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import CeilDivSIOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, TensorType
from xdsl.dialects.tensor import CastOp, EmptyOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from ....dialects.affine import ApplyOp
from ....dialects.iree_codegen import QueryTileSizesOp
from ....dialects.iree_encoding.interfaces import Tensor, plain
from ....dialects.linalg.dialect import NAMED_CLASSES
from ....dialects.linalg.packing import PackOp, UnpackOp
from ....dialects.linalg.region_ops import TransposeOp
from ....dialects.tensor.reshapes import ExpandShapeOp, collapse_shape
from ....ir.diagnostics import OperationError
from ....ir.index import constant_index
from ....ir.index_lists import INDEX
from ....ir.locations import block_with, builder_before
from ....ir.tensor_types import ranked, shape_of
from ....tiling.packed_layouts import DYNAMIC_TILE, IDENTITY, PackedLayout, Swizzle
from ...sizes.dimension_sizes import DimensionSizes, Size
from ...stream.conversion.stored_tensors import zero_of

LayoutFactory = Callable[[PackedLayout], SSAValue]
"""Makes a tensor without inputs, such as `tensor.empty`, in the layout that is passed."""


@dataclass(slots=True)
class TensorForms:
    """A tensor in all forms that exist of it; the first one is the original."""

    tensor: Tensor
    """The logical type, without an encoding."""
    sizes: tuple[Size, ...]
    by_layout: dict[PackedLayout, SSAValue] = field(default_factory=dict[PackedLayout, SSAValue])
    """The forms by layout. Under a layout with a swizzle, tiles are as in memory."""
    factory: LayoutFactory | None = None
    """Makes any form of a tensor that has no producer."""

    @property
    def layout(self) -> PackedLayout:
        """The tiles of the original form; the identity for a tensor that is made on demand."""
        return layout_of_tiles(next(iter(self.by_layout), IDENTITY))


class PackedValues:
    """The tensors of one kernel. Forms are emitted in front of the current operation."""

    def __init__(
        self, queried_types: Mapping[PackedLayout, Attribute], *, use_affine_apply: bool
    ) -> None:
        self.dimensions = DimensionSizes()
        self._use_affine_apply = use_affine_apply
        """Whether tiles are counted by `affine.apply`, as in IREE, instead of `arith.ceildivsi`."""
        self._queried_types = queried_types
        """Layouts whose tile sizes are queried at run time, each with a type to query for."""
        self._queried_sizes: dict[tuple[PackedLayout, Block | None], tuple[Size, ...]] = {}
        self._forms: dict[SSAValue, TensorForms] = {}
        self._tile_counts: dict[tuple[Size, Size, Block | None], SSAValue] = {}
        self._operation: Operation | None = None

    def move_to(self, operation: Operation) -> None:
        """Set the current operation, in front of which forms are emitted."""
        self._operation = operation

    @property
    def operation(self) -> Operation:
        """The current operation."""
        if self._operation is None:
            raise ValueError("no operation is at hand yet")
        return self._operation

    @property
    def builder(self) -> Builder:
        """A builder in front of the current operation."""
        return builder_before(self.operation)

    def forms_of(self, value: SSAValue) -> TensorForms:
        """Return the forms of a tensor; one that was never encoded has only itself.

        Raises OperationError at the current operation if the value is not a ranked tensor.
        """
        if value not in self._forms:
            tensor = ranked(value)
            if tensor is None:
                raise OperationError(self.operation, f"expects a ranked tensor, found {value.type}")
            sizes = self.dimensions.sizes(value)
            self._forms[value] = TensorForms(plain(tensor), sizes, {IDENTITY: value})
        return self._forms[value]

    def set_forms(self, value: SSAValue, forms: TensorForms) -> None:
        """Record what replaces a value from now on."""
        self._forms[value] = forms

    def set_only_form(self, value: SSAValue, layout: PackedLayout, form: SSAValue) -> None:
        """Record the only form that replaces a value."""
        tensor = cast(Tensor, value.type)
        sizes = self.sizes(value)
        self._forms[value] = TensorForms(plain(tensor), sizes, {layout: form})

    def sizes(self, value: SSAValue) -> tuple[Size, ...]:
        """Return the logical sizes of a tensor."""
        forms = self._forms.get(value)
        return forms.sizes if forms is not None else self.dimensions.sizes(value)

    def form(self, value: SSAValue, layout: PackedLayout) -> SSAValue:
        """Return a tensor in a layout without its swizzle: outer dimensions, then tiles."""
        forms = self.forms_of(value)
        layout = layout_of_tiles(layout)
        if layout not in forms.by_layout:
            return self._add(forms, layout, self._make(forms, layout))
        return forms.by_layout[layout]

    def memory_form(self, value: SSAValue, layout: PackedLayout) -> SSAValue:
        """Return a tensor as memory holds it in a layout, with swizzled tiles."""
        layout = layout_in_memory(layout)
        if layout.swizzle is None:
            return self.form(value, layout)
        forms = self.forms_of(value)
        if layout in forms.by_layout:
            return forms.by_layout[layout]
        if forms.factory is not None:
            return forms.factory(layout)
        tiles = self.form(value, layout)
        swizzled = self.to_memory(tiles, self.dimensions.sizes(tiles), layout)
        return self._add(forms, layout, swizzled)

    def are_stored(self, tensors: Sequence[SSAValue], layout: PackedLayout) -> bool:
        """Return whether tensors exist in a memory layout or are made on demand, and one exists."""
        forms = [self.forms_of(value) for value in tensors]
        stored = [layout in form.by_layout for form in forms]
        return any(stored) and all(
            is_stored or form.factory is not None
            for form, is_stored in zip(forms, stored, strict=True)
        )

    def _add(self, forms: TensorForms, layout: PackedLayout, form: SSAValue) -> SSAValue:
        """Record a form for reuse if it is available wherever the original is."""
        original = next(iter(forms.by_layout.values()), None)
        if original is not None and block_with(original) is self.operation.parent:
            forms.by_layout[layout] = form
        return form

    def _make(self, forms: TensorForms, layout: PackedLayout) -> SSAValue:
        if forms.factory is not None:
            return forms.factory(layout)
        value = forms.by_layout.get(IDENTITY)
        if value is None:
            original = forms.layout
            tiles = self._tiles(forms, original)
            if layout == original:
                return tiles
            value = self._add(forms, IDENTITY, self._unpack(forms, tiles, original))
        return value if layout == IDENTITY else self._pack(forms, value, layout)

    def _tiles(self, forms: TensorForms, layout: PackedLayout) -> SSAValue:
        """Return the original in tiles without swizzle."""
        if layout not in forms.by_layout:
            stored, form = next(iter(forms.by_layout.items()))
            tiles = self.from_memory(form, self.dimensions.sizes(form), stored)
            return self._add(forms, layout, tiles)
        return forms.by_layout[layout]

    # Relayouts

    def empty(self, tensor: Tensor, sizes: Sequence[Size], layout: PackedLayout) -> SSAValue:
        """Emit an empty packed tensor, in its memory form if the layout has a swizzle."""
        shape = self.packed_sizes(sizes, layout)
        if layout.swizzle is not None:
            shape[-len(layout.inner_tiles) :] = layout.swizzle.memory_sizes()
        return self.empty_of(tensor.element_type, shape)

    def empty_of(self, element: Attribute, shape: Sequence[Size]) -> SSAValue:
        """Emit an empty tensor of a shape."""
        dynamic = [size for size in shape if isinstance(size, SSAValue)]
        return self.builder.insert(EmptyOp(dynamic, typed(element, shape))).tensor

    def packed_sizes(self, sizes: Sequence[Size], layout: PackedLayout) -> list[Size]:
        """Return the sizes of a packed tensor, given the logical ones."""
        outer = list(sizes)
        tiles = self.tile_sizes(layout)
        for position, tile in zip(layout.inner_positions, tiles, strict=True):
            outer[position] = self._tile_count(outer[position], tile)
        order = layout.outer_permutation or range(len(outer))
        return [*(outer[dimension] for dimension in order), *tiles]

    def tile_sizes(self, layout: PackedLayout) -> tuple[Size, ...]:
        """Return the sizes of tiles; dynamic ones are queried once per block."""
        if not layout.has_dynamic_tiles:
            return layout.inner_tiles
        key = layout, self.operation.parent
        if key not in self._queried_sizes:
            tensor = cast(Tensor, self._queried_types[layout])
            query = QueryTileSizesOp.build(
                result_types=[[INDEX] * len(tensor.get_shape())],
                properties={"tensor_type": tensor},
            )
            # The query returns sizes in the order of the layout's tiles, which cover all
            # dimensions.
            self._queried_sizes[key] = tuple(self.builder.insert(query).results)
        return self._queried_sizes[key]

    def _tile_count(self, size: Size, tile: Size) -> Size:
        if isinstance(size, int) and isinstance(tile, int):
            return -(-size // tile)
        if tile == 1:
            return size
        key = size, tile, self.operation.parent
        if key not in self._tile_counts:
            self._tile_counts[key] = self._ceiling_division(size, tile)
        return self._tile_counts[key]

    def _ceiling_division(self, size: Size, tile: Size) -> SSAValue:
        builder = self.builder
        if not self._use_affine_apply:
            dividend, divisor = (
                constant_index(operand, builder) if isinstance(operand, int) else operand
                for operand in (size, tile)
            )
            return builder.insert(CeilDivSIOp(dividend, divisor)).result
        symbols = [operand for operand in (size, tile) if isinstance(operand, SSAValue)]
        dividend, divisor = (
            AffineExpr.symbol(symbols.index(operand))
            if isinstance(operand, SSAValue)
            else AffineExpr.constant(operand)
            for operand in (size, tile)
        )
        count = AffineBinaryOpExpr(AffineBinaryOpKind.CeilDiv, dividend, divisor)
        map_ = AffineMap(0, len(symbols), (count,))
        apply = ApplyOp.build(
            operands=[symbols], result_types=[INDEX], properties={"map": AffineMapAttr(map_)}
        )
        return builder.insert(apply).results[0]

    def _pack(self, forms: TensorForms, value: SSAValue, layout: PackedLayout) -> SSAValue:
        empty = self.empty(forms.tensor, forms.sizes, layout)
        padding = None
        if leaves_padding(forms.sizes, layout):
            padding = zero_of(forms.tensor.element_type, self.builder)
        pack = PackOp(
            value,
            empty,
            layout.inner_positions,
            self.tile_sizes(layout),
            layout.outer_permutation,
            padding,
        )
        return self.builder.insert(pack).result

    def _unpack(self, forms: TensorForms, value: SSAValue, layout: PackedLayout) -> SSAValue:
        empty = self.empty(forms.tensor, forms.sizes, IDENTITY)
        unpack = UnpackOp(
            value,
            empty,
            layout.inner_positions,
            self.tile_sizes(layout),
            layout.outer_permutation,
        )
        result = self.builder.insert(unpack).result
        if result.type != forms.tensor:
            # One of the types has a size as static that the other has as dynamic.
            return self.cast(result, forms.tensor)
        return result

    def cast(self, value: SSAValue, tensor: Tensor) -> SSAValue:
        """Cast a tensor to a type with other static sizes."""
        operation = CastOp.create(operands=[value], result_types=[tensor])
        return self.builder.insert(operation).results[0]

    # Swizzles, which exist in memory forms only

    def from_memory(
        self, value: SSAValue, packed: Sequence[Size], layout: PackedLayout
    ) -> SSAValue:
        """Undo the swizzle of tiles.

        `packed` are the sizes of the packed tensor; those of its tiles are not used.
        """
        swizzle = layout.swizzle
        if swizzle is None:
            return value
        factors = swizzle.sizes()
        outer = packed[: cast(Tensor, value.type).get_num_dims() - len(factors)]
        groups = _groups_in_order(len(outer), layout.inner_tiles, swizzle)
        if groups is None:
            inverse = [swizzle.permutation.index(index) for index in range(len(factors))]
            value = self._transposed(value, outer, factors, inverse)
            groups = _factor_groups(len(outer), swizzle)
        return self.collapse(value, [*outer, *layout.inner_tiles], groups)

    def to_memory(self, value: SSAValue, packed: Sequence[Size], layout: PackedLayout) -> SSAValue:
        """Swizzle tiles into the order of memory; `packed` is as for `from_memory`."""
        swizzle = layout.swizzle
        if swizzle is None:
            return value
        outer = packed[: cast(Tensor, value.type).get_num_dims() - len(layout.inner_tiles)]
        sizes = swizzle.memory_sizes()
        if (groups := _groups_in_order(len(outer), layout.inner_tiles, swizzle)) is not None:
            return self.expand(value, [*outer, *sizes], groups)
        groups = _factor_groups(len(outer), swizzle)
        expanded = self.expand(value, [*outer, *swizzle.sizes()], groups)
        return self._transposed(expanded, outer, sizes, swizzle.permutation)

    def _transposed(
        self, value: SSAValue, outer: Sequence[Size], inner: Sequence[int], order: Sequence[int]
    ) -> SSAValue:
        """Permute the dimensions behind the outer ones; `inner` are their sizes afterwards."""
        empty = self.empty_of(cast(Tensor, value.type).element_type, [*outer, *inner])
        permutation = [*range(len(outer)), *(len(outer) + index for index in order)]
        return self.builder.insert(TransposeOp(value, empty, permutation)).results[0]

    def expand(
        self, value: SSAValue, shape: Sequence[Size], groups: Sequence[Sequence[int]]
    ) -> SSAValue:
        """Emit a `tensor.expand_shape` to `shape`, or nothing if no dimension is split.

        An empty or filled tensor is made in the new shape.
        """
        if len(groups) == len(shape):
            return value
        element_type, made_by = cast(Tensor, value.type).element_type, value.owner
        if isinstance(made_by, EmptyOp):
            return self.empty_of(element_type, shape)
        if isinstance(made_by, Operation) and made_by.name == "linalg.fill":
            scalar, init = made_by.operands
            expanded = self.expand(init, shape, groups)
            fill = NAMED_CLASSES["linalg.fill"]([scalar], [expanded])
            return self.builder.insert(fill).results[0]
        result = typed(element_type, shape)
        return self.builder.insert(ExpandShapeOp(value, shape, groups, result)).result

    def collapse(
        self, value: SSAValue, shape: Sequence[Size | None], groups: list[list[int]]
    ) -> SSAValue:
        """Emit a `tensor.collapse_shape`, or nothing; a size of `None` is dynamic."""
        if len(groups) == sum(map(len, groups)):
            return value
        result = typed(cast(Tensor, value.type).element_type, shape)
        return self.builder.insert(collapse_shape(value, groups, result)).result


def layout_of_tiles(layout: PackedLayout) -> PackedLayout:
    """Return a layout without its swizzle; `IDENTITY` for every layout that changes nothing."""
    if layout.is_identity:
        return IDENTITY
    return replace(layout, scalable=(), swizzle=None)


def layout_in_memory(layout: PackedLayout) -> PackedLayout:
    """Return a layout with its swizzle; `IDENTITY` for every layout that changes nothing."""
    return IDENTITY if layout.is_identity else replace(layout, scalable=())


def leaves_padding(
    sizes: Sequence[Size], layout: PackedLayout, dimensions: Sequence[int] | None = None
) -> bool:
    """Return whether tiles may extend past the end of a tensor of these sizes.

    Only the given dimensions count, if any are given.
    """
    for position, tile in zip(layout.inner_positions, layout.inner_tiles, strict=True):
        size = sizes[position]
        is_multiple = tile != DYNAMIC_TILE and isinstance(size, int) and size % tile == 0
        if tile != 1 and not is_multiple and (dimensions is None or position in dimensions):
            return True
    return False


def memory_type(tensor: Tensor, layout: PackedLayout) -> Tensor:
    """Return the type of a packed tensor in memory, where tiles may be swizzled."""
    shape = list(layout.packed_shape(shape_of(tensor)))
    if layout.swizzle is not None:
        shape[-len(layout.inner_tiles) :] = layout.swizzle.memory_sizes()
    return TensorType(tensor.element_type, [DYNAMIC_INDEX if n is None else n for n in shape])


def typed(element: Attribute, shape: Sequence[Size | None]) -> Tensor:
    """Return the tensor type of an element type and sizes; non-integer sizes are dynamic."""
    return TensorType(element, [size if isinstance(size, int) else DYNAMIC_INDEX for size in shape])


def _groups_in_order(rank: int, tiles: Sequence[int], swizzle: Swizzle) -> list[list[int]] | None:
    """Return for each packed dimension its dimensions in memory; there are `rank` outer ones.

    Return `None` if memory holds the elements of a tile in another order.

        two outer dimensions, tiles of 8x4, factors 2x4x4 in order -> [[0], [1], [2, 3], [4]]
    """
    sizes, factors = swizzle.memory_sizes(), swizzle.sizes()
    moved = [index for index in swizzle.permutation if factors[index] > 1]
    if moved != sorted(moved):
        return None
    groups = [[dimension] for dimension in range(rank)]
    end = 0
    for tile in tiles:
        start = end
        while end == start or (end < len(sizes) and prod(sizes[start:end]) < tile):
            end += 1
        if end > len(sizes) or prod(sizes[start:end]) != tile:
            return None
        groups.append(list(range(rank + start, rank + end)))
    groups[-1] = list(range(groups[-1][0], rank + len(sizes)))
    return groups


def _factor_groups(rank: int, swizzle: Swizzle) -> list[list[int]]:
    """Return for each packed dimension its dimensions when tiles are split into factors."""
    groups = [[dimension] for dimension in range(rank)]
    start = rank
    for factors in swizzle.expand_shape:
        groups.append(list(range(start, start + len(factors))))
        start += len(factors)
    return groups

"""Making operations on tensors, and loops over their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    TensorType,
    i32,
)
from xdsl.dialects.tensor import (
    ConcatOp,
    DimOp,
    EmptyOp,
    ExtractOp,
    ExtractSliceOp,
    FromElementsOp,
    InsertSliceOp,
)
from xdsl.dialects.tensor import YieldOp as TensorYieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...dialects.linalg.bodies import YieldOp
from ...dialects.linalg.dialect import NAMED_CLASSES, GenericOp
from ...dialects.linalg.structured_view import IteratorType
from ...dialects.shard.attributes import WHOLE_LOOPS_ATTRIBUTE, indices_attribute
from ...dialects.tensor.dialect import BitcastOp, PadOp
from ...dialects.tensor.reshapes import ExpandShapeOp, ReshapeOp, collapse_shape
from ...ir.attribute_access import element_type, is_splat
from ...ir.index import IndexOrInt, known
from ...ir.index_lists import slice_properties
from ...ir.locations import located_builder
from ..sizes.matching_dimensions import matching_dimensions
from .scalar_emitter import BOOL, INDEX, ScalarEmitter

Body = Callable[["Emitter", Sequence[SSAValue]], Sequence[SSAValue]]
"""Makes the scalars that a loop body yields from those that it is given."""

LARGEST_SPLAT = 1 << 10
"""How many elements a constant may have that is repeated: xDSL keeps every one of them."""

PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION


class Emitter(ScalarEmitter):
    """Makes operations where its builder is. Sizes are numbers where they are known."""

    def inside(self, block: Block) -> Emitter:
        """An emitter at the end of a block."""
        return Emitter(located_builder(InsertPoint.at_end(block), self.origin), self.origin)

    # Tensors.

    def size(self, value: SSAValue, dimension: int) -> IndexOrInt:
        """The size of a dimension of a tensor."""
        extent = shape(value)[dimension]
        if extent >= 0:
            return extent
        index = self.index(dimension)
        return self.insert(DimOp(value, index))

    def sizes(self, value: SSAValue) -> list[IndexOrInt]:
        """The sizes of a tensor."""
        return [self.size(value, dimension) for dimension in range(len(shape(value)))]

    def empty(self, sizes: Sequence[IndexOrInt], element: Attribute) -> SSAValue:
        """A tensor without contents."""
        sizes = [known(size) if isinstance(size, SSAValue) else size for size in sizes]
        dynamic = [size for size in sizes if isinstance(size, SSAValue)]
        result = tensor_type(sizes, element)
        return self.insert(EmptyOp.create(operands=dynamic, result_types=[result]))

    def element(self, value: SSAValue, indices: Sequence[IndexOrInt] = ()) -> SSAValue:
        """An element of a tensor; that of a constant is a constant."""
        found = _part_of_shape(value, indices)
        if found is not None:
            return self.element(*found)
        known_element = self.constant_element(value, indices)
        if known_element is not None:
            return known_element
        places = [self.index(each) for each in indices]
        return self.insert(ExtractOp(value, places, element_type(value.type)))

    def constant_element(
        self, value: SSAValue, indices: Sequence[IndexOrInt] = ()
    ) -> SSAValue | None:
        """An element of a constant of at most one dimension as a constant, if the tensor is one."""
        found = constant_of(value)
        places = [each for each in indices if isinstance(each, int)]
        if found is None or len(places) != len(shape(value)) or len(places) > 1:
            return None
        return self.constant(number_of(found, sum(places)), element_type(value.type))

    def splat(self, value: SSAValue, sizes: Sequence[IndexOrInt]) -> SSAValue | None:
        """A constant of rank 0 in another shape, if the tensor is one and the sizes are known."""
        found = constant_of(value)
        extents = [size for size in sizes if isinstance(size, int)]
        if found is None or shape(value) or len(extents) != len(sizes):
            return None
        if prod(extents) > LARGEST_SPLAT:
            return None
        result = cast("TensorType[Any]", TensorType(element_type(value.type), extents))
        stored = BytesAttr(found.data.data * prod(extents))
        return self.insert(ConstantOp(DenseIntOrFPElementsAttr(result, stored), result))

    def scalar_tensor(self, value: SSAValue) -> SSAValue:
        """A tensor of rank 0."""
        return self.insert(
            FromElementsOp.create(operands=[value], result_types=[TensorType(value.type, [])])
        )

    def fill(self, value: SSAValue, sizes: Sequence[IndexOrInt]) -> SSAValue:
        """A tensor all of whose elements are one scalar."""
        return self.insert(NAMED_CLASSES["linalg.fill"]([value], [self.empty(sizes, value.type)]))

    def loops(
        self,
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap] | None,
        outputs: Sequence[SSAValue],
        output_maps: Sequence[AffineMap] | None,
        body: Body,
        iterators: Sequence[IteratorType] | None = None,
        whole: Sequence[int] = (),
    ) -> list[SSAValue]:
        """`linalg.generic`. Without maps, every loop is a dimension of every tensor.

        No device runs a part of the loops `whole`.
        """
        rank = len(iterators) if iterators is not None else len(shape(outputs[0]))
        identity = AffineMap.identity(rank)
        maps = [
            *(input_maps or [identity] * len(inputs)),
            *(output_maps or [identity] * len(outputs)),
        ]
        block = Block(arg_types=[element_type(each.type) for each in (*inputs, *outputs)])
        inner = self.inside(block)
        inner.insert_end(body(inner, block.args))
        generic = GenericOp(inputs, outputs, Region(block), maps, iterators or [PARALLEL] * rank)
        if whole:
            generic.attributes[WHOLE_LOOPS_ATTRIBUTE] = indices_attribute(whole)
        return list(self.add_op(generic).results)

    def insert_end(self, values: Sequence[SSAValue]) -> None:
        """End a loop body with what it yields."""
        self.add_op(YieldOp(*values))

    def pointwise(
        self,
        values: Sequence[SSAValue],
        element: Attribute,
        body: Body,
        whole: Sequence[int] = (),
    ) -> SSAValue:
        """A tensor of elements of a type, each made from the elements of others at its place.

        Values of rank 0 among others of a higher rank are the same everywhere. No device makes a
        part of the dimensions `whole`.
        """
        like = max(values, key=lambda value: len(shape(value)))
        rank = len(shape(like))
        ranks = [len(shape(value)) for value in values]
        maps = [
            AffineMap.identity(rank) if each == rank else AffineMap(rank, 0, ()) for each in ranks
        ]
        sizes = self.common_sizes([v for v, r in zip(values, ranks, strict=True) if r == rank])
        output = self.empty(sizes, element)
        count = len(values)
        return self.loops(
            values,
            maps,
            [output],
            None,
            lambda inner, args: body(inner, args[:count]),
            whole=whole,
        )[0]

    def nearest(self, index: SSAValue, size: IndexOrInt) -> tuple[SSAValue, SSAValue]:
        """Whether an index is one of a dimension, and the nearest one that is."""
        last = self.index(self.subtract(size, 1))
        bounded = self.op("arith.maxsi", self.op("arith.minsi", index, last), self.index(0))
        return self.compare_integers("eq", index, bounded), bounded

    def strided_place(
        self, distance: SSAValue, stride: SSAValue, count: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Whether a distance is that of one of `count` elements some stride apart, and of which.

        The index is one of an element in any case.
        """
        none = self.index(0)
        number = self.op("arith.divsi", distance, stride)
        exact = self.compare_integers("eq", self.op("arith.remsi", distance, stride), none)
        inside = self.both(exact, self.compare_integers("sge", distance, none))
        is_one, bounded = self.nearest(number, count)
        return self.both(inside, is_one), bounded

    def window_loops(
        self, windows: Sequence[IndexOrInt], outputs: Sequence[SSAValue], body: Body
    ) -> list[SSAValue]:
        """Loops over outputs, and in each over a window: a reduction.

        The body gets an element of nothing, then those of the outputs.
        """
        rank, loops = len(windows), 2 * len(windows)
        return self.loops(
            [self.empty(windows, BOOL)],
            [dims(*range(rank, loops), loops=loops)],
            outputs,
            [dims(*range(rank), loops=loops)] * len(outputs),
            body,
            [*[PARALLEL] * rank, *[REDUCTION] * rank],
        )

    def common_sizes(self, values: Sequence[SSAValue]) -> list[IndexOrInt]:
        """The sizes of tensors of one shape, known where any of them knows."""
        sizes: list[IndexOrInt] = []
        for dimension in range(len(shape(values[0]))):
            extents = [shape(value)[dimension] for value in values]
            best = max(range(len(values)), key=lambda each: extents[each])
            sizes.append(self.size(values[best], dimension))
        return sizes

    def extract_slice(
        self,
        source: SSAValue,
        offsets: Sequence[IndexOrInt],
        sizes: Sequence[IndexOrInt],
        strides: Sequence[int],
    ) -> SSAValue:
        """A part of a tensor, of the same rank. An empty one may begin behind the last element."""
        lists = [[_folded(each) for each in part] for part in (offsets, sizes)]
        if 0 in lists[1]:
            return self.empty(sizes, element_type(source.type))
        if isinstance(element_type(source.type), ComplexType):
            return self._extract_elements(source, lists[0], lists[1], strides)
        result = tensor_type(lists[1], element_type(source.type))
        return self.insert(
            ExtractSliceOp.create(
                operands=[source, *_values(lists)],
                result_types=[result],
                properties=_slice_properties(1, lists[0], lists[1], strides),
            )
        )

    # Native code has no kernels for complex numbers, and so no views of them.

    def _extract_elements(
        self,
        source: SSAValue,
        offsets: Sequence[IndexOrInt],
        sizes: Sequence[IndexOrInt],
        strides: Sequence[int],
    ) -> SSAValue:
        starts = [self.index(offset) for offset in offsets]

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            indices = [
                inner.add(start, inner.multiply(inner.loop_index(place), stride))
                for place, (start, stride) in enumerate(zip(starts, strides, strict=True))
            ]
            return [inner.element(source, indices)]

        empty = self.empty(sizes, element_type(source.type))
        return self.loops([], [], [empty], None, body)[0]

    def _insert_elements(
        self,
        source: SSAValue,
        target: SSAValue,
        offsets: Sequence[IndexOrInt],
        strides: Sequence[int],
    ) -> SSAValue:
        sizes = [self.index(size) for size in self.sizes(source)]
        starts = [self.index(offset) for offset in offsets]

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            hit = inner.constant(1, BOOL)
            indices: list[SSAValue] = []
            for place, stride in enumerate(strides):
                distance = inner.op("arith.subi", inner.loop_index(place), starts[place])
                inside, index = inner.strided_place(distance, inner.index(stride), sizes[place])
                hit = inner.both(hit, inside)
                indices.append(index)
            return [inner.select(hit, inner.element(source, indices), args[0])]

        if 0 in shape(source):
            return target
        empty = self.empty(self.sizes(target), element_type(target.type))
        return self.loops([target], None, [empty], None, body)[0]

    def insert_slice(
        self,
        source: SSAValue,
        target: SSAValue,
        offsets: Sequence[IndexOrInt],
        strides: Sequence[int],
        sizes: Sequence[IndexOrInt] | None = None,
    ) -> SSAValue:
        """A tensor with a part replaced."""
        sizes = self.sizes(source) if sizes is None else sizes
        if isinstance(element_type(source.type), ComplexType):
            return self._insert_elements(source, target, offsets, strides)
        lists = [[_folded(each) for each in part] for part in (offsets, sizes)]
        return self.insert(
            InsertSliceOp.create(
                operands=[
                    *(source, target),
                    *_values(lists),
                ],
                result_types=[target.type],
                properties=_slice_properties(2, lists[0], lists[1], strides),
            )
        )

    def pad(
        self,
        source: SSAValue,
        low: Sequence[IndexOrInt],
        high: Sequence[IndexOrInt],
        value: SSAValue,
    ) -> SSAValue:
        """A tensor with elements around it; none of the numbers is negative."""
        if not any((*low, *high)) and all(isinstance(each, int) for each in (*low, *high)):
            return source
        sizes = [
            _folded(self.add(self.add(before, size), behind))
            for before, size, behind in zip(low, self.sizes(source), high, strict=True)
        ]
        low, high = [[_folded(each) for each in part] for part in (low, high)]
        block = Block(arg_types=[INDEX] * len(sizes))
        self.inside(block).add_op(TensorYieldOp(value))
        result = tensor_type(sizes, element_type(source.type))
        return self.insert(PadOp(source, low, high, Region(block), result))

    def reshape(self, source: SSAValue, sizes: Sequence[IndexOrInt]) -> SSAValue:
        """The same elements, in row-major order, in another shape."""
        sizes = [_folded(size) for size in sizes]
        result = tensor_type(sizes, element_type(source.type))
        old, new = shape(source), tuple(result.get_shape())
        if old == new:
            return source
        if 0 in new:
            return self.empty(sizes, element_type(source.type))
        groups = None if min((*old, *new), default=0) < 0 else matching_dimensions(old, new)
        if groups is None:
            return self._reshape_at_run_time(source, sizes, result)
        if len(groups) == len(new) < len(old):
            return self.insert(collapse_shape(source, [taken for taken, _ in groups], result))
        if len(groups) == len(old) < len(new):
            return self.insert(ExpandShapeOp(source, sizes, [made for _, made in groups], result))
        return self._reshape_at_run_time(source, sizes, result)

    def _reshape_at_run_time(
        self, source: SSAValue, sizes: Sequence[IndexOrInt], result: TensorType[Any]
    ) -> SSAValue:
        if all(isinstance(size, int) for size in sizes) and min(shape(source), default=0) >= 0:
            count = 1
            for size in sizes:
                count *= cast(int, size)
            flat = self.reshape(source, [count])
            return self.reshape(flat, sizes)
        numbers = self.index_tensor(sizes)
        return self.insert(ReshapeOp.create(operands=[source, numbers], result_types=[result]))

    def index_tensor(self, sizes: Sequence[IndexOrInt]) -> SSAValue:
        """Indices as a tensor of one dimension."""
        return self.insert(
            FromElementsOp.create(
                operands=[self.index(size) for size in sizes],
                result_types=[TensorType(INDEX, [len(sizes)])],
            )
        )

    def bitcast(self, source: SSAValue, element: Attribute) -> SSAValue:
        """The bits of a tensor's elements as another type of the same width."""
        result = TensorType(element, shape(source))
        return self.insert(BitcastOp.create(operands=[source], result_types=[result]))

    def cast(self, source: SSAValue, result: Attribute) -> SSAValue:
        """A tensor as another type that says more or less of its sizes."""
        if source.type == result:
            return source
        from xdsl.dialects.tensor import CastOp

        return self.insert(CastOp.create(operands=[source], result_types=[result]))


def constant_of(value: SSAValue) -> DenseIntOrFPElementsAttr[Any] | None:
    """The dense constant that a value is."""
    owner = value.owner
    found = owner.value if isinstance(owner, ConstantOp) else None
    return found if isinstance(found, DenseIntOrFPElementsAttr) else None


def _part_of_shape(
    value: SSAValue, indices: Sequence[IndexOrInt]
) -> tuple[SSAValue, Sequence[IndexOrInt]] | None:
    """Where an element of a shape comes from that is put together of one number for each size."""
    owner = value.owner
    if len(indices) != 1 or not isinstance(indices[0], int):
        return None
    if isinstance(owner, ConcatOp) and all(shape(part) == (1,) for part in owner.inputs):
        return owner.inputs[indices[0]], [0]
    if isinstance(owner, ExpandShapeOp) and shape(owner.src) == ():
        return owner.src, []
    return None


def number_of(value: DenseIntOrFPElementsAttr[Any], place: int = 0) -> float | complex:
    """A number of a dense constant, the first by default."""
    number = cast(Any, value.get_values()[0 if is_splat(value) else place])
    if not isinstance(number, tuple):
        return cast(float, number)
    real, imaginary = cast("tuple[float, float]", number)
    return complex(real, imaginary)


def shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor, negative where it is open."""
    return tuple(cast("TensorType[Any]", value.type).get_shape())


def tensor_type(sizes: Sequence[IndexOrInt], element: Attribute) -> TensorType[Any]:
    """The type of a tensor of these sizes."""
    extents = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    return _tensor_type(tuple(extents), element)


@lru_cache(maxsize=256)
def _tensor_type(extents: tuple[int, ...], element: Attribute) -> TensorType[Any]:
    return TensorType(element, extents)


def dims(*positions: int | AffineExpr, loops: int) -> AffineMap:
    """The map from some loops to these of them."""
    results = [AffineExpr.dimension(each) if isinstance(each, int) else each for each in positions]
    return AffineMap(loops, 0, tuple(results))


def _folded(size: IndexOrInt) -> IndexOrInt:
    return known(size) if isinstance(size, SSAValue) else size


def _is_value(size: IndexOrInt) -> bool:
    return isinstance(size, SSAValue)


def _values(lists: Sequence[Sequence[IndexOrInt]]) -> list[SSAValue]:
    return [each for part in lists for each in part if isinstance(each, SSAValue)]


def _slice_properties(
    operands: int,
    offsets: Sequence[IndexOrInt],
    sizes: Sequence[IndexOrInt],
    strides: Sequence[int],
) -> dict[str, Attribute]:
    counts = [sum(map(_is_value, each)) for each in (offsets, sizes)]
    segments = DenseArrayBase.from_list(i32, [*[1] * operands, *counts, 0])
    return {**slice_properties(offsets, sizes, strides), "operandSegmentSizes": segments}

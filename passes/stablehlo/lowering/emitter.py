"""Emit ops on tensors, and `linalg.generic` loops over their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

from xdsl.dialects import scf
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

from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.dialect import NAMED_CLASSES, GenericOp
from ....dialects.linalg.structured_view import IteratorType
from ....dialects.shard.attributes import WHOLE_LOOPS_ATTRIBUTE, indices_attribute
from ....dialects.tensor.dialect import BitcastOp, PadOp
from ....dialects.tensor.reshapes import ExpandShapeOp, ReshapeOp, collapse_shape
from ....ir.attribute_access import element_type, is_splat
from ....ir.index import IndexList, IndexOrInt, known
from ....ir.index_lists import INDEX, slice_properties
from ....ir.locations import made_by
from ...sizes.matching_dimensions import matching_dimensions
from .element_origins import element_origin
from .scalar_emitter import BOOL, ScalarEmitter

Body = Callable[["Emitter", Sequence[SSAValue]], Sequence[SSAValue]]
"""Emits a loop body: takes an emitter and the block arguments, and returns the yielded scalars."""

MAX_SPLAT_SIZE = 1 << 10
"""The maximum number of elements of a splat constant: xDSL stores every repeated element."""

PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION


class Emitter(ScalarEmitter):
    """Emits tensor ops at the insertion point of its builder. Static sizes are Python ints."""

    # Tensors.

    def size(self, value: SSAValue, dimension: int) -> IndexOrInt:
        """Return the size of a dimension: an int if it is static, else a `tensor.dim`."""
        extent = shape(value)[dimension]
        if extent >= 0:
            return extent
        index = self.index(dimension)
        return self.insert(DimOp(value, index))

    def sizes(self, value: SSAValue) -> list[IndexOrInt]:
        """Return the sizes of all dimensions of a tensor."""
        return [self.size(value, dimension) for dimension in range(len(shape(value)))]

    def empty(self, sizes: IndexList, element: Attribute) -> SSAValue:
        """Emit `tensor.empty`. Sizes that are constant SSA values become static."""
        sizes = [known(size) if isinstance(size, SSAValue) else size for size in sizes]
        dynamic = [size for size in sizes if isinstance(size, SSAValue)]
        result = tensor_type(sizes, element)
        return self.insert(EmptyOp.create(operands=dynamic, result_types=[result]))

    def element(self, value: SSAValue, indices: IndexList = ()) -> SSAValue:
        """Emit the read of an element where it comes from.

        A constant or a fill may tell which scalar it is.
        """
        value, indices = element_origin(value, indices)
        filled = made_by(value, "linalg.fill")
        if filled is not None:
            return filled.operands[0]
        known_element = self.constant_element(value, indices)
        if known_element is not None:
            return known_element
        positions = [self.index(each) for each in indices]
        return self.insert(ExtractOp(value, positions, element_type(value.type)))

    def element_if(
        self, is_read: SSAValue, value: SSAValue, indices: IndexList, otherwise: SSAValue
    ) -> SSAValue:
        """Emit an element where `is_read`, which must not be where there is none, else another.

        The indices must also exist elsewhere, except in a tensor without elements.
        """
        if 0 in shape(value):
            return otherwise
        if DYNAMIC_INDEX not in shape(value):
            return self.select(is_read, self.element(value, indices), otherwise)
        kept, other = Block(), Block()
        inner = self.inside(kept)
        inner.add_op(scf.YieldOp(inner.element(value, indices)))
        self.inside(other).add_op(scf.YieldOp(otherwise))
        made = scf.IfOp(is_read, [otherwise.type], Region(kept), Region(other))
        return self.add_op(made).results[0]

    def constant_element(self, value: SSAValue, indices: IndexList = ()) -> SSAValue | None:
        """Emit an element of a constant of rank 0 or 1 as a scalar constant.

        Return `None` if the tensor is not a constant, has a higher rank, or an index is dynamic.
        """
        dense = dense_constant(value)
        known_indices = [each for each in indices if isinstance(each, int)]
        if dense is None or len(known_indices) != len(shape(value)) or len(known_indices) > 1:
            return None
        return self.constant(number_of(dense, sum(known_indices)), element_type(value.type))

    def splat(self, value: SSAValue, sizes: IndexList) -> SSAValue | None:
        """Emit a rank-0 constant repeated to `sizes` as one dense constant.

        Return `None` if `value` is not a constant of rank 0, if a size is dynamic, or if there are
        more than `MAX_SPLAT_SIZE` elements.
        """
        found = dense_constant(value)
        extents = [size for size in sizes if isinstance(size, int)]
        if found is None or shape(value) or len(extents) != len(sizes):
            return None
        if prod(extents) > MAX_SPLAT_SIZE:
            return None
        result = cast("TensorType[Any]", TensorType(element_type(value.type), extents))
        stored = BytesAttr(found.data.data * prod(extents))
        return self.insert(ConstantOp(DenseIntOrFPElementsAttr(result, stored), result))

    def scalar_tensor(self, value: SSAValue) -> SSAValue:
        """Emit a tensor of rank 0 that holds a scalar."""
        return self.insert(
            FromElementsOp.create(operands=[value], result_types=[TensorType(value.type, [])])
        )

    def fill(self, value: SSAValue, sizes: IndexList) -> SSAValue:
        """Emit `linalg.fill` of a new tensor with a scalar."""
        return self.insert(NAMED_CLASSES["linalg.fill"]([value], [self.empty(sizes, value.type)]))

    def loops(
        self,
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap] | None,
        outputs: Sequence[SSAValue],
        output_maps: Sequence[AffineMap] | None,
        body: Body,
        whole: Sequence[int] = (),
    ) -> list[SSAValue]:
        """Emit a `linalg.generic` and return its results.

        Maps default to the identity. Loops that index no output are reductions. The loops `whole`
        are not split over devices.
        """
        rank = output_maps[0].num_dims if output_maps else len(shape(outputs[0]))
        identity = [AffineMap.identity(rank)]
        written_at = output_maps or identity * len(outputs)
        maps = [*(input_maps or identity * len(inputs)), *written_at]
        written = {loop for each in written_at for loop in each.used_dims()}
        iterators = [PARALLEL if loop in written else REDUCTION for loop in range(rank)]
        block = Block(arg_types=[element_type(each.type) for each in (*inputs, *outputs)])
        inner = self.inside(block)
        inner.add_op(YieldOp(*body(inner, block.args)))
        generic = GenericOp(inputs, outputs, Region(block), maps, iterators)
        if whole:
            generic.attributes[WHOLE_LOOPS_ATTRIBUTE] = indices_attribute(whole)
        return list(self.add_op(generic).results)

    def pointwise(
        self, values: Sequence[SSAValue], element: Attribute, body: Body, whole: Sequence[int] = ()
    ) -> SSAValue:
        """Emit an elementwise op; return a tensor of `element` that has the shape of the operands.

        The operands of the highest rank have one shape; the others have rank 0 and are broadcast.
        The dimensions `whole` are not split over devices.
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

    def clamp_to_dimension(self, index: SSAValue, size: IndexOrInt) -> tuple[SSAValue, SSAValue]:
        """Return whether `0 <= index < size`, and the index clamped to that range."""
        last = self.index(self.subtract(size, 1))
        bounded = self.op("arith.maxsi", self.op("arith.minsi", index, last), self.index(0))
        return self.compare_integers("ult", index, self.index(size)), bounded

    def clamp_to_tensor(
        self, indices: IndexList, value: SSAValue
    ) -> tuple[SSAValue, list[SSAValue]]:
        """Return whether a tensor has an element at indices, and the indices clamped to it."""
        has_element, found = self.constant(1, BOOL), list[SSAValue]()
        for index, size in zip(indices, self.sizes(value), strict=True):
            is_inside, bounded = self.clamp_to_dimension(self.index(index), size)
            has_element = self.both(has_element, is_inside)
            found.append(bounded)
        return has_element, found

    def strided_index(
        self, distance: SSAValue, stride: SSAValue, count: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Return whether `distance` is `k * stride` with `0 <= k < count`, and that `k`.

        Where it is not, the second result is still an index below `count`, so it is safe to read
        at.
        """
        none = self.index(0)
        number = self.op("arith.divsi", distance, stride)
        exact = self.compare_integers("eq", self.op("arith.remsi", distance, stride), none)
        inside = self.both(exact, self.compare_integers("sge", distance, none))
        is_one, bounded = self.clamp_to_dimension(number, count)
        return self.both(inside, is_one), bounded

    def common_sizes(self, values: Sequence[SSAValue]) -> list[IndexOrInt]:
        """Return the sizes of tensors of equal shape, static where they are in any of them."""
        sizes: list[IndexOrInt] = []
        for dimension in range(len(shape(values[0]))):
            extents = [shape(value)[dimension] for value in values]
            best = max(range(len(values)), key=lambda each: extents[each])
            sizes.append(self.size(values[best], dimension))
        return sizes

    def extract_slice(
        self, source: SSAValue, offsets: IndexList, sizes: IndexList, strides: Sequence[int] = ()
    ) -> SSAValue:
        """Emit a slice of the same rank, of neighbouring elements unless there are strides.

        An empty slice may start past the last element.
        """
        strides = strides or [1] * len(sizes)
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

    def slice_along(
        self, source: SSAValue, dimension: int, offset: IndexOrInt, size: IndexOrInt = 1
    ) -> SSAValue:
        """Emit a slice that is whole in all dimensions but one."""
        sizes = self.sizes(source)
        offsets: list[IndexOrInt] = [0] * len(sizes)
        offsets[dimension], sizes[dimension] = offset, size
        return self.extract_slice(source, offsets, sizes)

    # Native code has no kernels for complex numbers, and so no slices that are views of them:
    # these are loops over elements.

    def _extract_elements(
        self, source: SSAValue, offsets: IndexList, sizes: IndexList, strides: Sequence[int]
    ) -> SSAValue:
        starts = [self.index(offset) for offset in offsets]

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            indices = [
                inner.add(start, inner.multiply(inner.loop_index(dimension), stride))
                for dimension, (start, stride) in enumerate(zip(starts, strides, strict=True))
            ]
            return [inner.element(source, indices)]

        empty = self.empty(sizes, element_type(source.type))
        return self.loops([], [], [empty], None, body)[0]

    def _insert_elements(
        self, source: SSAValue, target: SSAValue, offsets: IndexList, strides: Sequence[int]
    ) -> SSAValue:
        sizes = [self.index(size) for size in self.sizes(source)]
        starts = [self.index(offset) for offset in offsets]

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            hit = inner.constant(1, BOOL)
            indices: list[SSAValue] = []
            for dimension, stride in enumerate(strides):
                distance = inner.op("arith.subi", inner.loop_index(dimension), starts[dimension])
                inside, index = inner.strided_index(distance, inner.index(stride), sizes[dimension])
                hit = inner.both(hit, inside)
                indices.append(index)
            return [inner.element_if(hit, source, indices, args[0])]

        empty = self.empty(self.sizes(target), element_type(target.type))
        return self.loops([target], None, [empty], None, body)[0]

    def insert_slice(
        self,
        source: SSAValue,
        target: SSAValue,
        offsets: IndexList,
        strides: Sequence[int] = (),
        sizes: IndexList | None = None,
    ) -> SSAValue:
        """Return `target` with a slice replaced by `source`; `sizes` are those of `source`."""
        sizes = self.sizes(source) if sizes is None else sizes
        strides = strides or [1] * len(sizes)
        if isinstance(element_type(source.type), ComplexType):
            return self._insert_elements(source, target, offsets, strides)
        lists = [[_folded(each) for each in part] for part in (offsets, sizes)]
        return self.insert(
            InsertSliceOp.create(
                operands=[source, target, *_values(lists)],
                result_types=[target.type],
                properties=_slice_properties(2, lists[0], lists[1], strides),
            )
        )

    def pad(self, source: SSAValue, low: IndexList, high: IndexList, value: SSAValue) -> SSAValue:
        """Return a tensor padded with a scalar; no padding may be negative."""
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

    def reshape(self, source: SSAValue, sizes: IndexList) -> SSAValue:
        """Return the same elements, in row-major order, in another shape.

        Emits `tensor.collapse_shape` or `tensor.expand_shape` where one suffices, else
        `tensor.reshape`.
        """
        sizes = [_folded(size) for size in sizes]
        result = tensor_type(sizes, element_type(source.type))
        old, new = shape(source), tuple(result.get_shape())
        if old == new and (old.count(DYNAMIC_INDEX) < 2 or _are_sizes_of(source, sizes)):
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
        self, source: SSAValue, sizes: IndexList, result: TensorType[Any]
    ) -> SSAValue:
        extents = [size for size in sizes if isinstance(size, int)]
        if len(extents) == len(sizes) and min(shape(source), default=0) >= 0:
            flat = self.reshape(source, [prod(extents)])
            return self.reshape(flat, sizes)
        numbers = self.index_tensor(sizes)
        return self.insert(ReshapeOp.create(operands=[source, numbers], result_types=[result]))

    def concatenate(self, parts: Sequence[SSAValue], dimension: int) -> SSAValue:
        """Emit `tensor.concat` of one or more tensors."""
        if len(parts) == 1:
            return parts[0]
        extents = [shape(part)[dimension] for part in parts]
        sizes = [max(each) for each in zip(*map(shape, parts), strict=True)]
        sizes[dimension] = sum(extents) if min(extents) >= 0 else DYNAMIC_INDEX
        result = tensor_type(sizes, element_type(parts[0].type))
        return self.insert(ConcatOp(parts, dimension, result))

    def index_tensor(self, sizes: IndexList) -> SSAValue:
        """Emit indices as a tensor of rank 1."""
        return self.insert(
            FromElementsOp.create(
                operands=[self.index(size) for size in sizes],
                result_types=[TensorType(INDEX, [len(sizes)])],
            )
        )

    def bitcast(self, source: SSAValue, element: Attribute) -> SSAValue:
        """Emit `tensor.bitcast` to another element type of the same width."""
        result = TensorType(element, shape(source))
        return self.insert(BitcastOp.create(operands=[source], result_types=[result]))

    def cast(self, source: SSAValue, result: Attribute) -> SSAValue:
        """Emit `tensor.cast` to a type with other static sizes; a no-op for equal types."""
        if source.type == result:
            return source
        from xdsl.dialects.tensor import CastOp

        return self.insert(CastOp.create(operands=[source], result_types=[result]))


def dense_constant(value: SSAValue) -> DenseIntOrFPElementsAttr[Any] | None:
    """Return the dense attribute of the `arith.constant` that defines a value, else `None`."""
    owner = value.owner
    found = owner.value if isinstance(owner, ConstantOp) else None
    return found if isinstance(found, DenseIntOrFPElementsAttr) else None


def number_of(value: DenseIntOrFPElementsAttr[Any], index: int = 0) -> float | complex:
    """Return the number at a position of a dense constant, the first by default."""
    number = cast(Any, value.get_values()[0 if is_splat(value) else index])
    if not isinstance(number, tuple):
        return cast(float, number)
    real, imaginary = cast("tuple[float, float]", number)
    return complex(real, imaginary)


def shape(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a tensor value; dynamic sizes are negative."""
    return tuple(cast("TensorType[Any]", value.type).get_shape())


def tensor_type(sizes: IndexList, element: Attribute) -> TensorType[Any]:
    """Return the tensor type with these sizes; SSA values are dynamic."""
    extents = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    return _tensor_type(tuple(extents), element)


@lru_cache(maxsize=256)
def _tensor_type(extents: tuple[int, ...], element: Attribute) -> TensorType[Any]:
    return TensorType(element, extents)


def dims(*positions: int | AffineExpr, loops: int) -> AffineMap:
    """Return the affine map from `loops` dimensions to these positions or expressions."""
    results = [AffineExpr.dimension(each) if isinstance(each, int) else each for each in positions]
    return AffineMap(loops, 0, tuple(results))


def dims_but(dimension: int, loops: int) -> AffineMap:
    """Return the affine map from `loops` dimensions to all of them but one."""
    return dims(*(each for each in range(loops) if each != dimension), loops=loops)


def _are_sizes_of(source: SSAValue, sizes: IndexList) -> bool:
    """Whether each dynamic size is the `tensor.dim` of that dimension of `source`."""
    return all(
        isinstance(size, int)
        or (
            (made := made_by(size, "tensor.dim")) is not None
            and made.operands[0] is source
            and known(made.operands[1]) == dimension
        )
        for dimension, size in enumerate(sizes)
    )


def _folded(size: IndexOrInt) -> IndexOrInt:
    return known(size) if isinstance(size, SSAValue) else size


def _values(lists: Sequence[IndexList]) -> list[SSAValue]:
    return [each for part in lists for each in part if isinstance(each, SSAValue)]


def _slice_properties(
    operands: int, offsets: IndexList, sizes: IndexList, strides: Sequence[int]
) -> dict[str, Attribute]:
    counts = [len(_values([each])) for each in (offsets, sizes)]
    segments = DenseArrayBase.from_list(i32, [*[1] * operands, *counts, 0])
    return {**slice_properties(offsets, sizes, strides), "operandSegmentSizes": segments}

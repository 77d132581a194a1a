"""Finish partial results: choose the collective, and emit the conversions that it needs.

Collectives implement signed minimum and maximum. Unsigned ones use these with the sign bit flipped;
on `i1` every reduction is a bitwise one. Reductions without a collective are gathered and combined
locally: `maxnumf` and `minnumf`, which drop NaNs, and results that combine jointly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import copysign
from typing import Any, cast

from xdsl.dialects import arith, complex, tensor
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.dialect import GenericOp
from ....dialects.linalg.joint_combiners import JointCombiner, joint_combiner
from ....dialects.linalg.region_ops import ReduceOp
from ....dialects.linalg.structured_view import IteratorType, structured_view
from ....dialects.shard.collectives import AllGatherOp
from ....dialects.tensor.reshapes import ExpandShapeOp
from ....ir.attribute_access import attribute
from ....ir.combiners import COMPLEX_SUM, Combiner
from ....ir.diagnostics import OperationError
from ....ir.locations import made_by
from ....ir.tensor_types import integer_width, ranked, shape_of
from ....sharding.grid import Grid
from ....sharding.op_sharding import pending_reductions
from ....sharding.sharding import Axes, Sharding, without_new_partials
from ..rules.combiners import JOINT
from .emitter import Emitter
from .local_types import tensor_type_of, with_shape
from .partitioner import OpSharding, Partitioner
from .rematerializable import splat_of, splat_parts

_UNSIGNED = frozenset({"arith.maxui", "arith.minui"})

_COUNTED = frozenset(
    {"arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.xori", COMPLEX_SUM}
)
"""Combiners whose result changes if the initial value takes part twice."""


def finish_result(chosen: OpSharding, index: int, value: SSAValue) -> None:
    """Record a result of a partitioned operation, with its reductions finished as users want them.

    Raises OperationError if the partial results cannot be combined.
    """
    operation = chosen.operation
    result = operation.results[index]
    made = chosen.result_shardings[index]
    partials, gathered = pending_reductions(chosen.rule, chosen.factor_axes, index)
    if chosen.inherited_partials:
        made = replace(made, partials=chosen.inherited_partials)
    if not partials and not gathered:
        chosen.partitioner.place(result, value, made)
        return
    combiner = chosen.combiners[index]
    if gathered and combiner is None:
        raise OperationError(
            operation,
            f"is split along a reduction, but partial results #{index} cannot be combined",
        )
    if gathered and combiner is not None:
        value = _combine_gathered(chosen.emitter, value, made, gathered, combiner)
        chosen.partitioner.place(result, value, made)
        return
    unsigned = combiner is not None and combiner.operation in _UNSIGNED
    flipped = unsigned and integer_width(_element(value)) > 1
    if flipped:
        value = flip_sign(chosen.emitter, value)
    pending = Sharding(made.grid, made.dimension_axes, partials, offsets=made.offsets)
    chosen.partitioner.place(result, value, pending)
    wanted = chosen.partitioner.destination(result) or chosen.partitioner.annotations.wanted(result)
    target = made
    if wanted is not None and wanted.grid == made.grid:
        target = without_new_partials(pending, wanted)
        if flipped:
            target = target.without_partials()
    value = chosen.partitioner.demand(result, target)
    if flipped:
        value = flip_sign(chosen.emitter, value)
    chosen.partitioner.place(result, value, target)


def _element(value: SSAValue) -> Attribute:
    tensor_type = ranked(value)
    return value.type if tensor_type is None else tensor_type.element_type


def flip_sign(emitter: Emitter, value: SSAValue) -> SSAValue:
    """Flip the highest bit of integers, which maps unsigned order to signed order."""
    mask = splat_like(emitter, value, -(1 << (integer_width(_element(value)) - 1)))
    return emitter.insert(arith.XOrIOp(value, mask))


def scalar_attribute(number: float, element: Attribute) -> FloatAttr | IntegerAttr:
    """Return a number as an attribute of an element type; integers wrap.

    Raises ValueError for other element types.
    """
    if isinstance(element, AnyFloat):
        return FloatAttr(float(number), element)
    if isinstance(element, IntegerType | IndexType):
        kind = cast("IntegerType[int] | IndexType", element)
        return IntegerAttr(int(number), kind, truncate_bits=True)
    raise ValueError(f"{element} is not a type of numbers")


def scalar_constant(emitter: Emitter, number: float, element: Attribute) -> SSAValue:
    """Return a constant of an element type, emitted once."""
    return emitter.once(
        ("scalar", element, repr(number)), lambda: emitter.insert(_constant(number, element))
    )


def _constant(number: float, element: Attribute) -> Operation:
    if not isinstance(element, ComplexType):
        return arith.ConstantOp(scalar_attribute(number, element))
    part = cast("Attribute", cast(Any, element).element_type)
    parts = [scalar_attribute(each, part) for each in (number, copysign(0.0, number))]
    return complex.ConstantOp(cast(Any, ArrayAttr(parts)), cast(Any, element))


def splat_like(emitter: Emitter, value: SSAValue, number: float) -> SSAValue:
    """Return a tensor of the shape of `value` filled with one number.

    Raises ValueError if `value` is not a ranked tensor.
    """
    tensor_type = ranked(value)
    if tensor_type is None:
        raise ValueError(f"{value.type} is not a ranked tensor")
    element = scalar_constant(emitter, number, tensor_type.element_type)
    if tensor_type.has_static_shape():
        return emitter.once(
            ("splat", element, tensor_type),
            lambda: emitter.insert(tensor.SplatOp(element, [], tensor_type)),
        )
    sizes = [emitter.dimension(value, each) for each in range(tensor_type.get_num_dims())]
    dynamic = emitter.dynamic_sizes(tensor_type, sizes)
    return emitter.insert(tensor.SplatOp(element, dynamic, tensor_type))


def combine(emitter: Emitter, combiner: Combiner, left: SSAValue, right: SSAValue) -> SSAValue:
    """Emit `combiner(left, right)` on two scalars or two tensors."""
    return emitter.insert(_COMBINING[combiner.operation](left, right))


def _complex_sum(left: SSAValue, right: SSAValue) -> Operation:
    """Create the sum of scalars, or of tensors as a `linalg.generic`: `complex.add` takes none."""
    tensor_type = ranked(left)
    if tensor_type is None:
        return complex.AddOp(left, right)
    rank = tensor_type.get_num_dims()
    block = Block(arg_types=[tensor_type.element_type] * 2)
    inner = complex.AddOp(block.args[0], block.args[1])
    block.add_ops([inner, YieldOp(inner.result)])
    maps = [AffineMap.identity(rank)] * 2
    return GenericOp([left], [right], Region(block), maps, [IteratorType.PARALLEL] * rank)


_COMBINING: dict[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "arith.addf": arith.AddfOp,
    "arith.addi": arith.AddiOp,
    "arith.maxnumf": arith.MaxnumfOp,
    "arith.minnumf": arith.MinnumfOp,
    "arith.mulf": arith.MulfOp,
    "arith.muli": arith.MuliOp,
    "arith.xori": arith.XOrIOp,
    COMPLEX_SUM: _complex_sum,
}


def _combine_gathered(
    emitter: Emitter, value: SSAValue, made: Sharding, axes: Axes, combiner: Combiner
) -> SSAValue:
    """Gather the partial results along a new leading dimension, and combine them locally."""
    tensor_type = tensor_type_of(value)
    gathered = gather_partials(emitter, value, made.grid, axes)
    element = tensor_type.element_type
    start = splat_like(emitter, value, combiner.neutral(element))
    block = Block(arg_types=[element, element])
    inner = _COMBINING[combiner.operation](*block.args)
    block.add_ops([inner, YieldOp(inner.results[0])])
    return emitter.insert(ReduceOp([gathered], [start], [0], Region(block)))


def gather_partials(emitter: Emitter, value: SSAValue, grid: Grid, axes: Axes) -> SSAValue:
    """Gather the partial results of the processes along `axes` along a new leading dimension."""
    tensor_type = tensor_type_of(value)
    expanded = _with_leading_one(emitter, value, tensor_type)
    gathered_type = with_shape(tensor_type, (grid.size(axes), *shape_of(tensor_type)))
    return emitter.insert(AllGatherOp(expanded, grid.name, axes, gathered_type, gather_axis=0))


def _with_leading_one(
    emitter: Emitter, value: SSAValue, tensor_type: TensorType[Attribute]
) -> SSAValue:
    """Return the tensor with a leading dimension of extent 1."""
    shape = shape_of(tensor_type)
    rank = len(shape)
    result = with_shape(tensor_type, (1, *shape))
    if rank == 0:
        element = emitter.insert(tensor.ExtractOp(value, [], tensor_type.element_type))
        return emitter.insert(tensor.FromElementsOp(element, result_type=result))
    groups = [[0, 1], *([dimension + 1] for dimension in range(1, rank))]
    sizes = [1, *(emitter.dimension(value, dimension) for dimension in range(rank))]
    return emitter.insert(ExpandShapeOp(value, sizes, groups, result))


def counts_initial_value(combiner: Combiner, partitioner: Partitioner, init: SSAValue) -> bool:
    """Return whether an initial value must take part only once, not once on each process."""
    if combiner.operation not in _COUNTED:
        return False
    return not is_splat_of(partitioner, init, combiner)


def is_splat_of(partitioner: Partitioner, value: SSAValue, combiner: Combiner) -> bool:
    """Return whether a tensor is known to be filled with the neutral element of a combiner."""
    source = partitioner.rematerializable_of(value)
    tensor_type: TensorType[Attribute] | None = ranked(value)
    if source is None or tensor_type is None:
        return False
    neutral = combiner.neutral(tensor_type.element_type)
    operation = source.operation
    if operation.name in ("linalg.fill", "tensor.splat"):
        parts = _constant_parts(operation.operands[0])
    else:
        splat = splat_of(operation)
        parts = () if splat is None else splat_parts(splat)
    return bool(parts) and all(
        isinstance(part, IntegerAttr | FloatAttr) and part.value.data == wanted
        for part, wanted in zip(parts, (neutral, 0), strict=False)
    )


def _constant_parts(scalar: SSAValue) -> Sequence[Attribute | None]:
    """Return a constant, or both parts of a complex one; `None` for each that is computed."""
    if (made := made_by(scalar, "complex.create")) is not None:
        return [part for operand in made.operands for part in _constant_parts(operand)]
    source = made_by(scalar, "arith.constant", "complex.constant")
    held = None if source is None else attribute(source, "value")
    return cast("ArrayAttr[Attribute]", held).data if isinstance(held, ArrayAttr) else (held,)


def combines_jointly(chosen: OpSharding) -> bool:
    """Return whether a split reduction has results that combine jointly."""
    return bool(chosen.reduced_axes) and JOINT in chosen.combiners


def finish_jointly(chosen: OpSharding, made: Operation, outputs: Sequence[SSAValue]) -> None:
    """Combine and record the partial results of a local reduction with a joint combiner.

    `outputs` are its local initial values, which may take part again.
    """
    view = structured_view(chosen.operation)
    combiner = None if view is None else joint_combiner(view)
    assert combiner is not None
    axes = chosen.reduced_axes
    emitter = chosen.emitter
    gathered = [gather_partials(emitter, value, chosen.grid, axes) for value in made.results]
    reduced = ReduceOp(gathered, outputs, [0], Region(_joint_body(combiner)))
    emitter.insert(reduced)
    for result, value, sharding in zip(
        chosen.operation.results, reduced.results, chosen.result_shardings, strict=True
    ):
        chosen.partitioner.place(result, value, sharding)


def _joint_body(combiner: JointCombiner) -> Block:
    """Return a body with the combination alone, in which partial results replace the candidates."""
    types = [value.type for value in combiner.accumulators]
    block = Block(arg_types=[*types, *types])
    originals = (*combiner.candidates, *combiner.accumulators)
    mapper: dict[SSAValue, SSAValue] = dict(zip(originals, block.args, strict=True))
    for operation in combiner.operations:
        block.add_op(operation.clone(mapper))
    block.add_op(YieldOp(*(mapper[result] for result in combiner.results)))
    return block

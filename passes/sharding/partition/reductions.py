"""How partial results are finished: by which collective, and what must be done around it.

The collectives know signed minimum and maximum. Unsigned ones go through them with the sign bit
flipped; on single bits every reduction is a bitwise one. What no collective computes is gathered
and combined locally: `maxnumf`, which drops NaNs, and results that combine together. A pending
reduction is carried through operations that may work on partial results, so that it is done where
it costs least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from ....dialects.linalg.region_ops import ReduceOp
from ....dialects.linalg.structured_view import IteratorType, structured_view
from ....dialects.shard.dialect import AllGatherOp
from ....dialects.tensor.reshapes import ExpandShapeOp
from ....ir.attribute_access import attribute
from ....ir.diagnostics import OperationError
from ....ir.locations import made_by
from ....ir.tensor_types import ranked, shape_of
from ....sharding.grid import Grid
from ....sharding.op_sharding import pending_reductions
from ....sharding.sharding import Axes, Partial, ReductionKind, Sharding, without_new_partials
from ..rules.combiners import COMPLEX_SUM, JOINT, Combiner
from ..rules.variadic_reductions import JointCombiner, joint_combiner
from .emitter import Emitter
from .local_types import tensor_type_of, with_shape
from .op_sharding import OpSharding
from .partitioner import Partitioner
from .rematerializable import splat_of

_UNSIGNED = frozenset({"arith.maxui", "arith.minui"})

_COUNTED = frozenset(
    {"arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.xori", COMPLEX_SUM}
)
"""Combiners that give another result when an initial value takes part twice."""


def bits(element_type: Attribute) -> int:
    """The width of integers, 64 for indices."""
    if not isinstance(element_type, IntegerType):
        return 64
    return cast(IntegerType[int], element_type).bitwidth


def is_bit(element_type: Attribute) -> bool:
    """Whether elements are `i1`."""
    return bits(element_type) == 1


def finish_result(
    partitioner: Partitioner, spread: OpSharding, index: int, value: SSAValue
) -> None:
    """Record a result of a spread operation, its pending reductions done as they are wanted."""
    operation = spread.operation
    result = operation.results[index]
    made = spread.result_shardings[index]
    factor_axes = [axes for axes, _ in spread.assignment]
    partials, gathered = pending_reductions(spread.rule, factor_axes, index)
    if spread.carried:
        made = replace(made, partials=spread.carried)
    if not partials and not gathered:
        partitioner.place(result, value, made)
        return
    combiner = spread.combiners[index]
    if gathered and combiner is None:
        raise OperationError(
            operation, f"is split along a reduction, but partial results #{index} do not combine"
        )
    if gathered and combiner is not None:
        value = _combine_gathered(partitioner.emitter, value, made, gathered, combiner)
        partitioner.place(result, value, made)
        return
    unsigned = combiner is not None and combiner.operation in _UNSIGNED
    flipped = unsigned and not is_bit(_element(value))
    if flipped:
        value = flip_sign(partitioner.emitter, value)
    pending = Sharding(made.grid, made.dimension_axes, partials, offsets=made.offsets)
    partitioner.place(result, value, pending)
    wanted = partitioner.destination(result) or partitioner.annotations.wanted(result)
    target = made
    if wanted is not None and wanted.grid == made.grid:
        target = without_new_partials(pending, wanted)
        if flipped:
            target = target.without_partials()
    value = partitioner.demand(result, target)
    if flipped:
        value = flip_sign(partitioner.emitter, value)
    partitioner.place(result, value, target)


def _element(value: SSAValue) -> Attribute:
    tensor_type = ranked(value)
    return value.type if tensor_type is None else tensor_type.element_type


def flip_sign(emitter: Emitter, value: SSAValue) -> SSAValue:
    """The integers with their highest bit flipped: unsigned order becomes signed order."""
    mask = splat_like(emitter, value, -(1 << (bits(_element(value)) - 1)))
    return emitter.insert(arith.XOrIOp(value, mask))


def scalar_attribute(number: float, element: Attribute) -> FloatAttr | IntegerAttr:
    """A number as an attribute of an element type; integers wrap."""
    if isinstance(element, AnyFloat):
        return FloatAttr(float(number), element)
    if isinstance(element, IntegerType):
        width = bits(cast(Attribute, element))
        wrapped = int(number) & ((1 << width) - 1)
        if wrapped >> (width - 1) and width > 1:
            wrapped -= 1 << width
        return IntegerAttr(wrapped, cast(IntegerType[int], element))
    if isinstance(element, IndexType):
        return IntegerAttr(int(number), element)
    raise ValueError(f"{element} has no numbers")


def scalar_constant(emitter: Emitter, number: float, element: Attribute) -> SSAValue:
    """A number of an element type."""
    return emitter.once(
        ("scalar", element, repr(number)), lambda: emitter.insert(_constant(number, element))
    )


def _constant(number: float, element: Attribute) -> Operation:
    if not isinstance(element, ComplexType):
        return arith.ConstantOp(scalar_attribute(number, element))
    part = cast("Attribute", cast(Any, element).element_type)
    parts = [scalar_attribute(each, part) for each in (number, 0.0)]
    return complex.ConstantOp(cast(Any, ArrayAttr(parts)), cast(Any, element))


def splat_like(emitter: Emitter, value: SSAValue, number: float) -> SSAValue:
    """A tensor of the shape of another, every element one number."""
    tensor_type = ranked(value)
    if tensor_type is None:
        raise ValueError(f"{value.type} is no ranked tensor")
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
    """`combiner(left, right)` of two scalars or two tensors."""
    return emitter.insert(_COMBINING[combiner.operation](left, right))


def _complex_sum(left: SSAValue, right: SSAValue) -> Operation:
    """The sum of two scalars, or a loop nest over those of tensors: `complex.add` takes none."""
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
    """Collect the partial results along a new leading dimension, and combine them locally."""
    tensor_type = tensor_type_of(value)
    gathered = gather_partials(emitter, value, made.grid, axes)
    element = tensor_type.element_type
    start = splat_like(emitter, value, combiner.neutral(element))
    block = Block(arg_types=[element, element])
    inner = _COMBINING[combiner.operation](*block.args)
    block.add_ops([inner, YieldOp(inner.results[0])])
    return emitter.insert(ReduceOp([gathered], [start], [0], Region(block)))


def gather_partials(emitter: Emitter, value: SSAValue, grid: Grid, axes: Axes) -> SSAValue:
    """The partial results of the processes along some axes, along a new leading dimension."""
    tensor_type = tensor_type_of(value)
    expanded = _with_leading_one(emitter, value, tensor_type)
    gathered_type = with_shape(tensor_type, (grid.size(axes), *shape_of(tensor_type)))
    return emitter.insert(AllGatherOp(expanded, grid.name, axes, gathered_type, gather_axis=0))


def _with_leading_one(
    emitter: Emitter, value: SSAValue, tensor_type: TensorType[Attribute]
) -> SSAValue:
    """The tensor with a dimension of extent 1 before the others."""
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
    """Whether an initial value must take part once only, rather than once on each process."""
    if combiner.operation not in _COUNTED:
        return False
    return not is_splat_of(partitioner, init, combiner)


def is_splat_of(partitioner: Partitioner, value: SSAValue, combiner: Combiner) -> bool:
    """Whether a tensor is known to hold the neutral element of a combiner everywhere."""
    creation = partitioner.creation_of(value)
    tensor_type: TensorType[Attribute] | None = ranked(value)
    if creation is None or tensor_type is None:
        return False
    neutral = combiner.neutral(tensor_type.element_type)
    operation = creation.operation
    if operation.name in ("linalg.fill", "tensor.splat"):
        parts = _constant_parts(operation.operands[0])
    else:
        splat = splat_of(operation)
        parts = () if splat is None else (splat.get_attrs()[0],)
    return bool(parts) and all(
        isinstance(part, IntegerAttr | FloatAttr) and part.value.data == wanted
        for part, wanted in zip(parts, (neutral, 0), strict=False)
    )


def _constant_parts(scalar: SSAValue) -> Sequence[Attribute | None]:
    """A constant, or the parts of a complex one; `None` for what is computed."""
    if (made := made_by(scalar, "complex.create")) is not None:
        return [part for operand in made.operands for part in _constant_parts(operand)]
    source = made_by(scalar, "arith.constant", "complex.constant")
    held = None if source is None else attribute(source, "value")
    return cast("ArrayAttr[Attribute]", held).data if isinstance(held, ArrayAttr) else (held,)


# Results that combine together


def combines_jointly(spread: OpSharding) -> bool:
    """Whether a reduction is split whose results combine together."""
    return spread.reduces and JOINT in spread.combiners


def finish_jointly(
    partitioner: Partitioner, spread: OpSharding, made: Operation, outputs: Sequence[SSAValue]
) -> None:
    """Record the results of an operation that has reduced this process's part.

    `outputs`: its local initial values. They may take part again.
    """
    view = structured_view(spread.operation)
    combiner = None if view is None else joint_combiner(view)
    assert combiner is not None
    _, axes = pending_reductions(spread.rule, [axes for axes, _ in spread.assignment], 0)
    emitter = partitioner.emitter
    gathered = [gather_partials(emitter, value, spread.grid, axes) for value in made.results]
    reduced = ReduceOp(gathered, outputs, [0], Region(_joint_body(combiner)))
    emitter.insert(reduced)
    for result, value, sharding in zip(
        spread.operation.results, reduced.results, spread.result_shardings, strict=True
    ):
        partitioner.place(result, value, sharding)


def _joint_body(combiner: JointCombiner) -> Block:
    """The combination alone: partial results take the place of the candidates."""
    types = [value.type for value in combiner.accumulators]
    block = Block(arg_types=[*types, *types])
    originals = (*combiner.candidates, *combiner.accumulators)
    mapper: dict[SSAValue, SSAValue] = dict(zip(originals, block.args, strict=True))
    for operation in combiner.operations:
        block.add_op(operation.clone(mapper))
    block.add_op(YieldOp(*(mapper[result] for result in combiner.results)))
    return block


# Reductions that are carried on: f(a0) + f(a1) = f(a0 + a1)

MOVES = frozenset(
    {
        "linalg.transpose",
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.expand_shape",
        "tensor.extract_slice",
        "tosa.identity",
        "tosa.reshape",
        "tosa.reverse",
        "tosa.slice",
        "tosa.transpose",
    }
)
"""Operations that give elements of their first operand: reductions of any kind pass."""

NEGATIONS = frozenset({"arith.negf"})

SUMS = frozenset(
    {
        "arith.addf",
        "arith.addi",
        "arith.subf",
        "arith.subi",
        "linalg.add",
        "linalg.sub",
        "tosa.add",
        "tosa.sub",
    }
)
"""Sums and differences of their first two operands, if both are partial in the same way."""

PRODUCTS = frozenset({"arith.mulf", "arith.muli", "linalg.mul"})
"""Products of their first two operands, if only one of them is partial."""

QUOTIENTS = frozenset({"arith.divf", "linalg.div"})
"""Quotients whose dividend alone is partial."""


def carried_partials(
    operation: Operation, held: Sequence[Sharding | None]
) -> tuple[tuple[Partial, ...], tuple[int, ...]]:
    """The pending reductions that an operation can carry on, and the operands that have them.

    `held` are the shardings of the operands. Both are empty where reductions must be done first.
    """
    partials = [sharding.partials if sharding is not None else () for sharding in held]
    if not any(partials):
        return (), ()
    name, first = operation.name, partials[0]
    if name in MOVES:
        return (first, (0,)) if first else ((), ())
    if not all(p.kind is ReductionKind.SUM for own in partials for p in own):
        return (), ()
    if name in NEGATIONS:
        return first, (0,)
    if len(partials) < 2:
        return (), ()
    second = partials[1]
    if name in SUMS and first == second:
        return first, (0, 1)
    if name in PRODUCTS and bool(first) != bool(second):
        return (first, (0,)) if first else (second, (1,))
    if name in QUOTIENTS and first and not second:
        return first, (0,)
    return (), ()

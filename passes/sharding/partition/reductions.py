"""How partial results are finished: by which collective, and what must be done around it.

The collectives know signed minimum and maximum. Unsigned ones go through them with the sign bit
flipped; on single bits every reduction is a bitwise one. What no collective computes (`maxnumf`,
which drops NaNs) is gathered and combined locally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.linalg.bodies import YieldOp
from ....dialects.linalg.region_ops import ReduceOp
from ....dialects.shard.dialect import AllGatherOp
from ....dialects.tensor.reshapes import ExpandShapeOp
from ....ir.diagnostics import OperationError
from ....ir.tensor_types import ranked, shape_of
from ....sharding.factor_placement import pending_reductions, without_new_partials
from ....sharding.factors import Factor, FactorKind, FactorRule
from ....sharding.grid import Grid
from ....sharding.sharding import Axes, ReductionKind, Sharding
from ..rules.combiners import Combiner
from .emitter import Emitter
from .local_types import tensor_type_of, with_shape
from .op_sharding import OpSharding
from .partitioner import Partitioner
from .rematerializable import splat_of

_UNSIGNED = {"arith.maxui": ReductionKind.MAX, "arith.minui": ReductionKind.MIN}

_ON_BITS = {
    "arith.addi": ReductionKind.BITWISE_XOR,
    "arith.muli": ReductionKind.BITWISE_AND,
    "arith.andi": ReductionKind.BITWISE_AND,
    "arith.ori": ReductionKind.BITWISE_OR,
    "arith.xori": ReductionKind.BITWISE_XOR,
    "arith.maxui": ReductionKind.BITWISE_OR,
    "arith.minui": ReductionKind.BITWISE_AND,
    # A set bit is -1 where bits have a sign.
    "arith.maxsi": ReductionKind.BITWISE_AND,
    "arith.minsi": ReductionKind.BITWISE_OR,
}
"""Reductions of `i1`, whose arithmetic is modulo two."""

_COUNTED = frozenset({"arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.xori"})
"""Combiners that give another result when an initial value takes part twice."""


def bits(element_type: Attribute) -> int:
    """The width of integers, 64 for indices."""
    if not isinstance(element_type, IntegerType):
        return 64
    return cast(IntegerType[int], element_type).bitwidth


def is_bit(element_type: Attribute) -> bool:
    """Whether elements are `i1`."""
    return bits(element_type) == 1


def with_kinds(
    operation: Operation, rule: FactorRule, combiners: Sequence[Combiner | None]
) -> FactorRule:
    """The rule with the collectives that are used for each result's element type."""
    kinds: list[ReductionKind | None] = []
    for result, combiner in zip(operation.results, combiners, strict=True):
        tensor_type = ranked(result)
        if combiner is None or tensor_type is None:
            kinds.append(None)
        elif is_bit(tensor_type.element_type):
            kinds.append(_ON_BITS.get(combiner.operation, combiner.kind))
        else:
            kinds.append(_UNSIGNED.get(combiner.operation, combiner.kind))
    factors = tuple(
        replace(factor, reductions=_of_factor(factor, kinds, combiners))
        if factor.kind is FactorKind.REDUCTION
        else factor
        for factor in rule.factors
    )
    return replace(rule, factors=factors)


def _of_factor(
    factor: Factor,
    kinds: Sequence[ReductionKind | None],
    combiners: Sequence[Combiner | None],
) -> tuple[ReductionKind | None, ...]:
    """The kinds of one factor: none where its rule gives another than the results' combiners."""
    return tuple(
        kind
        if combiner is None or declared in (None, ReductionKind.GENERIC, combiner.kind)
        else None
        for kind, combiner, declared in zip(
            kinds, combiners, factor.reductions or (None,) * len(kinds), strict=True
        )
    )


def finish_result(
    partitioner: Partitioner, spread: OpSharding, index: int, value: SSAValue
) -> None:
    """Record a result of a spread operation, its pending reductions done as they are wanted."""
    operation = spread.operation
    result = operation.results[index]
    made = spread.result_shardings[index]
    partials, group = pending_reductions(spread.grid, spread.rule, spread.assignment, index)
    if spread.carried:
        made = replace(made, partials=spread.carried)
    if not partials and not group:
        partitioner.place(result, value, made)
        return
    combiner = spread.combiners[index]
    if combiner is None:
        raise OperationError(
            operation, f"is split along a reduction, but partial results #{index} do not combine"
        )
    if group:
        axes = tuple(
            axis
            for factor, (split, _) in zip(spread.rule.factors, spread.assignment, strict=True)
            if factor.kind is FactorKind.REDUCTION
            for axis in split
        )
        value = _combine_gathered(partitioner.emitter, value, made, axes, combiner)
        partitioner.place(result, value, made)
        return
    flipped = combiner.operation in _UNSIGNED and not is_bit(_element(value))
    if flipped:
        value = flip_sign(partitioner.emitter, value)
    pending = Sharding(made.grid, made.dimension_axes, partials, offsets=made.offsets)
    partitioner.place(result, value, pending)
    wanted = partitioner.destination(result) or partitioner.wanted(result)
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
    return emitter.help(arith.XOrIOp(value, mask))


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
    scalar = scalar_attribute(number, element)
    return emitter.once(
        ("scalar", element, repr(number)), lambda: emitter.help(arith.ConstantOp(scalar))
    )


def splat_like(emitter: Emitter, value: SSAValue, number: float) -> SSAValue:
    """A tensor of the shape of another, every element one number."""
    tensor_type = ranked(value)
    if tensor_type is None:
        raise ValueError(f"{value.type} is no ranked tensor")
    element = scalar_constant(emitter, number, tensor_type.element_type)
    if tensor_type.has_static_shape():
        return emitter.once(
            ("splat", element, tensor_type),
            lambda: emitter.help(tensor.SplatOp(element, [], tensor_type)),
        )
    sizes = [
        emitter.index(emitter.dimension(value, dimension))
        for dimension, extent in enumerate(tensor_type.get_shape())
        if extent == DYNAMIC_INDEX
    ]
    return emitter.help(tensor.SplatOp(element, sizes, tensor_type))


def combine(emitter: Emitter, combiner: Combiner, left: SSAValue, right: SSAValue) -> SSAValue:
    """`combiner(left, right)` of two scalars or two tensors."""
    return emitter.help(_combining(combiner, left, right))


def _combining(combiner: Combiner, left: SSAValue, right: SSAValue) -> Operation:
    make: dict[str, type[Operation]] = {
        f"arith.{name}": getattr(arith, cls)
        for name, cls in (
            ("addf", "AddfOp"),
            ("addi", "AddiOp"),
            ("mulf", "MulfOp"),
            ("muli", "MuliOp"),
            ("xori", "XOrIOp"),
            ("maxnumf", "MaxnumfOp"),
            ("minnumf", "MinnumfOp"),
        )
    }
    return make[combiner.operation](left, right)  # pyright: ignore[reportCallIssue]


def _combine_gathered(
    emitter: Emitter, value: SSAValue, made: Sharding, axes: Axes, combiner: Combiner
) -> SSAValue:
    """Collect the partial results along a new leading dimension, and combine them locally."""
    tensor_type = tensor_type_of(value)
    gathered = gather_partials(emitter, value, made.grid, axes)
    element = tensor_type.element_type
    start = splat_like(emitter, value, combiner.neutral(element))
    block = Block(arg_types=[element, element])
    inner = _combining(combiner, block.args[0], block.args[1])
    block.add_ops([inner, YieldOp(inner.results[0])])
    return emitter.help(ReduceOp([gathered], [start], [0], Region(block)))


def gather_partials(emitter: Emitter, value: SSAValue, grid: Grid, axes: Axes) -> SSAValue:
    """The partial results of the processes along some axes, along a new leading dimension."""
    tensor_type = tensor_type_of(value)
    expanded = _with_leading_one(emitter, value, tensor_type)
    gathered_type = with_shape(tensor_type, (grid.size(axes), *shape_of(tensor_type)))
    return emitter.help(AllGatherOp(expanded, grid.name, axes, 0, gathered_type))


def _with_leading_one(
    emitter: Emitter, value: SSAValue, tensor_type: TensorType[Attribute]
) -> SSAValue:
    """The tensor with a dimension of extent 1 before the others."""
    shape = shape_of(tensor_type)
    rank = len(shape)
    result = with_shape(tensor_type, (1, *shape))
    if rank == 0:
        element = emitter.help(tensor.ExtractOp(value, [], tensor_type.element_type))
        return emitter.help(tensor.FromElementsOp(element, result_type=result))
    groups = [[0, 1], *([dimension + 1] for dimension in range(1, rank))]
    sizes = [1, *(emitter.dimension(value, dimension) for dimension in range(rank))]
    return emitter.help(ExpandShapeOp(value, sizes, groups, result))


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
        source = operation.operands[0].owner
        held = (
            source.get_attr_or_prop("value")
            if isinstance(source, Operation) and source.name == "arith.constant"
            else None
        )
    else:
        splat = splat_of(operation)
        held = None if splat is None else splat.get_attrs()[0]
    return isinstance(held, IntegerAttr | FloatAttr) and held.value.data == neutral

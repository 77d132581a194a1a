"""Canonicalization of `util` ops, by name: numbers, buffers, casts and accesses of globals.

Those of strings are in `string_patterns.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import AddiOp, ConstantOp, MaxUIOp, MinUIOp, SelectOp, SubiOp
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import constant_integer, element_type, symbol
from ...ir.canonicalization import Patterns
from ...ir.index import constant_index
from ...ir.locations import made_by
from ...ir.slice_packing import aligned
from ...ir.syntax.assembly_format import values
from .dialect import AssumeIntOp, GlobalLoadOp, GlobalStoreOp, OptimizationBarrierOp
from .types import IntAssumptionAttr

rewrites = Patterns()


def unfoldable(value: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """Insert a constant that folds cannot see through."""
    constant = rewriter.insert(ConstantOp(cast(IntegerAttr, value)))
    hidden = OptimizationBarrierOp.build(
        operands=[constant.results], result_types=[[constant.result.type]]
    )
    return rewriter.insert(hidden).results[0]


def _sum(left: SSAValue, right: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    return rewriter.insert(AddiOp(left, right)).result


def _is_multiple(value: SSAValue, alignment: SSAValue) -> bool:
    """Return whether a value is known to be a multiple of another one."""
    number, multiple = constant_integer(value), constant_integer(alignment)
    producer = made_by(value, "util.align", "arith.muli", "arith.addi", "arith.subi")
    if multiple == 1:
        return True
    if number is not None and multiple is not None:
        return multiple > 0 and number % multiple == 0
    if producer is None:
        return False
    left, right = (_is_multiple(operand, alignment) for operand in producer.operands)
    if producer.name == "util.align":
        return right or producer.operands[1] is alignment
    return left or right if producer.name == "arith.muli" else left and right


@rewrites("util.align")
def fold_align(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute an aligned constant; drop the alignment of a multiple of it."""
    value, alignment = op.operands
    number, multiple = constant_integer(value), constant_integer(alignment)
    if _is_multiple(value, alignment):
        rewriter.replace(op, (), (value,))
    elif number is not None and multiple is not None and multiple > 0 and number >= 0:
        result = IntegerAttr(aligned(number, multiple), cast(IndexType, value.type))
        rewriter.replace(op, ConstantOp(result))


@rewrites("util.sizeof")
def fold_size_of(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute the size of a number, unless it depends on the target."""
    kind = op.properties["sizedType"]
    if isinstance(kind, IntegerType | AnyFloat):
        rewriter.replace(op, (), (constant_index(-(-kind.bitwidth // 8), rewriter),))


@rewrites("util.cmp.eq", "util.cmp.ne")
def fold_comparison(op: Operation, rewriter: PatternRewriter) -> None:
    """Compare a value with itself, or null with null."""
    left, right = op.operands
    if left is right or (made_by(left, "util.null") and made_by(right, "util.null")):
        equal = IntegerAttr.from_bool(op.name == "util.cmp.eq")
        rewriter.replace(op, ConstantOp(equal))


@rewrites("util.cast")
def fold_cast(op: Operation, rewriter: PatternRewriter) -> None:
    """Join casts; drop a cast that changes nothing; cast null by its type."""
    (value,), (result,) = op.operands, op.results
    if value.type == result.type:
        rewriter.replace(op, (), (value,))
    elif (null := made_by(value, "util.null")) is not None:
        rewriter.replace(op, type(null).create(result_types=[result.type]))
    elif (inner := made_by(value, "util.cast")) is not None:
        source = inner.operands[0]
        if source.type == result.type:
            rewriter.replace(op, (), (source,))
        else:
            op.operands = [source]
            rewriter.notify_op_modified(op)


@rewrites("util.range.max", "util.range.min")
def fold_range(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute the least or greatest number of a few."""
    distinct = list(dict.fromkeys(op.operands))
    known = [number for value in distinct if (number := constant_integer(value)) is not None]
    open_values = [value for value in distinct if constant_integer(value) is None]
    is_least = op.name == "util.range.min"
    if len(open_values) + bool(known) > 2:
        return
    if known:
        open_values.append(constant_index((min if is_least else max)(known), rewriter))
    rewriter.replace(op, (), (_extreme(open_values, is_least, rewriter),))


def _extreme(found: Sequence[SSAValue], is_least: bool, rewriter: PatternRewriter) -> SSAValue:
    """Return the least or greatest of one number or more."""
    combine = MinUIOp if is_least else MaxUIOp
    result = found[0]
    for value in found[1:]:
        result = cast(SSAValue, rewriter.insert(combine(result, value)).result)
    return result


@rewrites("util.range.extents")
def fold_extents(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute the first and the last number of one or two ranges."""
    ranges = list(dict.fromkeys(zip(values(op, "offsets"), values(op, "lengths"), strict=True)))
    if not 1 <= len(ranges) <= 2:
        return
    one = constant_index(1, rewriter)
    ends: list[SSAValue] = [
        rewriter.insert(SubiOp(_sum(offset, length, rewriter), one)).result
        for offset, length in ranges
    ]
    starts = [offset for offset, _ in ranges]
    least, greatest = _extreme(starts, True, rewriter), _extreme(ends, False, rewriter)
    rewriter.replace(op, (), (least, greatest))


@rewrites("util.switch")
def fold_switch(op: Operation, rewriter: PatternRewriter) -> None:
    """Choose by a constant, or among equal values."""
    index, default, *choices = op.operands
    at = constant_integer(index)
    if at is not None:
        chosen = choices[at] if 0 <= at < len(choices) else default
    elif all(choice is default for choice in choices):
        chosen = default
    else:
        return
    rewriter.replace(op, (), (chosen,))


@rewrites("util.buffer.size", "stream.resource.size")
def size_of_chosen(op: Operation, rewriter: PatternRewriter) -> None:
    """Choose between the sizes of buffers instead of the buffers."""
    chosen = op.operands[0].owner
    if isinstance(chosen, SelectOp):
        sizes = [op.clone(), op.clone()]
        for size, buffer in zip(sizes, chosen.operands[1:], strict=True):
            size.operands = [buffer]
            rewriter.insert(size)
        rewriter.replace(op, SelectOp(chosen.cond, *sizes))


@rewrites("util.buffer.size")
def fold_buffer_size(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the size with which a buffer was allocated, or the size of a constant."""
    producer = op.operands[0].owner
    if not isinstance(producer, Operation):
        return
    size = values(producer, "storage_size") or values(producer, "result_size")
    if producer.name in ("util.buffer.alloc", "util.buffer.slice", "util.buffer.subspan"):
        rewriter.replace(op, (), size)
    elif producer.name == "util.buffer.constant":
        bytes_ = _constant_bytes(producer.properties["value"])
        if bytes_ is not None:
            rewriter.replace(op, (), (constant_index(bytes_, rewriter),))


def _constant_bytes(value: Attribute) -> int | None:
    """Return the length of a constant in bytes; `None` if it is unknown."""
    if isinstance(value, StringAttr):
        return len(value.data.encode())
    type_: Attribute | None = getattr(value, "type", None)
    if not isinstance(type_, ShapedType) or not type_.has_static_shape():
        return None
    element = element_type(cast(Attribute, type_))
    if not isinstance(element, IntegerType | AnyFloat) or element.bitwidth % 8:
        return None
    return type_.element_count() * element.bitwidth // 8


@rewrites("util.buffer.subspan")
def fold_subspan(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop a subspan of a whole buffer; take a subspan of a subspan from the buffer."""
    source, source_size, offset, size = op.operands
    if constant_integer(offset) == 0 and source_size is size:
        rewriter.replace(op, (), (source,))
        return
    inner = made_by(source, "util.buffer.subspan")
    if inner is not None:
        buffer, buffer_size, start, _ = inner.operands
        op.operands = [buffer, buffer_size, _sum(start, offset, rewriter), size]
        rewriter.notify_op_modified(op)


@rewrites("util.buffer.storage")
def storage_of_subspan(op: Operation, rewriter: PatternRewriter) -> None:
    """Return the storage of the buffer of a subspan, and where the subspan begins in it."""
    inner = made_by(op.operands[0], "util.buffer.subspan")
    if inner is not None:
        buffer, size, start, _ = inner.operands
        types = [result.type for result in op.results]
        storage = type(op).create(operands=[buffer, size], result_types=types)
        offset = AddiOp(storage.results[1], start)
        rewriter.replace(op, (storage, offset), (storage.results[0], offset.result))


@rewrites("util.unfoldable_constant")
def expand_unfoldable(op: Operation, rewriter: PatternRewriter) -> None:
    """Hide a constant from folds."""
    rewriter.replace(op, (), (unfoldable(op.properties["value"], rewriter),))


def _only_number(value: SSAValue, facts: Sequence[IntAssumptionAttr]) -> IntegerAttr | None:
    """Return the only number that facts allow a value to be."""
    least, greatest = facts[0].umin, facts[0].umax
    if len(set(facts)) > 1 or not isinstance(least, IntegerAttr) or least != greatest:
        return None
    return IntegerAttr(least.value.data, cast(IndexType, value.type))


def _combined(
    facts: Sequence[IntAssumptionAttr], others: Sequence[IntAssumptionAttr]
) -> list[IntAssumptionAttr]:
    """Return what both say at each call site; a single fact holds at all of them."""
    count = max(len(facts), len(others))
    every, each = (list(side) * count if len(side) == 1 else side for side in (facts, others))
    return [one.and_also(other) for one, other in zip(every, each, strict=True)]


@rewrites("util.assume.int")
def fold_assumptions(op: AssumeIntOp, rewriter: PatternRewriter) -> None:
    """Assume each fact once, and nothing of constants; fold what can be one number only.

    Facts about one operand are combined:
    `%a<umin = 2, udiv = 4>, %a<umax = 8, udiv = 6>` -> `%a<umin = 2, umax = 8, udiv = 12>`.
    """
    facts: dict[SSAValue, ArrayAttr[IntAssumptionAttr]] = {}
    for value, found in zip(op.operands, op.assumptions, strict=True):
        if constant_integer(value) is None and _only_number(value, found.data) is None:
            every = _combined(facts[value].data, found.data) if value in facts else found.data
            facts[value] = ArrayAttr(every[:1] if len(set(every)) == 1 else every)
    if (*facts, *facts.values()) == (*op.operands, *op.assumptions):
        return
    new = AssumeIntOp.build(
        operands=[list(facts)],
        result_types=[[value.type for value in facts]],
        properties={"assumptions": ArrayAttr(facts.values())},
    )
    known: dict[SSAValue, SSAValue] = dict(zip(facts, new.results, strict=True))
    for value, found in zip(op.operands, op.assumptions, strict=True):
        if value not in facts and (number := _only_number(value, found.data)) is not None:
            known[value] = rewriter.insert(ConstantOp(number)).result
    replaced = [known.get(value, value) for value in op.operands]
    rewriter.replace(op, new if facts else (), replaced)


_BUFFER_ACCESSES = ("copy", "compare", "fill", "hash", "load", "store")


@rewrites(*(f"util.buffer.{name}" for name in _BUFFER_ACCESSES))
def access_buffer_of_subspan(op: Operation, rewriter: PatternRewriter) -> None:
    """Let an access to a range of a subspan go to the buffer of the subspan."""
    for name in ("source", "target", "lhs", "rhs"):
        accessed = (
            *values(op, name),
            *values(op, f"{name}_size"),
            *values(op, f"{name}_offset"),
        )
        inner = made_by(accessed[0], "util.buffer.subspan") if len(accessed) == 3 else None
        if inner is None:
            continue
        buffer, size, start, _ = inner.operands
        offset = _sum(start, accessed[2], rewriter)
        at = list(op.operands).index(accessed[0])
        op.operands[at], op.operands[at + 1], op.operands[at + 2] = buffer, size, offset
        rewriter.notify_op_modified(op)


@rewrites("util.global.load.indirect", "util.global.store.indirect")
def access_global(op: Operation, rewriter: PatternRewriter) -> None:
    """Access a global by its name, where it is accessed by its address."""
    address = made_by(op.operands[-1], "util.global.address")
    if address is None:
        return
    name = symbol(address, "global")
    if op.name == "util.global.load.indirect":
        load = GlobalLoadOp(name, op.results[0].type)
        load.properties |= op.properties
        rewriter.replace(op, load)
    else:
        store = {"global": address.properties["global"]}
        rewriter.replace(op, GlobalStoreOp.create(operands=[op.operands[0]], properties=store))


@rewrites("util.global.store")
def drop_store_of_loaded(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop a store of what the operation before it has loaded from the same global."""
    load = made_by(op.operands[0], "util.global.load")
    if load is not None and load is op.prev_op and symbol(load, "global") == symbol(op, "global"):
        rewriter.erase(op)


@rewrites("util.initializer")
def drop_empty_initializer(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop an initializer that does nothing."""
    blocks = op.regions[0].blocks
    if len(blocks) == 1 and blocks[0].first_op is blocks[0].last_op:
        rewriter.erase(op)

"""`scf-uplift-while-to-for`: turn loops that count into `scf.for`.

    scf.while (%i = %low, %x = %initial) {          // scf.for %i = %low to %high step 1
      %more = arith.cmpi slt, %i, %high             //     iter_args(%x = %initial)
      scf.condition(%more) %i, %x
    } do {
      %next = arith.addi %i, %one
      scf.yield %next, %new
    }

The pass also drops what loops carry in vain: values that never change, that nothing reads, and
further counters. MLIR has this rewrite as `upliftWhileToForLoop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import (
    CMPI_COMPARISON_OPERATIONS,
    AddiOp,
    ConstantOp,
    IndexCastOp,
    MaxSIOp,
    MuliOp,
    SubiOp,
)
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from ...ir.attribute_access import constant_integer, integer
from ...ir.host_programs import FUNCTIONS
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, located_builder, made_by, rebuilt
from ...ir.regions import detach_regions, walk
from ...ir.tensor_types import integer_width
from ...ir.value_flow import initial_values
from ...tiling.element_types import as_signed, integer_range
from ..manager.module_pass import module_pass

SLT, SGT, ULT = map(CMPI_COMPARISON_OPERATIONS.index, ("slt", "sgt", "ult"))
"""The predicates of `arith.cmpi` that counting loops compare with."""


@module_pass("scf-uplift-while-to-for")
def scf_uplift_while_to_for(module: ModuleOp) -> None:
    """Turn `scf.while` loops that count into `scf.for`, and drop what loops carry in vain."""
    for function in module.body.block.ops:
        if function.name in FUNCTIONS:
            uplift(function)


def uplift(function: Operation) -> None:
    """Turn the counting loops of a function into `scf.for`."""
    loops = [each for each in walk(function) if each.name in ("scf.while", "scf.for")]
    # Inner loops first: they may leave a carried value unread.
    for loop in reversed(loops):
        counted: Operation | None = loop
        if loop.name == "scf.while":
            counting = _counting(_without_constants(loop))
            counted = None if counting is None else counting.replace()
        if counted is not None and len(counted.regions[0].blocks) == 1:
            _drop_unneeded(counted)
    if loops:
        region_dce(function.regions[0])


# Counting loops -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counting:
    """An `scf.while` that counts from `low` to `high` by `step`.

    - `counter`: the position of the counter among the carried values;
    - `passed`: for each value that the condition passes on, its position among the carried values.
    """

    loop: Operation
    counter: int
    passed: Sequence[int]
    high: SSAValue
    step: int

    def replace(self) -> Operation:
        """Replace the loop by an `scf.for`; return it."""
        loop, counter = self.loop, self.counter
        builder = builder_before(loop)
        low = loop.operands[counter]
        initial = [each for i, each in enumerate(loop.operands) if i != counter]
        block = Block(arg_types=[INDEX, *(each.type for each in initial)])
        inner = located_builder(InsertPoint.at_end(block), loop)
        index, *arguments = block.args
        carried: list[SSAValue] = [*arguments]
        carried.insert(counter, _cast(inner, index, low.type))
        old = loop.regions[1].block
        values = [carried[position] for position in self.passed]
        for argument, value in zip(old.args, values, strict=True):
            if value.name_hint is None:
                value.name_hint = argument.name_hint
            argument.replace_all_uses_with(value)
        last = old.last_op
        assert last is not None
        _drop_operand(last, counter)
        for operation in tuple(old.ops):
            operation.detach()
            block.add_op(operation)
        first, end = (_cast(builder, each, INDEX) for each in (low, self.high))
        step = _constant(builder, self.step, INDEX)
        made = ForOp(first, end, step, initial, Region(block))
        builder.insert(made)
        results = list[SSAValue](made.results)
        is_read = any(
            position == counter and result.uses
            for position, result in zip(self.passed, loop.results, strict=True)
        )
        results.insert(counter, self._end(builder) if is_read else low)
        Rewriter.replace_op(loop, [], [results[position] for position in self.passed])
        return made

    def _end(self, builder: Builder) -> SSAValue:
        """Return the counter after the loop."""
        low = self.loop.operands[self.counter]
        first, last = constant_integer(low), constant_integer(self.high)
        if first is None or last is None:
            return builder.insert(MaxSIOp(low, self.high)).result
        turns = max(0, -(-(last - first) // self.step))
        return _constant(builder, first + turns * self.step, low.type)


def _without_constants(loop: Operation) -> Operation:
    """Move the constants of a loop's condition in front of it."""
    for operation in tuple(loop.regions[0].blocks[0].ops):
        if operation.name == "arith.constant":
            operation.detach()
            Rewriter.insert_op(operation, InsertPoint.before(loop))
    return loop


def _counting(loop: Operation) -> _Counting | None:
    """Return what a loop counts, `None` if it does not count."""
    if any(len(region.blocks) != 1 for region in loop.regions):
        return None
    loop = _without_invariants(loop)
    before, after = (region.block for region in loop.regions)
    condition, end = before.last_op, after.last_op
    compare = before.first_op
    if condition is None or end is None or compare is None or compare.next_op is not condition:
        return None
    if compare.name != "arith.cmpi" or condition.operands[0] is not compare.results[0]:
        return None
    counter, high, predicate = *compare.operands, integer(compare, "predicate")
    if predicate == SGT:
        counter, high, predicate = high, counter, SLT
    passed = _positions(before, condition.operands[1:])
    if passed is None or not isinstance(counter, BlockArgument) or counter.owner is not before:
        return None
    if isinstance(high, BlockArgument) and high.owner is before:
        return None
    step = _step(after, passed, counter.index, end.operands[counter.index])
    known = [constant_integer(loop.operands[counter.index]), constant_integer(high)]
    if step is None or not _stays_in_range(counter.type, predicate, step, known):
        return None
    return _Counting(loop, counter.index, passed, high, step)


def _positions(before: Block, values: Sequence[SSAValue]) -> list[int] | None:
    """Return the positions of arguments of a block, `None` if some values are not arguments."""
    found = [each for each in values if isinstance(each, BlockArgument) and each.owner is before]
    return [each.index for each in found] if len(found) == len(values) else None


def _step(after: Block, passed: Sequence[int], counter: int, following: SSAValue) -> int | None:
    """Return the constant that a body adds to the counter."""
    addition = made_by(following, "arith.addi")
    if addition is None:
        return None
    for value, step in (addition.operands, reversed(addition.operands)):
        if (
            isinstance(value, BlockArgument)
            and value.owner is after
            and passed[value.index] == counter
        ):
            return constant_integer(step)
    return None


def _stays_in_range(
    kind: Attribute, predicate: int, step: int, known: Sequence[int | None]
) -> bool:
    """Return whether the counter is compared as a signed number, and does not overflow."""
    low, high = known
    if step <= 0 or not isinstance(kind, IntegerType | IndexType):
        return False
    if predicate == ULT:
        if low is None or high is None or min(low, high) < 0:
            return False
    elif predicate != SLT:
        return False
    if step == 1:
        return True
    _, largest = integer_range(integer_width(cast(Attribute, kind)), is_signed=True)
    return low is not None and high is not None and high - 1 + step <= largest


def _without_invariants(loop: Operation) -> Operation:
    """Return a loop that does not carry what its body passes on unchanged."""
    before, after = (region.block for region in loop.regions)
    condition, end = before.last_op, after.last_op
    assert condition is not None and end is not None
    passed = [
        each.index if isinstance(each, BlockArgument) and each.owner is before else -1
        for each in condition.operands[1:]
    ]
    unchanged = {
        position: loop.operands[position]
        for position, value in enumerate(end.operands)
        if isinstance(value, BlockArgument)
        and value.owner is after
        and passed[value.index] == position
    }
    if not unchanged:
        return loop
    handed = [i for i, position in enumerate(passed) if position not in unchanged]
    condition.operands = [condition.operands[0], *(condition.operands[1 + i] for i in handed)]
    end.operands = [each for i, each in enumerate(end.operands) if i not in unchanged]
    for block, positions in ((before, range(len(loop.operands))), (after, passed)):
        for argument, position in zip(tuple(block.args), positions, strict=True):
            if position in unchanged:
                argument.replace_all_uses_with(unchanged[position])
                block.erase_arg(argument)
    carried = [each for i, each in enumerate(loop.operands) if i not in unchanged]
    types = [loop.results[i].type for i in handed]
    made = rebuilt(loop, carried, types, regions=detach_regions(loop))
    builder_before(loop).insert(made)
    results = [unchanged.get(position) for position in passed]
    for i, result in zip(handed, made.results, strict=True):
        results[i] = result
        result.name_hint = loop.results[i].name_hint
    Rewriter.replace_op(loop, [], results)
    return made


# What loops carry -----------------------------------------------------------------------------


def _drop_unneeded(loop: Operation) -> None:
    """Drop values that an `scf.for` carries although they are unread, unchanged or counted."""
    while True:
        block = loop.regions[0].block
        end = block.last_op
        assert end is not None
        for position, argument in enumerate(block.args[1:]):
            new, initial = end.operands[position], initial_values(loop)[position]
            result = loop.results[position]
            if new is argument or not (argument.uses or result.uses):
                inside = after = initial
            else:
                found = _counted(loop, position)
                if found is None:
                    continue
                inside, after = found
            argument.replace_all_uses_with(inside)
            result.replace_all_uses_with(after)
            loop = _without(loop, position)
            break
        else:
            return


def _counted(loop: Operation, position: int) -> tuple[SSAValue, SSAValue] | None:
    """Return a carried counter in the body and after the loop, computed from the loop's index."""
    block = loop.regions[0].block
    end = block.last_op
    assert end is not None
    argument, result = block.args[1 + position], loop.results[position]
    addition = made_by(end.operands[position], "arith.addi")
    bounds = [constant_integer(each) for each in loop.operands[:3]]
    if addition is None or argument not in addition.operands or bounds[2] != 1:
        return None
    first, second = addition.operands
    step = constant_integer(second if first is argument else first)
    low, high = bounds[:2]
    if step is None or low is None or (result.uses and high is None):
        return None
    initial = initial_values(loop)[position]
    after = initial
    if result.uses and high is not None:
        turns = max(0, high - low)
        builder = builder_before(loop)
        after = _moved(builder, initial, _constant(builder, turns * step, argument.type))
    inner = located_builder(InsertPoint.at_start(block), loop)
    index: SSAValue = block.args[0]
    if low != 0:
        index = inner.insert(SubiOp(index, _constant(inner, low, INDEX))).result
    distance = _cast(inner, index, argument.type)
    if step != 1:
        distance = inner.insert(MuliOp(distance, _constant(inner, step, argument.type))).result
    return _moved(inner, initial, distance), after


def _moved(builder: Builder, start: SSAValue, distance: SSAValue) -> SSAValue:
    """Return `start + distance`."""
    if constant_integer(start) == 0:
        return distance
    return builder.insert(AddiOp(start, distance)).result


def _without(loop: Operation, position: int) -> Operation:
    """Return a loop that does not carry a value; nothing reads its argument or result."""
    block = loop.regions[0].block
    end = block.last_op
    assert end is not None
    _drop_operand(end, position)
    block.erase_arg(block.args[1 + position])
    operands = [each for i, each in enumerate(loop.operands) if i != 3 + position]
    types = [each.type for i, each in enumerate(loop.results) if i != position]
    made = rebuilt(loop, operands, types, regions=[loop.detach_region(0)])
    builder_before(loop).insert(made)
    results = list[SSAValue](made.results)
    results.insert(position, operands[0])
    Rewriter.replace_op(loop, [], results)
    return made


def _drop_operand(end: Operation, position: int) -> None:
    """Remove an operand of a terminator."""
    end.operands = [each for i, each in enumerate(end.operands) if i != position]


def _cast(builder: Builder, value: SSAValue, kind: Attribute) -> SSAValue:
    """Return an integer or index as another integer type."""
    number = constant_integer(value)
    if value.type == kind:
        return value
    if number is not None:
        return _constant(builder, number, kind)
    between = INDEX
    if between not in (value.type, kind):
        value = builder.insert(IndexCastOp(value, between)).result
    return builder.insert(IndexCastOp(value, kind)).result


def _constant(builder: Builder, number: int, kind: Attribute) -> SSAValue:
    """Return a constant, wrapped to its type."""
    wrapped = as_signed(number, integer_width(kind))
    attribute = IntegerAttr(wrapped, cast("IntegerType[Any, Any] | IndexType", kind))
    return builder.insert(ConstantOp(attribute)).result

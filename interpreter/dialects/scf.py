"""Execute the `scf` dialect. Loop bounds are signed; parallel loops run in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.ir import Operation

from ...ir.attribute_access import flag, integers, mixed, operand_groups
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Value
from ..frames import Exit, Frame
from ..numbers import wrapped
from ..registry import Routine, impl_with_regions, terminates
from .tensor import insert_slice

terminates(
    "scf.yield", "scf.condition", "scf.reduce", "scf.reduce.return", "scf.forall.in_parallel"
)


@impl_with_regions("scf.if")
def _if(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    region = op.regions[0] if operands[0] else op.regions[1]
    exit_: Exit = yield frame.run_region(region, ())
    return exit_.values


@impl_with_regions("scf.for")
def _for(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    low, high, step, *carried = operands
    _check_step(op, step)
    counter_type = op.operands[0].type
    if flag(op, "unsignedCmp"):
        raise OperationError(op, "has an unsigned comparison of its bounds, which is not supported")
    values: Sequence[Value] = carried
    for index in range(int(low), int(high), int(step)):
        counter = wrapped(np.asarray(index, np.int64), counter_type)
        exit_: Exit = yield frame.run_region(op.regions[0], [counter, *values])
        values = exit_.values
    return values


def _check_step(op: Operation, *steps: Value) -> None:
    """Raise OperationError for a step that would never reach the end."""
    wrong = next((int(step) for step in steps if step <= 0), None)
    if wrong is not None:
        raise OperationError(op, f"has step {wrong}, expected a positive number")


@impl_with_regions("scf.while")
def _while(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    values: Sequence[Value] = operands
    while True:
        condition: Exit = yield frame.run_region(op.regions[0], values)
        proceed, *passed = condition.values
        if not proceed:
            return passed
        exit_: Exit = yield frame.run_region(op.regions[1], passed)
        values = exit_.values


@impl_with_regions("scf.index_switch")
def _index_switch(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    cases = integers(op, "cases")
    chosen = int(operands[0])
    position = cases.index(chosen) + 1 if chosen in cases else 0
    exit_: Exit = yield frame.run_region(op.regions[position], ())
    return exit_.values


@impl_with_regions("scf.parallel")
def _parallel(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    lows, highs, steps, starts = operand_groups(op, operands)
    values = list(starts)
    _check_step(op, *steps)
    spans = [
        range(int(low), int(high), int(step))
        for low, high, step in zip(lows, highs, steps, strict=True)
    ]
    for point in product(*spans):
        exit_: Exit = yield frame.run_region(op.regions[0], [np.int64(i) for i in point])
        reduce = exit_.operation
        regions = reduce.regions if reduce is not None else ()
        for position, (region, value) in enumerate(zip(regions, exit_.values, strict=False)):
            reduced: Exit = yield frame.run_region(region, [values[position], value])
            values[position] = reduced.values[0]
    return values


@impl_with_regions("scf.forall")
def _forall(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    low, high, step, outputs = operand_groups(op, operands)
    lows, highs, steps = (
        mixed(op, name, dynamic)
        for name, dynamic in (
            ("staticLowerBound", low),
            ("staticUpperBound", high),
            ("staticStep", step),
        )
    )
    _check_step(op, *steps)
    results = list(outputs)
    block = op.regions[0].blocks[0]
    shared = list(block.args[len(lows) :])
    for point in product(*map(range, lows, highs, steps)):
        # Each iteration sees the outputs as they were before the loop.
        arguments = [*(np.int64(i) for i in point), *outputs]
        exit_: Exit = yield frame.run_region(op.regions[0], arguments)
        if exit_.operation is None or not exit_.operation.regions:
            continue
        for insertion in exit_.operation.regions[0].blocks[0].ops:
            target = insertion.operands[1]
            position = next((i for i, each in enumerate(shared) if each is target), None)
            if position is None or not integers(insertion, "operandSegmentSizes"):
                raise OperationError(insertion, "does not insert into an output of its loop")
            values = [frame.values[operand] for operand in insertion.operands]
            (source,), _, *groups = operand_groups(insertion, values)
            results[position] = insert_slice(insertion, source, results[position], groups)
    return results

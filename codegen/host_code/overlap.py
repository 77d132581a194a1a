"""Collectives that run while kernels do: where each begins, and where its result is awaited.

A collective begins (`start`) as soon as its operands are there, and is awaited (`exchange`) right
before the first step that reads its result. Both follow from dependences alone, so they are the
same on all devices. At most one collective is under way at a time: it ends before the next step at
which devices may meet, so that all of them meet in the order of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from xdsl.ir import Operation, SSAValue

from ...ir.attribute_access import operation_name
from ...ir.regions import captured
from ..kernels.schedule import Schedule, Step
from ..kernels.static_values import constant_attribute
from .collective_rules import COLLECTIVE_RULES
from .values import type_shape

LOCAL = (
    *("arith.", "math.", "tensor.", "linalg.", "scf.", "index.", "complex.", "tosa."),
    "shard.process_",
)
"""How operations begin that meet no other device, as long as none in their regions does."""

NEVER_STARTED = frozenset(("shard.all_slice", "shard.send", "shard.recv"))
"""What needs nobody else, and messages, which are commands of Python on ranks."""


def overlapped(schedule: Schedule) -> Schedule:
    """The schedule with a step for each collective that is worth starting early, and its own step
    where the result is awaited."""
    steps = schedule.steps
    defined = {value: position for position, step in enumerate(steps) for value in _defined(step)}
    begins: dict[int, list[Step]] = {}
    ends: dict[int, list[Step]] = {}
    moved: set[int] = set()
    free = 0
    for position, step in enumerate(steps):
        if not _meets(step):
            continue
        free, earliest = position + 1, free
        if not can_start(step.operation):
            continue
        begin = _ready(step.operation, steps, defined, earliest)
        end = next(
            (each for each in range(free, len(steps)) if _awaits(steps[each], step.operation)),
            len(steps),
        )
        if begin is None or not any(map(_works, islice(steps, begin, end))):
            continue
        begins.setdefault(begin, []).append(replace(step, starts=True))
        ends.setdefault(end, []).append(step)
        moved.add(position)
        free = end
        defined.update(dict.fromkeys(step.operation.results, end - 1))
    order = [
        each
        for position, step in enumerate((*steps, None))
        for each in (
            *ends.get(position, ()),
            *begins.get(position, ()),
            *([] if step is None or position in moved else [step]),
        )
    ]
    return replace(schedule, steps=tuple(order)) if moved else schedule


def can_start(op: Operation) -> bool:
    """Whether a collective's commands are the same in every run, and need no Python."""
    if op.name not in COLLECTIVE_RULES or op.name in NEVER_STARTED:
        return False
    shapes = (type_shape(each.type, op) or () for each in (op.operands[0], *op.results))
    numbers = (constant_attribute(each) is not None for each in op.operands[1:])
    return all(size >= 0 for shape in shapes for size in shape) and all(numbers)


def _ready(
    op: Operation, steps: Sequence[Step], defined: dict[SSAValue, int], earliest: int
) -> int | None:
    """Before which step all operands are there, from a step on; `None` if that is not known."""
    for operand in op.operands:
        if operand in defined:
            earliest = max(earliest, defined[operand] + 1)
        elif _is_computed_beside(operand, op):
            return None
    return earliest


def _is_computed_beside(value: SSAValue, op: Operation) -> bool:
    """Whether an operation of the same block gives a value that is no constant."""
    owner = value.owner
    is_computed = isinstance(owner, Operation) and constant_attribute(value) is None
    return is_computed and owner.parent is op.parent


def _defined(step: Step) -> Sequence[SSAValue]:
    written = () if step.kernel is None else step.kernel.writes
    return [*step.operation.results, *(each for each in written if isinstance(each, SSAValue))]


def _awaits(step: Step, collective: Operation) -> bool:
    """Whether a step must come after the end of a collective."""
    read = {value for op in step.group for value in (*op.operands, *captured(op))}
    return _meets(step) or not read.isdisjoint(collective.results)


def _works(step: Step) -> bool:
    """Whether a step takes time that a collective may take as well."""
    return step.kernel is not None or (step.is_host and bool(step.operation.regions))


def _meets(step: Step) -> bool:
    """Whether devices may meet in a step."""
    names = map(operation_name, step.operation.walk())
    return step.is_host and not all(each.startswith(LOCAL) for each in names)

"""Overlap collectives with kernels: start each early, and await it late.

    [k1, all_reduce of k1's result, k2, k3 that reads the sum]  ->  [k1, start, k2, await, k3]

A collective starts (`start`) as soon as its operands are available, and is awaited (`exchange`)
just before the first step that reads its result. Both positions follow from dependences alone, so
that all devices choose the same. At most one collective is in flight: it ends before the next step
in which devices may communicate, which keeps the program's order. A dispatch communicates if its
kernel does; it starts early only if its kernel does nothing but a collective.

A send does not wait: it is moved up to where its operand is available. A receive has nothing to
start: it is moved down to its first reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.iree_encoding.interfaces import encoded_tensor_of
from ...interpreter.dialects.kernels import tied_argument
from ...ir.attribute_access import constant_integer, operation_name
from ...ir.diagnostics import OperationError
from ...ir.regions import captured
from ...sharding.collective_rows import COLLECTIVES, RECV, SEND
from ..kernels.elements.static_values import constant_attribute
from ..kernels.schedule import Schedule, Step
from .collective_rules import COLLECTIVE_RULES
from .values import type_shape

LOCAL = (
    *("arith.", "math.", "tensor.", "linalg.", "scf.", "index.", "complex.", "tosa."),
    *("iree_tensor_ext.", "stream.async.", "stream.binding.", "stream.tensor."),
    *("hal.buffer_view.", "hal.element_type", "hal.encoding_type", "util.global.", "util.return"),
    *("shard.process_", "func.return"),
)
"""Name prefixes of operations that do not communicate, unless one in their regions does."""

DISPATCH = "stream.async.dispatch"
"""Communicates if its kernel does."""

CALL = "stream.async.call"

SENDS, RECEIVES = SEND.operation, RECV.operation

NEVER_STARTED = frozenset(
    name for name, row in COLLECTIVES.items() if row.is_local or row.is_message
)
"""Operations that are never split: local slices, and messages, which are moved whole."""


KernelOf = Callable[[Operation], Operation]
"""Returns the function that a dispatch runs. Raises OperationError if there is none."""


def overlapped(schedule: Schedule, kernel_of: KernelOf) -> Schedule:
    """Return a schedule in which collectives overlap other work.

    Each collective that gains from it gets a step that starts it; its own step is where it is
    awaited.
    """
    windows = _Overlap(schedule.steps, kernel_of).windows()
    return replace(schedule, steps=_reordered(schedule.steps, windows)) if windows else schedule


class _Overlap:
    """Finds the steps that each collective and message of a block can overlap."""

    def __init__(self, steps: Sequence[Step], kernel_of: KernelOf) -> None:
        self._steps = steps
        self._kernel_of = kernel_of
        self._communication = _Communication(kernel_of)
        self._available = {
            value: position + 1 for position, step in enumerate(steps) for value in _defined(step)
        }
        """The first position at which a value can be read."""

    def windows(self) -> dict[int, range]:
        """Return the window of each step that moves, by the step's position.

        The step can start in front of position `start` of its window, and must have ended in front
        of position `stop`.
        """
        found: dict[int, range] = {}
        after_communication = 0
        for position, step in enumerate(self._steps):
            if not self._communication.in_step(step):
                continue
            window = self._window(position, after_communication)
            after_communication = position + 1
            if window is not None and self._has_work_beside(position, window):
                found[position] = window
                after_communication = _new_position(step, window)
                results = step.operation.results
                self._available.update(dict.fromkeys(results, after_communication))
        return found

    def _window(self, position: int, earliest: int) -> range | None:
        """Return the window of a step from `earliest` on; `None` if it cannot move."""
        op = self._steps[position].operation
        is_message = op.name in (SENDS, RECEIVES)
        if not is_message and dispatched_collective(op, self._kernel_of) is None:
            return None
        begin = position if op.name == RECEIVES else self._ready(op, earliest)
        end = position if op.name == SENDS else self._first_awaiting(op, position + 1)
        return None if begin is None else range(begin, end)

    def _has_work_beside(self, position: int, window: range) -> bool:
        return any(each != position and _works(self._steps[each]) for each in window)

    def _ready(self, op: Operation, earliest: int) -> int | None:
        """Return the first position, from `earliest` on, at which all operands are available.

        Returns `None` if that is not known.
        """
        for operand in op.operands:
            if operand in self._available:
                earliest = max(earliest, self._available[operand])
            elif _is_computed_beside(operand, op):
                return None
        return earliest

    def _first_awaiting(self, op: Operation, first: int) -> int:
        """Return the position of the step from `first` on that `op` must end before."""
        later = range(first, len(self._steps))
        awaiting = (each for each in later if self._communication.awaits(self._steps[each], op))
        return next(awaiting, len(self._steps))


def _new_position(step: Step, window: range) -> int:
    """Return the position in front of which a step runs: a send early, all others late."""
    return window.start if step.operation.name == SENDS else window.stop


def _reordered(steps: Sequence[Step], windows: Mapping[int, range]) -> tuple[Step, ...]:
    """Move the steps that have a window, and start collectives where their windows begin."""
    moved: dict[int, list[Step]] = defaultdict(list)
    started: dict[int, list[Step]] = defaultdict(list)
    for position, window in windows.items():
        step = steps[position]
        moved[_new_position(step, window)].append(step)
        if step.operation.name not in (SENDS, RECEIVES):
            started[window.start].append(replace(step, starts=True))
    order: list[Step] = []
    for position in range(len(steps) + 1):
        # One collective ends before the next one starts.
        order += moved[position] + started[position]
        if position < len(steps) and position not in windows:
            order.append(steps[position])
    return tuple(order)


def can_start(op: Operation) -> bool:
    """Return whether a collective's commands are the same in every run, and need no Python."""
    if op.name not in COLLECTIVE_RULES or op.name in NEVER_STARTED:
        return False
    shapes = (type_shape(each.type, op) or () for each in (op.operands[0], *op.results))
    numbers = (constant_attribute(each) is not None for each in op.operands[1:])
    return all(size >= 0 for shape in shapes for size in shape) and all(numbers)


def _is_computed_beside(value: SSAValue, op: Operation) -> bool:
    """Return whether a value is a result, not a constant, of an operation in the same block."""
    owner = value.owner
    is_computed = isinstance(owner, Operation) and constant_attribute(value) is None
    return is_computed and owner.parent is op.parent


def _defined(step: Step) -> Sequence[SSAValue]:
    written = () if step.kernel is None else step.kernel.writes
    return [*step.operation.results, *(each for each in written if isinstance(each, SSAValue))]


def _works(step: Step) -> bool:
    """Return whether a step takes time in which a collective can run."""
    is_work = bool(step.operation.regions) or step.operation.name == DISPATCH
    return step.kernel is not None or (step.is_host and is_work)


class _Communication:
    """Tells which steps of a block communicate."""

    def __init__(self, kernel_of: KernelOf) -> None:
        self._kernel_of = kernel_of
        self._found: dict[Operation, bool] = {}

    def in_step(self, step: Step) -> bool:
        """Return whether devices may communicate in a step."""
        return step.is_host and self._contains(step.operation)

    def awaits(self, step: Step, collective: Operation) -> bool:
        """Return whether a step must follow the end of a collective."""
        read = {value for op in step.group for value in (*op.operands, *captured(op))}
        return self.in_step(step) or not read.isdisjoint(collective.results)

    def _contains(self, op: Operation) -> bool:
        return any(map(self._communicates, op.walk()))

    def _communicates(self, op: Operation) -> bool:
        name = operation_name(op)
        if name != DISPATCH:
            return name == CALL or not name.startswith(LOCAL)
        try:
            kernel = self._kernel_of(op)
        except OperationError:
            return True
        if kernel not in self._found:
            self._found[kernel] = any(self._contains(each) for each in kernel.regions[0].block.ops)
        return self._found[kernel]


def dispatched_collective(op: Operation, kernel_of: KernelOf) -> Operation | None:
    """Return the collective that an operation is, or that is all its kernel does.

    Returns `None` if there is none or it cannot start early. In a kernel, the collective's operand
    must be all of the dispatch's first operand.
    """
    if op.name != DISPATCH:
        return op if can_start(op) else None
    if len(op.results) != 1 or tied_argument(op, 0) is not None:
        return None
    try:
        body = kernel_of(op).regions[0].blocks
    except OperationError:
        return None
    found = [each for each in body[0].ops if operation_name(each) in COLLECTIVE_RULES]
    others = {operation_name(each) for each in body[0].ops} - set(COLLECTIVE_RULES)
    if len(body) > 1 or len(found) != 1 or not others <= _ALLOWED_BESIDE_COLLECTIVE:
        return None
    collective = found[0]
    if not can_start(collective) or len(collective.operands) != 1:
        return None
    load = collective.operands[0].owner
    return collective if isinstance(load, Operation) and _is_whole_argument(load) else None


_ALLOWED_BESIDE_COLLECTIVE = frozenset(
    (
        *("arith.constant", "func.return", "iree_tensor_ext.dispatch.tensor.load"),
        *("iree_tensor_ext.dispatch.tensor.store", "stream.binding.subspan"),
    )
)
"""What a kernel may contain that does nothing but a collective."""


def _is_whole_argument(load: Operation) -> bool:
    """Return whether a load reads all of the kernel's first argument."""
    if operation_name(load) != "iree_tensor_ext.dispatch.tensor.load" or len(load.operands) != 1:
        return False
    binding = load.operands[0].owner
    if not isinstance(binding, Operation) or operation_name(binding) != "stream.binding.subspan":
        return False
    argument = binding.operands[0]
    is_first = isinstance(argument, BlockArgument) and argument.index == 0
    offset = constant_integer(binding.operands[1])
    whole = encoded_tensor_of(binding.results[0].type)
    is_whole = whole is not None and whole.get_shape() == type_shape(load.results[0].type, load)
    return is_first and is_whole and len(binding.operands) == 2 and offset == 0

"""Find the timepoints that are reached from the start, and those that are when others are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects.stream.regions import TimepointImmediateOp, TimepointJoinOp
from ....dialects.stream.types import TIMEPOINT
from ....ir.graph_orders import postorder
from ....ir.host_programs import CALLS, GLOBAL_LOAD, host_operations
from ....ir.locations import made_by
from ....ir.symbols import root_symbol, visibility
from ....ir.syntax.assembly_format import values
from ....ir.value_flow import function_with_argument, value_flow
from ...general.global_accesses import global_accesses

Timepoints = int
"""A set of timepoints, one bit each, as each timepoint of a chain covers all before it."""


class TimepointCover:
    """Which timepoints of a module are reached from the start, and which when others are.

        %u = stream.cmd.execute await(%t) ...           // %u covers %t
        %x = scf.if %c { yield %t } else { yield %u }   // %x covers %t: both that it may be do

    A timepoint is immediate if all that it may be are: what branches, regions, and calls of private
    functions forward to it, or what is stored in the private global from which it is loaded.
    """

    def __init__(self, module: ModuleOp) -> None:
        self._operations = tuple(host_operations(module))
        self._numbers = {each: bit for bit, each in enumerate(_timepoints(self._operations))}
        self._sources: dict[SSAValue, list[SSAValue]] = defaultdict(list)
        for source, target in value_flow(self._operations):
            if source.type == target.type == TIMEPOINT:
                self._sources[target].append(source)
        for operation in self._operations:
            if isinstance(operation, TimepointJoinOp):
                self._sources[operation.results[0]] += operation.operands
        self._stored = _stored_timepoints(module)
        self._covered: dict[SSAValue, Timepoints] = {}
        self.immediate = self._find_immediate()
        """The timepoints that are reached from the start."""
        self._find_covered()

    def covers(self, timepoint: SSAValue, other: SSAValue) -> bool:
        """Return whether the timepoint `other` is reached when `timepoint` is."""
        return other is timepoint or self.contains(self._covered.get(timepoint, 0), other)

    def covered_by(self, timepoint: SSAValue) -> Timepoints:
        """Return the timepoints that are reached when another one is, which is among them."""
        return self._covered.get(timepoint, 0) | self._set_of([timepoint])

    def contains(self, timepoints: Timepoints, timepoint: SSAValue) -> bool:
        """Return whether a timepoint is in a set; those made since are in none."""
        number = self._numbers.get(timepoint)
        return number is not None and bool(timepoints >> number & 1)

    def _set_of(self, timepoints: Iterable[SSAValue]) -> Timepoints:
        return reduce(int.__or__, (1 << self._numbers[each] for each in timepoints), 0)

    def _find_immediate(self) -> Timepoints:
        """Return the immediate timepoints, and those that can only be such."""
        given = {
            operation.results[0]
            for operation in self._operations
            if isinstance(operation, TimepointImmediateOp)
        }
        sources = {
            target: found
            for target, found in self._sources.items()
            if not _is_given_by_others(target)
        }
        for operation in self._operations:
            if operation.name == GLOBAL_LOAD:
                stored = self._stored.get(root_symbol(operation, "global"))
                if stored is not None:
                    sources[operation.results[0]] = stored
        targets: dict[SSAValue, list[SSAValue]] = defaultdict(list)
        for target, found in sources.items():
            for source in found:
                targets[source].append(target)
        known = given.union(sources)
        others = postorder(targets.keys() - known, lambda each: targets.get(each, ()))
        return self._set_of(known.difference(others))

    def _find_covered(self) -> None:
        """Find what operations and forwarded values cover, until nothing changes."""
        order = postorder(self._numbers, self._inputs)
        changed = True
        while changed:
            changed = False
            for timepoint in order:
                covered = self._covered_now(timepoint)
                if covered is not None and self._covered.get(timepoint) != covered:
                    self._covered[timepoint] = covered
                    changed = True

    def _covered_now(self, timepoint: SSAValue) -> Timepoints | None:
        """Return what a timepoint covers; `None` if nothing is known of what it may be, as yet."""
        inputs = self._inputs(timepoint)
        known = [self.covered_by(each) for each in inputs if each in self._covered]
        if _stream_op(timepoint) is not None:
            return reduce(int.__or__, known, 0) if len(known) == len(inputs) else None
        if _enters_function(timepoint) or not inputs:
            return 0
        # Values that are not known yet are those of later iterations, and restrict nothing so far.
        return reduce(int.__and__, known) if known else None

    def _inputs(self, timepoint: SSAValue) -> Sequence[SSAValue]:
        """Return what an operation that makes a timepoint waits for, else what it may be."""
        if (found := self._sources.get(timepoint)) is not None:
            return found
        waiting = _stream_op(timepoint)
        return () if waiting is None else values(waiting, "await_timepoint")


def _stored_timepoints(module: ModuleOp) -> Mapping[str, list[SSAValue]]:
    """Return all that private globals of timepoints may hold, except for immediate ones."""
    return {
        name: [store.operands[0] for store in found.stores]
        for name, found in global_accesses(module).items()
        if found.is_private and found.op.properties.get("type") == TIMEPOINT
    }


def _timepoints(operations: Sequence[Operation]) -> Iterator[SSAValue]:
    """Yield all timepoints."""
    for operation in operations:
        for region in operation.regions:
            for block in region.blocks:
                yield from (each for each in block.args if each.type == TIMEPOINT)
        yield from (each for each in operation.results if each.type == TIMEPOINT)


def _stream_op(timepoint: SSAValue) -> Operation | None:
    """Return the operation of `stream` that makes a timepoint, if one does."""
    owner = timepoint.owner
    return owner if isinstance(owner, Operation) and owner.name.startswith("stream.") else None


def _enters_function(value: SSAValue) -> bool:
    """Return whether a value is an argument of a function or the result of a call.

    What other functions cover has no name in this one.
    """
    return function_with_argument(value) is not None or made_by(value, *CALLS) is not None


def _is_given_by_others(value: SSAValue) -> bool:
    """Return whether a value is an argument of a function that other programs may call."""
    function = function_with_argument(value)
    return function is not None and visibility(function) != "private"

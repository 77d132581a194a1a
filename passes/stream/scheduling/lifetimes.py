"""Compute which values of a region need storage, and during which operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ....ir.syntax.assembly_format import values
from ..analysis.storage import is_resource, result_sizes, stored_in

CONCURRENT = "stream.async.concurrent"


@dataclass(slots=True, eq=False)
class Root:
    """A value with storage of its own, and the first and last step at which it is live."""

    value: SSAValue
    size: SSAValue
    producer: Operation
    first: int
    last: int


class Lifetimes:
    """The storage of a region's values. A concurrent region counts as one step."""

    def __init__(self, block: Block) -> None:
        self.roots: dict[SSAValue, Root] = {}
        self.stored_in: dict[SSAValue, SSAValue] = {}
        """For values without own storage, the root or argument in whose storage they are."""
        for step, operation in enumerate(block.ops):
            self._visit(operation, step)

    def root_of(self, value: SSAValue) -> SSAValue:
        """Return the value whose storage a value has: a root or an argument of the region."""
        return self.stored_in.get(value, value)

    def _store(self, stored: Iterable[SSAValue], owners: Iterable[SSAValue]) -> None:
        """Record that values are in the storage of others, one by one."""
        pairs = zip(stored, owners, strict=True)
        self.stored_in.update((value, self.root_of(owner)) for value, owner in pairs)

    def _visit(self, operation: Operation, step: int) -> None:
        for operand in operation.operands:
            if (root := self.roots.get(self.root_of(operand))) is not None:
                root.last = step
        if operation.name == CONCURRENT:
            inner = operation.regions[0].block
            self._store(inner.args, values(operation, "resource_operands"))
            for inner_operation in inner.ops:
                self._visit(inner_operation, step)
            if inner.last_op is not None:
                self._store(operation.results, inner.last_op.operands[: len(operation.results)])
            return
        results = [result for result in operation.results if is_resource(result)]
        for result, size in zip(results, result_sizes(operation), strict=True):
            target = stored_in(operation, result.index)
            if target is not None:
                self._store([result], [target])
            else:
                self.roots[result] = Root(result, size, operation, step, step)

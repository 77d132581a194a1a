"""Compute which values of a region need storage, and during which operations."""

from __future__ import annotations

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
        """For values without own storage, the value in whose storage they are."""
        for step, operation in enumerate(block.ops):
            self._visit(operation, step)

    def root_of(self, value: SSAValue) -> SSAValue:
        """Return the value whose storage a value has: a root or an argument of the region."""
        while (other := self.stored_in.get(value)) is not None:
            value = other
        return value

    def _visit(self, operation: Operation, step: int) -> None:
        for operand in operation.operands:
            if (root := self.roots.get(self.root_of(operand))) is not None:
                root.last = step
        if operation.name == CONCURRENT:
            inner = operation.regions[0].block
            self.stored_in |= dict(
                zip(inner.args, values(operation, "resource_operands"), strict=True)
            )
            for inner_operation in inner.ops:
                self._visit(inner_operation, step)
            if inner.last_op is not None:
                yielded = inner.last_op.operands[: len(operation.results)]
                self.stored_in |= dict(zip(operation.results, yielded, strict=True))
            return
        results = [result for result in operation.results if is_resource(result)]
        for result, size in zip(results, result_sizes(operation), strict=True):
            target = stored_in(operation, result.index)
            if target is not None:
                self.stored_in[result] = target
            else:
                self.roots[result] = Root(result, size, operation, step, step)

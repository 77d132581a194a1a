"""Prove that accesses in a kernel's body are in bounds, by ranges of the integers it computes.

In a `linalg.generic` over 8 x 4 elements, `%i = linalg.index 0` is in 0 .. 7, so that
`tensor.extract %t[%i]` of a `tensor<8xf32>` needs no check. Accesses that are not proven are
checked when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.arith.divisions import INTEGER_DIVISIONS, OVERFLOWING_DIVISIONS
from ....dialects.linalg.structured_view import structured_view
from ....ir.attribute_access import integer, integers, operand_groups
from ....ir.host_programs import CHOICES, CONTROL_FLOW
from ....ir.index_lists import SLICE_LISTS, mixed_list
from ....ir.integer_ranges import is_slice_inside, range_of, result_range, within_type
from ....ir.intervals import Interval, affine_interval
from .static_values import constant_attribute, shape_of

LONGEST_LOOP = Interval(0, (1 << 62) - 1)
"""The indices of a loop of unknown length."""


def unproven(operation: Operation) -> frozenset[Operation]:
    """Return the operations in an operation's body that may fail.

    These are accesses that may be out of bounds, divisors that may not be positive, and asserts; in
    loops, divisions of scalars as well.
    """
    found: set[Operation] = set()
    if not operation.regions:
        return frozenset()
    ranges = _Ranges(operation)
    for region in operation.regions:
        for inner in region.walk():
            ranges.visit(inner)
            if not ranges.is_safe(inner):
                found.add(inner)
    return frozenset(found)


def is_proven_slice(operation: Operation) -> bool:
    """Return whether a slice on the host is in bounds whatever its offsets are, as clamped ones."""
    known: dict[SSAValue, Interval] = {}
    return _is_inside(operation, lambda offset: range_of(offset, known))


def _is_inside(op: Operation, bound: Callable[[SSAValue], Interval]) -> bool:
    """Return whether a slice with static sizes and strides is proven to be in bounds."""
    position = int(op.name == "tensor.insert_slice")
    whole = shape_of(op.operands[position])
    given = operand_groups(op, op.operands)[1 + position]
    offsets, sizes, strides = (integers(op, name) for name in SLICE_LISTS)
    if any(len(each) != len(whole) for each in (offsets, sizes, strides)):
        return False
    ranges = (
        Interval(each, each) if isinstance(each, int) else bound(each)
        for each in mixed_list(offsets, given)
    )
    return all(map(is_slice_inside, ranges, sizes, strides, whole))


def most_turns(operation: Operation) -> dict[Operation, int]:
    """Return the most turns of each `scf.for` in an operation, itself included.

    Loops of which nothing is known are left out, and those whose index may overflow.
    """
    ranges = _Ranges(operation)
    for inner in operation.walk():
        ranges.visit(inner)
    return ranges.turns


def is_scalar_code(op: Operation, loop: Operation) -> bool:
    """Return whether an operation of a loop's body is in no nest over elements."""
    scope = op.parent_op()
    while scope is not None and scope is not loop and scope.name in CONTROL_FLOW:
        scope = scope.parent_op()
    return scope is loop and loop.name in CONTROL_FLOW


class _Ranges:
    """The ranges of the integers in an operation's body, whose operations are visited in order."""

    def __init__(self, operation: Operation) -> None:
        self._known: dict[SSAValue, Interval] = {}
        self._loops: dict[Operation, Sequence[Interval]] = {}
        view = structured_view(operation)
        block = operation.regions[0].blocks.first
        self._operation = operation
        self.turns: dict[Operation, int] = {}
        if operation.name in CONTROL_FLOW:
            self.visit(operation)
        elif view is None and block is not None:
            # The body of a `tensor.pad` or `tensor.generate` gets the indices of an element.
            indices = _index_ranges(shape_of(operation.results[0]))
            self._known.update(zip(block.args, indices, strict=False))

    def of(self, value: SSAValue) -> Interval:
        """Return the range of an integer or index."""
        if value in self._known:
            return self._known[value]
        number = getattr(getattr(constant_attribute(value), "value", None), "data", None)
        found = Interval(number, number) if isinstance(number, int) else None
        return within_type(found, value.type)

    def visit(self, op: Operation) -> None:
        """Record the range of an operation's result, or of a loop's index."""
        if op.name == "scf.for":
            self._visit_loop(op)
        if len(op.results) == 1 and (found := self._result(op)) is not None:
            self._known[op.results[0]] = within_type(found, op.results[0].type)

    def _visit_loop(self, op: Operation) -> None:
        low, high, step = (self.of(bound) for bound in op.operands[:3])
        index = op.regions[0].block.args[0]
        self._known[index] = Interval(low.low, max(low.low, high.high - 1))
        if step.low > 0 and Interval(low.low, high.high + step.high).fits(63):
            self.turns[op] = max(0, -((low.low - high.high) // step.low))

    def _result(self, op: Operation) -> Interval | None:
        if op.name == "linalg.index":
            loop, loops = integer(op, "dim"), self._loops_around(op)
            return loops[loop] if loop < len(loops) else None
        if op.name == "affine.apply":
            affine_map = _map_of(op)
            return affine_interval(affine_map.results[0], *self._arguments(op, affine_map))
        return result_range(op, self.of)

    def _loops_around(self, op: Operation) -> Sequence[Interval]:
        """Return the index ranges of the loops around an operation."""
        nest = op.parent_op()
        while nest is not None and nest.name in CHOICES:
            nest = nest.parent_op()
        if nest is None:
            return ()
        if nest not in self._loops:
            view = structured_view(nest)
            sizes = view.loop_sizes() if view is not None else shape_of(nest.results[0])
            self._loops[nest] = _index_ranges(sizes)
        return self._loops[nest]

    def _arguments(
        self, op: Operation, affine_map: AffineMap
    ) -> tuple[Sequence[Interval], Sequence[Interval]]:
        operands = [self.of(operand) for operand in op.operands]
        return operands[: affine_map.num_dims], operands[affine_map.num_dims :]

    def is_safe(self, op: Operation) -> bool:
        """Return whether an operation is proven to be in bounds, and is not an assert."""
        if op.name in ("tensor.extract", "tensor.insert"):
            tensor, *indices = op.operands[op.name == "tensor.insert" :]
            pairs = zip(indices, shape_of(tensor), strict=True)
            return all(size >= 0 and self.of(index).is_within(size) for index, size in pairs)
        if op.name in ("tensor.extract_slice", "tensor.insert_slice"):
            return _is_inside(op, self.of)
        if op.name == "cf.assert":
            return False
        if op.name in INTEGER_DIVISIONS and is_scalar_code(op, self._operation):
            divisor = self.of(op.operands[1])
            return 0 not in divisor and (op.name not in OVERFLOWING_DIVISIONS or -1 not in divisor)
        if op.name == "tensor.dim":
            return self.of(op.operands[1]).is_within(len(shape_of(op.operands[0])))
        if op.name == "affine.apply":
            affine_map = _map_of(op)
            return (
                affine_interval(affine_map.results[0], *self._arguments(op, affine_map)) is not None
            )
        return True


def _index_ranges(sizes: Iterable[int | None]) -> list[Interval]:
    """Return the index ranges of loops of some sizes."""
    return [
        LONGEST_LOOP if size is None or size < 0 else Interval(0, max(size - 1, 0))
        for size in sizes
    ]


def _map_of(op: Operation) -> AffineMap:
    found = op.get_attr_or_prop("map")
    return found.data if isinstance(found, AffineMapAttr) else AffineMap.empty()

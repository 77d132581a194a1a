"""Find the tensors of a sequential loop that are updated in place, element by element.

    %r = scf.for %i = %low to %high step %step iter_args(%t = %initial) -> tensor<256xi32> {
      %old = tensor.extract %t[%at]                  # and scalar operations
      %n = tensor.insert %new into %t[%at]
      %m = scf.for ... iter_args(%u = %n) { ... }    # and branches
      scf.yield %m
    }

`%t`, `%n`, `%u` and `%m` are versions of one tensor. They share memory if each is read only while
it is the latest version.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ....ir.host_programs import CHOICES
from ....ir.value_flow import carried_arguments, initial_values, passed_values

Numbers = Sequence[int | None]
"""For each of some values the number of the tensor that it is a version of; `None` for scalars."""


def in_place_versions(loop: Operation) -> dict[SSAValue, int] | None:
    """Return the versions of the tensors that a loop updates, with the number of the result.

    Returns `None` if versions cannot share memory, or other tensors are computed. The values that
    an `scf.while` carries must be its results, in their order.
    """
    carried = initial_values(loop)
    numbers = [i if isinstance(each.type, TensorType) else None for i, each in enumerate(carried)]
    found = _Versions()
    return found.versions if found.enter_loop(loop, numbers) else None


class _Versions:
    """The versions seen so far, and the latest version of each tensor."""

    def __init__(self) -> None:
        self.versions: dict[SSAValue, int] = {}
        self._latest: dict[int, SSAValue] = {}

    def enter_loop(self, loop: Operation, numbers: Numbers) -> bool:
        """Follow the tensors through a loop; return whether all are updated in place."""
        blocks = [region.block for region in loop.regions]
        self._define(carried_arguments(loop), numbers)
        for block, following in zip(blocks, (*blocks[1:], None), strict=True):
            if not self._follow(block) or not self._are_latest(passed_values(block), numbers):
                return False
            if following is not None:
                self._define(following.args, numbers)
        self._define(loop.results, numbers)
        return True

    def _define(self, values: Sequence[SSAValue], numbers: Numbers) -> None:
        for value, number in zip(values, numbers, strict=True):
            if number is not None:
                self.versions[value] = number
                self._latest[number] = value

    def _are_latest(self, values: Sequence[SSAValue], numbers: Numbers) -> bool:
        return all(
            number is None or self._latest.get(number) is value
            for value, number in zip(values, numbers, strict=True)
        )

    def _is_latest(self, value: SSAValue) -> bool:
        """Return whether a value is no version of a tensor that has been updated since."""
        number = self.versions.get(value)
        return number is None or self._latest[number] is value

    def _follow(self, block: Block) -> bool:
        return all(self._step(each) for each in block.ops if each is not block.last_op)

    def _step(self, operation: Operation) -> bool:
        if operation.name == "tensor.insert":
            tensor = operation.operands[1]
            if tensor not in self.versions or not self._is_latest(tensor):
                return False
            self._define(operation.results, [self.versions[tensor]])
            return True
        if not all(map(self._is_latest, operation.operands)):
            return False
        if operation.name == "scf.for":
            return self._nested_loop(operation)
        if operation.name in CHOICES:
            return self._branches(operation)
        return operation.name == "arith.constant" or not (
            operation.regions
            or any(isinstance(each.type, TensorType) for each in operation.results)
        )

    def _nested_loop(self, loop: Operation) -> bool:
        """Follow the tensors through a loop, which may only update those that it carries."""
        numbers = self._numbers(initial_values(loop))
        before = dict(self._latest)
        return (
            numbers is not None
            and self.enter_loop(loop, numbers)
            and self._are_unchanged(before, numbers)
        )

    def _branches(self, branch: Operation) -> bool:
        """Follow the tensors through branches, which return the versions of the same tensors."""
        before = dict(self._latest)
        found: set[tuple[int | None, ...]] = set()
        for block in (block for region in branch.regions for block in region.blocks):
            self._latest = dict(before)
            last = block.last_op
            if last is None or not self._follow(block):
                return False
            numbers = self._numbers(last.operands)
            if (
                numbers is None
                or not self._are_latest(last.operands, numbers)
                or not self._are_unchanged(before, numbers)
            ):
                return False
            found.add(numbers)
        self._latest = before
        if len(found) == 1:
            self._define(branch.results, found.pop())
            return True
        return not found

    def _numbers(self, values: Sequence[SSAValue]) -> tuple[int | None, ...] | None:
        """Return the tensors that values are versions of; `None` if a tensor is no version."""
        numbers = tuple(map(self.versions.get, values))
        tensors = [each for each in values if isinstance(each.type, TensorType)]
        return numbers if len({*numbers} - {None}) == len(tensors) else None

    def _are_unchanged(self, before: dict[int, SSAValue], numbers: Numbers) -> bool:
        """Return whether the latest versions are those of before, but for some tensors."""
        return all(
            number in numbers or self._latest[number] is value for number, value in before.items()
        )

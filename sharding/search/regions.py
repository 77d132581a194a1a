"""Find the tensors and operations of a search problem that are decided together.

Elementwise operations require related dimensions to be split alike, so the tensors that they relate
form one *region*, with classes of related dimensions (the analysis is that of TOAST, arXiv
2508.15010). These belong to no region: operations that would put two dimensions of one tensor into
one class, contractions, windows, reshapes, and pinned tensors. Shardings may conflict there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

from ..factors import FactorKind, TensorFactors
from .problem import Problem, SearchOperation


@dataclass(slots=True)
class Region:
    """Tensors and operations that are decided together, by number."""

    tensors: list[int]
    operations: list[int]


class Regions:
    """The regions of a problem, and the classes of related dimensions, which are numbered."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._numbers = count()
        self._region = [Region([index], []) for index in range(len(problem.tensors))]
        """The region of each tensor."""
        self.dimension_classes = {
            index: self._new_classes(tensor.shape) for index, tensor in enumerate(problem.tensors)
        }
        """The class of each dimension of each tensor."""
        self.factor_classes: dict[int, tuple[int, ...]] = {}
        """The class of each factor of each operation that belongs to a region."""
        for index in range(len(problem.operations)):
            self._merge(index)

    def _new_classes(self, members: Sequence[object]) -> tuple[int, ...]:
        """Return a new class for each member."""
        return tuple(islice(self._numbers, len(members)))

    def _merge(self, index: int) -> None:
        """Merge the regions of an operation, unless dimensions of one tensor would coincide."""
        operation = self._problem.operations[index]
        tensors = self._problem.tensors
        inside = {each for each in operation.tensors if tensors[each].pinned is None}
        if not inside or not self._is_mergeable(operation):
            return
        merged = {id(self._region[tensor]): self._region[tensor] for tensor in sorted(inside)}
        regions = sorted(merged.values(), key=lambda region: min(region.tensors))
        joined = Region(
            [tensor for region in regions for tensor in region.tensors],
            sorted([index, *(each for region in regions for each in region.operations)]),
        )
        own = self._new_classes(operation.rule.factors)
        root = _connected(
            (self.dimension_classes[each][dimension], own[factor])
            for slot, tensor in _slots(operation)
            for each in inside.intersection(slot)
            for dimension, along in enumerate(tensor)
            for factor in along
        )
        dimensions = {
            tensor: tuple(map(root, self.dimension_classes[tensor])) for tensor in joined.tensors
        }
        factors = {
            each: tuple(map(root, self.factor_classes.get(each, own))) for each in joined.operations
        }
        after = (*dimensions.values(), *factors.values())
        if any(len(set(classes)) < len(classes) for classes in after):
            return
        self.dimension_classes |= dimensions
        self.factor_classes |= factors
        for tensor in joined.tensors:
            self._region[tensor] = joined

    def _is_mergeable(self, operation: SearchOperation) -> bool:
        rule = operation.rule
        if rule.windows or not rule.factors:
            return False
        kinds = {factor.kind for factor in rule.factors}
        if not kinds <= {FactorKind.PASS_THROUGH, FactorKind.REDUCTION}:
            return False
        if not all(self._is_simple(slot, tensor) for slot, tensor in _slots(operation)):
            return False
        reduced = {
            index
            for index, factor in enumerate(rule.factors)
            if factor.kind is FactorKind.REDUCTION
        }
        reducing = [
            tensor
            for slot, tensor in zip(operation.operands, rule.operands, strict=True)
            if slot and any(reduced.intersection(dimension) for dimension in tensor)
        ]
        return len(reducing) < 2

    def _is_simple(self, slot: tuple[int, ...], tensor: TensorFactors) -> bool:
        """Return whether each dimension is one factor; dimensions of extent 1 may have none."""
        return all(
            len(dimension) == 1
            or (not dimension and self._problem.tensors[each].shape[position] == 1)
            for each in slot
            for position, dimension in enumerate(tensor)
        )

    def merged(self) -> list[Region]:
        """Return the regions that have operations, in the order of their first ones."""
        found = {id(region): region for region in self._region if region.operations}
        return sorted(found.values(), key=lambda region: region.operations[0])

    def extents(self, region: Region) -> dict[int, int]:
        """Return the extents of the classes of a region that can be split."""
        found: dict[int, int] = {}
        for tensor in region.tensors:
            shape = self._problem.tensors[tensor].shape
            for number, size in zip(self.dimension_classes[tensor], shape, strict=True):
                if size is not None and size > 1:
                    found[number] = size
        for index in region.operations:
            factors = self._problem.operations[index].rule.factors
            for number, factor in zip(self.factor_classes[index], factors, strict=True):
                if factor.size is not None and factor.size > 1:
                    found.setdefault(number, factor.size)
        return found

    def weights(self, region: Region) -> dict[int, float]:
        """Return for each class the total bytes of the tensors that have it."""
        found: dict[int, float] = {}
        for tensor in region.tensors:
            for number in self.dimension_classes[tensor]:
                found[number] = found.get(number, 0.0) + self._problem.tensors[tensor].size
        return found


def _slots(operation: SearchOperation) -> Iterator[tuple[tuple[int, ...], TensorFactors]]:
    """Yield the tensors at each slot of an operation, with the factors of their dimensions."""
    rule = operation.rule
    slots = (*operation.operands, *operation.results)
    return zip(slots, (*rule.operands, *rule.results), strict=True)


def _connected(pairs: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """Return the function from a number to the least one that the pairs connect it with."""
    lower: dict[int, int] = {}

    def root(number: int) -> int:
        while number in lower:
            number = lower[number]
        return number

    for pair in pairs:
        least, other = sorted(map(root, pair))
        if least != other:
            lower[other] = least
    return root

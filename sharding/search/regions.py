"""Find the tensors and operations of a search problem that are decided together.

Elementwise operations require related dimensions to be split alike, so the tensors that they relate
form one *region*, with classes of related dimensions (the analysis is that of TOAST, arXiv
2508.15010). These belong to no region: operations that would put two dimensions of one tensor into
one class, contractions, windows, reshapes, and pinned tensors. Shardings may conflict there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..factors import FactorKind, TensorFactors
from .problem import Problem, SearchOperation


class Regions:
    """Which tensors and operations are decided together, and the classes of dimensions."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._region = list(range(len(problem.tensors)))
        """The region of each tensor, represented by one of its tensors."""
        self._members = [[index] for index in range(len(problem.tensors))]
        self._classes: list[tuple[int, ...]] = []
        """For each tensor the classes of its dimensions."""
        count = 0
        for tensor in problem.tensors:
            self._classes.append(tuple(range(count, count + len(tensor.shape))))
            count += len(tensor.shape)
        self._next = count
        self.taken: dict[int, int] = {}
        """Operations that belong to a region, each with a tensor of the region."""
        self.factor_classes: dict[int, tuple[int, ...]] = {}
        for index in range(len(problem.operations)):
            self._merge(index)

    def _merge(self, index: int) -> None:
        """Merge the regions of an operation, unless dimensions of one tensor would coincide."""
        operation = self._problem.operations[index]
        tensors = self._problem.tensors
        inside = sorted(each for each in operation.tensors if tensors[each].pinned is None)
        if not inside or not self._is_mergeable(operation):
            return
        regions = sorted({self._region[tensor] for tensor in inside})
        # Each factor gets a new class, which is unified with the classes of dimensions along it.
        same: dict[int, int] = {}

        def root(number: int) -> int:
            while number in same:
                number = same[number]
            return number

        factors = range(self._next, self._next + len(operation.rule.factors))
        slots = (*operation.operands, *operation.results)
        for slot, tensor in zip(
            slots, (*operation.rule.operands, *operation.rule.results), strict=True
        ):
            for each in slot:
                if each not in inside:
                    continue
                for dimension, along in enumerate(tensor):
                    for factor in along:
                        one, other = root(self._classes[each][dimension]), root(factors[factor])
                        if one != other:
                            same[max(one, other)] = min(one, other)
        members = [tensor for region in regions for tensor in self._members[region]]
        after = {
            tensor: tuple(root(number) for number in self._classes[tensor]) for tensor in members
        }
        own = [root(number) for number in factors]
        grown = [
            [root(number) for number in self.factor_classes[other]]
            for other, tensor in self.taken.items()
            if self._region[tensor] in regions
        ]
        if any(len(set(each)) < len(each) for each in (*after.values(), own, *grown)):
            return
        self._next += len(factors)
        for tensor, classes in after.items():
            self._classes[tensor] = classes
            self._region[tensor] = regions[0]
        for other, tensor in self.taken.items():
            if self._region[tensor] == regions[0]:
                known = self.factor_classes[other]
                self.factor_classes[other] = tuple(root(number) for number in known)
        self._members[regions[0]] = members
        self.taken[index] = inside[0]
        self.factor_classes[index] = tuple(own)

    def _is_mergeable(self, operation: SearchOperation) -> bool:
        rule = operation.rule
        if rule.windows or not rule.factors:
            return False
        kinds = {factor.kind for factor in rule.factors}
        if not kinds <= {FactorKind.PASS_THROUGH, FactorKind.REDUCTION}:
            return False
        slots = zip(
            (*operation.operands, *operation.results), (*rule.operands, *rule.results), strict=True
        )
        if any(not self._is_simple(slot, tensor) for slot, tensor in slots):
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

    def merged(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the tensors and operations of each region that has operations."""
        by_region: dict[int, list[int]] = {}
        for operation, tensor in self.taken.items():
            by_region.setdefault(self._region[tensor], []).append(operation)
        for region, operations in by_region.items():
            yield self._members[region], operations

    def homes(self) -> set[int]:
        """Return the tensors in regions that have operations."""
        return {tensor for tensors, _ in self.merged() for tensor in tensors}

    def dimension_classes(self, tensor: int) -> tuple[int, ...]:
        """Return the class of each dimension of a tensor."""
        return self._classes[tensor]

    def classes_of(self, tensors: Sequence[int], operations: Sequence[int]) -> dict[int, int]:
        """Return the classes of a region that can be split, with their extents."""
        found: dict[int, int] = {}
        for tensor in tensors:
            for number, size in zip(
                self._classes[tensor], self._problem.tensors[tensor].shape, strict=True
            ):
                if size is not None and size > 1:
                    found[number] = size
        for index in operations:
            factors = self._problem.operations[index].rule.factors
            for number, factor in zip(self.factor_classes[index], factors, strict=True):
                if factor.size is not None and factor.size > 1:
                    found.setdefault(number, factor.size)
        return found

    def weights(self, tensors: Sequence[int]) -> dict[int, float]:
        """Return for each class the total bytes of the tensors that have it."""
        found: dict[int, float] = {}
        for tensor in tensors:
            for number in self._classes[tensor]:
                found[number] = found.get(number, 0.0) + self._problem.tensors[tensor].size
        return found

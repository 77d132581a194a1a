"""Ask the interpreter's shape rules about an operation whose sizes are words of host code.

If all words are known, the rules run at compile time. Otherwise they run at run time, when sizes
differ from those that passed the last check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import RegisterValues
from ...runtime.host.size_rules import SizeRules, Word
from .shape_rules import ShapeResolver
from .size_rules import sufficient_rules
from .values import NotLowered, Shape

Sizes = tuple[int, ...]


@dataclass(slots=True, eq=False)
class ShapeQuery:
    """An operation with the words that its shapes depend on.

    - `words`: the sizes of tensors, index operands, and elements of lists of sizes;
    - `constant`: returns the array of a constant.
    """

    operation: Operation
    constant: Callable[[SSAValue], Array]
    words: list[IndexOrInt] = field(default_factory=list[IndexOrInt])
    _shapes: list[tuple[SSAValue, int]] = field(default_factory=list[tuple[SSAValue, int]])
    _numbers: list[tuple[SSAValue, int | None]] = field(
        default_factory=list[tuple[SSAValue, int | None]]
    )

    def add_shape(self, value: SSAValue, shape: Shape) -> None:
        """Add the shape of an operand. Shapes must be added before numbers."""
        self._shapes.append((value, len(shape)))
        self.words += shape

    def add_number(self, value: SSAValue, number: IndexOrInt) -> None:
        """Add an index."""
        self._numbers.append((value, None))
        self.words.append(number)

    def add_list(self, value: SSAValue, numbers: Sequence[IndexOrInt]) -> None:
        """Add the elements of a tensor that lists sizes."""
        self._numbers.append((value, len(numbers)))
        self.words += numbers

    def result_shapes(self, numbers: RegisterValues) -> list[Sizes]:
        """Return the shapes of the results. Raises OperationError if they do not match types."""
        rest = iter(numbers)
        known = {value: _take(rest, rank) for value, rank in self._shapes}
        given: dict[SSAValue, Value] = {
            value: np.asarray(next(rest) if count is None else _take(rest, count), np.int64)
            for value, count in self._numbers
        }

        def content(value: SSAValue) -> Value:
            return given[value] if value in given else self.constant(value)

        resolver = ShapeResolver(known, content)
        if not self.operation.results:
            resolver.result_shapes(self.operation)
        else:
            resolver.infer(self.operation)
        return [resolver.shape(result) for result in self.operation.results]

    def check(self, numbers: RegisterValues) -> None:
        """Raise OperationError if the sizes are wrong."""
        self.result_shapes(numbers)

    def rules(self) -> SizeRules | None:
        """Return sufficient conditions on the same words, `None` if there are no simple ones."""
        shapes: dict[SSAValue, tuple[Word, ...]] = {}
        count = 0
        for value, rank in self._shapes:
            shapes[value] = tuple(Word(count + axis) for axis in range(rank))
            count += rank
        numbers = [Word(count + number) for number in range(len(self._numbers))]
        return sufficient_rules(self.operation, shapes, numbers)

    def failure(self, numbers: RegisterValues) -> OperationError:
        """Return the error in sizes that are wrong. Raises ValueError if they are right."""
        try:
            self.result_shapes(numbers)
        except OperationError as error:
            return error
        raise ValueError(f"{self.operation.name} failed, but its sizes are valid")


def _take(numbers: Iterator[int], count: int) -> Sizes:
    return tuple(next(numbers) for _ in range(count))


def reads_number(value: SSAValue) -> bool:
    """Return whether shapes may depend on a scalar operand."""
    return isinstance(value.type, IndexType)


def list_length(operation: Operation, position: int) -> int | None:
    """Return the length of a list of sizes that is a run-time operand, `None` for other operands.

    Raises NotLowered if its length is dynamic.
    """
    if operation.name != "tensor.reshape" or position != 1:
        return None
    kind = operation.operands[1].type
    length = kind.get_shape()[0] if isinstance(kind, TensorType) else -1
    if length < 0:
        raise NotLowered(operation, "has a shape of dynamic length, which has no host code")
    return length

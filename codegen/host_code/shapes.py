"""Compute the shapes of tensors while a function is lowered; dynamic sizes are in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects.result_sizes import Sizes, result_size
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.program import Register
from ..kernels.static_values import shape_of
from .values import Shape


class HostShapes(Sizes[Register]):
    """The shapes of the tensors of a function.

    - `known`: returns the shape of a value that has been computed;
    - `number`: returns an index;
    - `ask`: returns the shapes of an operation's results if no instructions compute them.
    """

    def __init__(
        self,
        builder: Builder,
        known: Callable[[SSAValue], Shape | None],
        number: Callable[[SSAValue], IndexOrInt],
        ask: Callable[[Operation], Sequence[Shape]],
    ) -> None:
        self._builder = builder
        self._known = known
        self._number = number
        self._ask = ask

    def shape(self, value: SSAValue) -> Shape:
        """Return the shape of a tensor, which may be fused into a kernel and have no memory.

        Raises ValueError for a block argument whose shape is not known.
        """
        found = self._known(value)
        if found is not None:
            return found
        static = shape_of(value)
        if all(size >= 0 for size in static):
            return static
        if not isinstance(value, OpResult):
            raise ValueError("an argument has no shape yet")
        return self.result_shape(value)

    def result_shape(self, result: OpResult) -> Shape:
        """Return the shape of a result: static sizes from its type, others from the operands."""
        sizes: list[IndexOrInt] = []
        for index, static in enumerate(shape_of(result)):
            size = static if static >= 0 else result_size(self, result, index)
            if size is None:
                return tuple(self._ask(result.op)[result.index])
            sizes.append(size)
        return tuple(sizes)

    def size(self, value: SSAValue, index: int) -> IndexOrInt:
        return self.shape(value)[index]

    def given(self, value: SSAValue) -> IndexOrInt:
        return self._number(value)

    def arithmetic(self, value: OpResult) -> Builder:
        return self._builder

"""The table of rules that convert TOSA, and the emitter that they get."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from ...ir.index import IndexOrInt
from ...ir.locations import maker_of
from ...ir.rules import Rules
from ..sizes.dimension_sizes import DimensionSizes
from ..stablehlo.lowering.emitter import Emitter, shape

tosa_rule = Rules[Callable[[Emitter, Operation], SSAValue | Sequence[SSAValue] | None]]()
"""`@tosa_rule("tosa.reverse")`: `function(emitter, operation)` emits what computes the result, or a
list of results, or returns `None` if the operation stays."""


def only_element(e: Emitter, value: SSAValue) -> SSAValue:
    """Emit the read of the element of a tensor that has one."""
    return e.element(value, [0] * len(shape(value)))


class UnsharedSizes(DimensionSizes):
    """Sizes that are found without communication."""

    def _find(self, value: SSAValue, index: int) -> IndexOrInt:
        is_local = shape(value)[index] >= 0 or not maker_of(value).name.startswith("shard.")
        return super()._find(value, index) if is_local else self.measure(value, index)


class SizedEmitter(Emitter):
    """Emits sizes as they follow from operands, so that equal ones are one value."""

    def __init__(
        self, builder: Builder, origin: Operation, sizes: DimensionSizes | None = None
    ) -> None:
        super().__init__(builder, origin)
        self._sizes = sizes

    def size(self, value: SSAValue, dimension: int) -> IndexOrInt:
        if self._sizes is None:
            return super().size(value, dimension)
        return self._sizes.size(value, dimension)

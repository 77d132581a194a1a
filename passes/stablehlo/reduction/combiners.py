"""Reduction bodies: the types of the accumulators, and how an element is combined with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ..elementwise.conversions import convert, convert_tensor
from ..lowering.element_types import Kind, kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Lowering

_ACCUMULATING = {
    **{"stablehlo.add": "arith.addf", "stablehlo.multiply": "arith.mulf"},
    **{"arith.addf": "arith.addf", "arith.mulf": "arith.mulf"},
}


@dataclass(frozen=True, slots=True)
class Combiner:
    """The body of a reduction over elements of some kinds.

    Sums and products of floats narrower than f32 are accumulated in f32 and rounded once.
    """

    lowering: Lowering
    operation: Operation
    region: Region
    kinds: tuple[Kind, ...]
    """The kinds of the body's elements, one for each input."""
    widened: str = ""
    """The op that replaces the body, on f32; empty if the body is used."""
    elements_first: bool = False
    """Whether the body takes the elements before the accumulators."""

    @property
    def carried(self) -> list[Attribute]:
        """The types of the accumulators."""
        return [each.type for each in self.carried_kinds]

    @property
    def carried_kinds(self) -> Sequence[Kind]:
        """The kinds of the accumulators."""
        return [_F32] if self.widened else self.kinds

    def to_carried(
        self, e: Emitter, values: Sequence[SSAValue], given: Sequence[Kind]
    ) -> list[SSAValue]:
        """Return scalars, of the given kinds, converted to the accumulators' types."""
        return [
            convert(e, value, source, target)
            for value, source, target in zip(values, given, self.carried_kinds, strict=True)
        ]

    def combine(
        self,
        e: Emitter,
        carried: Sequence[SSAValue],
        elements: Sequence[SSAValue],
        given: Sequence[Kind],
    ) -> list[SSAValue]:
        """Return the accumulators combined with elements of the given kinds.

        Raises OperationError if the body does not work element by element.
        """
        values = self.to_carried(e, elements, given)
        if self.widened:
            return [e.op(self.widened, carried[0], values[0])]
        arguments = [*values, *carried] if self.elements_first else [*carried, *values]
        return self.lowering.inline_on_scalars(self.region, arguments, e)

    def finish(self, e: Emitter, results: Sequence[SSAValue]) -> list[SSAValue]:
        """Return tensors of accumulators converted to the body's element types."""
        return [
            convert_tensor(e, result, source, target)
            for result, source, target in zip(results, self.carried_kinds, self.kinds, strict=True)
        ]


_F32 = kind(f32)


def combiner(
    lowering: Lowering,
    operation: Operation,
    region: Region,
    count: int,
    *,
    widen: bool = True,
    elements_first: bool = False,
) -> Combiner:
    """Return the combiner of a region with `count` pairs of arguments.

    With `widen`, a sum or product of narrow floats is accumulated in f32.
    """
    kinds = tuple(kind(argument.type) for argument in region.block.args[:count])
    widened = ""
    body = only_operation(region)
    is_narrow = widen and count == 1 and kinds[0].is_narrow_float
    if is_narrow and body is not None and kind(body.result_types[0]) == kinds[0]:
        widened = _ACCUMULATING.get(body.name, "")
    return Combiner(lowering, operation, region, kinds, widened, elements_first)


def only_operation(region: Region) -> Operation | None:
    """Return the body's only op if it combines both arguments and is returned, else `None`."""
    block = region.block
    body = list(block.ops)
    if len(body) != 2 or len(body[0].operands) != 2 or set(body[0].operands) != set(block.args):
        return None
    return body[0] if tuple(body[1].operands) == tuple(body[0].results) else None

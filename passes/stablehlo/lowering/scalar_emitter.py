"""Emit ops on scalars and indices, at one insertion point and with one op's location."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Self, cast

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
    IntegerOverflowAttr,
)
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
)
from xdsl.dialects.complex import Complex
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.arith.dialect import ExtendedArith
from ....dialects.linalg.bodies import IndexOp
from ....dialects.math import ExtendedMath
from ....ir.index import BuilderIndices, IndexOrInt, known
from ....ir.index_lists import INDEX
from ....ir.locations import located_builder
from .element_types import kind

BOOL = IntegerType(1)


@lru_cache(maxsize=1)
def _classes() -> dict[str, type[Operation]]:
    dialects = (ExtendedArith, ExtendedMath, Complex)
    return {each.name: each for dialect in dialects for each in dialect.operations}


@lru_cache(maxsize=512)
def _defaults(name: str) -> tuple[type[Operation], dict[str, Attribute]]:
    found = _classes()[name]
    properties = cast(Any, found).get_irdl_definition().properties
    defaults: dict[str, Attribute] = {}
    if "fastmath" in properties:
        defaults["fastmath"] = FastMathFlagsAttr("none")
    if "overflowFlags" in properties:
        defaults["overflowFlags"] = IntegerOverflowAttr("none")
    return found, defaults


class ScalarEmitter(BuilderIndices):
    """Emits ops on scalars and indices at the insertion point of its builder."""

    def __init__(self, builder: Builder, origin: Operation) -> None:
        super().__init__(builder)
        self.builder = builder
        self.origin = origin

    def add_op(self, operation: Operation) -> Operation:
        """Insert an op and return it."""
        return self.builder.insert(operation)

    def inside(self, block: Block) -> Self:
        """Return an emitter that inserts at the end of a block."""
        return type(self)(located_builder(InsertPoint.at_end(block), self.origin), self.origin)

    def sequential_loop(
        self,
        count: IndexOrInt,
        initial: Sequence[SSAValue],
        body: Callable[[Self, Sequence[SSAValue]], Sequence[SSAValue]],
        first: int = 0,
    ) -> list[SSAValue]:
        """Emit an `scf.for` from `first` to `count` and return its results.

        The body takes an emitter and the index followed by the carried values, and returns the next
        carried values.
        """
        block = Block(arg_types=[INDEX, *(value.type for value in initial)])
        inner = self.inside(block)
        inner.add_op(scf.YieldOp(*body(inner, block.args)))
        bounds = self.index(first), self.index(count), self.index(1)
        return list(self.add_op(scf.ForOp(*bounds, initial, Region(block))).results)

    # Scalars.

    def op(
        self,
        name: str,
        *operands: SSAValue,
        to: Attribute | None = None,
        **properties: Attribute,
    ) -> SSAValue:
        """Emit an op of arith, math or complex by name, such as `arith.addf`.

        The result has the type `to`, by default that of the first operand.
        """
        found, defaults = _defaults(name)
        made = found.create(
            operands=operands,
            result_types=[operands[0].type if to is None else to],
            properties={**defaults, **properties},
        )
        return self.insert(made)

    def constant(self, value: float | complex, element: Attribute) -> SSAValue:
        """Emit a constant of a signless integer, index, float or complex type."""
        if isinstance(element, ComplexType):
            part, number = cast("ComplexType[Any]", element).element_type, complex(value)
            parts = ArrayAttr([FloatAttr(each, part) for each in (number.real, number.imag)])
            return self._constant("complex.constant", parts, cast(Attribute, element))
        if kind(element).name == "float":
            return self._constant(
                "arith.constant", FloatAttr(float(cast(float, value)), cast(Any, element)), element
            )
        number = int(cast(int, value))
        return self._constant(
            "arith.constant", IntegerAttr(number, cast(Any, element), truncate_bits=True), element
        )

    def _constant(self, name: str, value: Attribute, element: Attribute) -> SSAValue:
        made = _classes()[name].create(result_types=[element], properties={"value": value})
        return self.insert(made)

    def compare_integers(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit `arith.cmpi` with a predicate such as `slt`."""
        number = IntegerAttr(CMPI_COMPARISON_OPERATIONS.index(predicate), 64)
        return self.op("arith.cmpi", left, right, to=BOOL, predicate=number)

    def compare_floats(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit `arith.cmpf` with a predicate such as `olt`."""
        number = IntegerAttr(CMPF_COMPARISON_OPERATIONS.index(predicate), 64)
        return self.op("arith.cmpf", left, right, to=BOOL, predicate=number)

    def compare_with_zero(self, predicate: str, value: SSAValue) -> SSAValue:
        """Emit `arith.cmpf` with 0.

        Floats narrower than 16 bits are compared in f32, because f8E8M0FNU has no zero.
        """
        if kind(value.type).width < 16:
            value = self.op("arith.extf", value, to=f32)
        return self.compare_floats(predicate, value, self.constant(0.0, value.type))

    def select(self, condition: SSAValue, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit `arith.select`."""
        return self.op("arith.select", condition, left, right, to=left.type)

    def both(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit `arith.andi`."""
        return self.op("arith.andi", left, right)

    def either(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit `arith.ori`."""
        return self.op("arith.ori", left, right)

    def negated(self, truth: SSAValue) -> SSAValue:
        """Emit the negation of an `i1`."""
        return self.op("arith.xori", truth, self.constant(1, BOOL))

    def loop_index(self, dimension: int) -> SSAValue:
        """Emit `linalg.index`."""
        return self.insert(IndexOp(dimension))

    def to_index(self, value: SSAValue, signed: bool = True) -> SSAValue:
        """Emit the conversion of an integer to an index."""
        if isinstance(value.type, IndexType):
            return value
        number = known(value)
        if isinstance(number, int) and number >= 0 and kind(value.type).width > 1:
            return self.index(number)
        if kind(value.type).width == 1:
            return self.op("arith.index_castui", value, to=INDEX)
        return self.op("arith.index_cast" if signed else "arith.index_castui", value, to=INDEX)

    def from_index(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Emit the conversion of an index to an integer type."""
        if isinstance(element, IndexType):
            return value
        return self.op("arith.index_cast", value, to=element)

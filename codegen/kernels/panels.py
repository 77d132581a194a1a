"""Packing the operand of a large matrix product into panels, as the microkernel reads them.

A panel is `steps x width`: for each step of the depth the elements of some rows or columns, one
after the other, and zeros beyond the last. Floats are widened to those of the sums. Narrow integers
are packed in pairs: an element of 32 bits holds two terms of 16 bits, the first in its low half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...runtime.abi.elements import Element, element_by_name
from .ast_builder import AstBuilder, Term
from .product_sums import Factor
from .static_values import constant_attribute
from .writer import Indices, KernelWriter

Loops = tuple[int, ...]

TOGETHER = 4
"""Panels of an operand whose rows lie along them that are written at once."""

Store = Callable[[Term, Term, Term], None]
"""Sets an element of a panel, by its step and its place in that."""


def set_loops(
    code: AstBuilder, point: list[Term], loops: Loops, sizes: Sequence[Term], index: Term
) -> None:
    """Set a group of loops from their common row-major index."""
    for loop in reversed(loops[1:]):
        point[loop] = code.modulo(index, sizes[loop])
        index = code.floor_divide(index, sizes[loop])
    if loops:
        point[loops[0]] = index


@dataclass(frozen=True, slots=True)
class PanelPacking:
    """How an operand is packed.

    - `batch`, `across`, `depth`: its loops by what they do, those of the panels' width second;
    - `sizes`: of all loops of the product;
    - `element`: that of the panels;
    - `terms`: how many terms one of them holds, 1 or 2;
    - `lanes`: the elements of a vector.
    """

    writer: KernelWriter
    operand: SSAValue
    map: AffineMap
    factor: Factor
    batch: Loops
    across: Loops
    depth: Loops
    sizes: Indices
    element: Element
    terms: int
    width: int
    lanes: int

    @property
    def _is_vector(self) -> bool:
        """Whether elements across a panel lie next to each other."""
        last, value = self.map.results[-1], self.operand
        return (
            isinstance(last, AffineDimExpr)
            and self.across == (last.position,)
            and self.width % self.lanes == 0
            and not self.writer.is_inline(value)
            and constant_attribute(value) is None
        )

    @property
    def together(self) -> int:
        """How many panels are written at once: their rows are read in longer pieces."""
        return TOGETHER if self._is_vector and self.terms == 1 else 1

    def write(self, base: Term, before: Term, start: Term, stop: Term) -> None:
        """Write panels from `start` to `stop`, before which there are some that are not packed."""
        code, together = self.writer.code, self.together
        if together == 1:
            self._write_panel(base, start, code.add(before, start))
            return
        count, steps = (
            code.product([self.sizes[loop] for loop in loops])
            for loops in (self.across, self.depth)
        )
        panel_count = code.ceiling_divide(count, self.width)
        number = code.add(before, start)
        batch = code.floor_divide(number, panel_count)
        first = code.multiply(code.modulo(number, panel_count), self.width)
        size = code.multiply(steps, self.width)

        def store(step: Term, lane: Term, value: Term) -> None:
            assert isinstance(lane, int)
            panel, within = divmod(lane, self.width)
            at = code.multiply(code.add(start, panel), size)
            place = code.add(at, code.add(code.multiply(step, self.width), within))
            code.run(f"vstore_{self.element.name}_{self.lanes}_0", base, place, value)

        lanes = code.minimum(
            code.subtract(count, first), code.multiply(code.subtract(stop, start), self.width)
        )
        with code.when(code.compare("sge", lanes, together * self.width)):
            self._write_vectors(batch, first, steps, store, together)
        with code.otherwise(), code.loop(start, stop) as work:
            self._write_panel(base, work, code.add(before, work))

    def _write_panel(self, base: Term, work: Term, number: Term) -> None:
        """Write panel `number` of all as panel `work` at an address."""
        code, width, name = self.writer.code, self.width, self.element.name
        count, depth = (
            code.product([self.sizes[loop] for loop in loops])
            for loops in (self.across, self.depth)
        )
        steps, whole_steps = (
            divide(depth, self.terms) for divide in (code.ceiling_divide, code.floor_divide)
        )
        panel_count = code.ceiling_divide(count, width)
        batch = code.floor_divide(number, panel_count)
        first = code.multiply(code.modulo(number, panel_count), width)
        start = code.multiply(work, code.multiply(steps, width))
        lanes = code.minimum(code.subtract(count, first), width)

        def place(step: Term, lane: Term) -> Term:
            return code.add(start, code.add(code.multiply(step, width), lane))

        def store(step: Term, lane: Term, value: Term) -> None:
            code.run(f"store_{name}_0", base, place(step, lane), value)

        def store_vector(step: Term, lane: Term, value: Term) -> None:
            code.run(f"vstore_{name}_{self.lanes}_0", base, place(step, lane), value)

        if self._is_vector:
            with code.when(code.compare("sge", lanes, width)):
                self._write_vectors(batch, first, whole_steps, store_vector)
            with code.otherwise():
                self._write_elements(batch, first, whole_steps, lanes, store)
        else:
            self._write_elements(batch, first, whole_steps, lanes, store)
        if steps != whole_steps:
            # The last term of an odd number has none at its side.
            with code.loop(whole_steps, steps) as step, code.loop(0, lanes) as lane:
                value = self._element(batch, code.add(first, lane), code.multiply(step, self.terms))
                store(step, lane, self._low_half(value))
        is_float = self.element.is_float
        zero = code.float_constant(0.0, name) if is_float else code.integer_constant(0, name)
        with code.loop(0, steps) as step, code.loop(lanes, width) as lane:
            store(step, lane, zero)

    def _write_vectors(
        self, batch: Term, first: Term, steps: Term, store: Store, panels: int = 1
    ) -> None:
        """All steps of panels that are full; a panel's lanes follow those of the one before."""
        code = self.writer.code
        with code.loop(0, steps) as step:
            for lane in range(0, panels * self.width, self.lanes):
                values: list[Term] = []
                for term in range(self.terms):
                    at = code.add(code.multiply(step, self.terms), term)
                    indices = self._indices(batch, code.add(first, lane), at)
                    position = code.linear(indices, self.writer.shape(self.operand))
                    loaded = self.factor.loaded(self.writer.element_of(self.operand))
                    values.append(
                        self.writer.load_vector(
                            self.operand, position, loaded, self.element, self.lanes
                        )
                    )
                packed = values[0]
                if self.terms > 1:
                    packed = code.call(f"vpair_{self.lanes}", *values)
                store(step, lane, packed)

    def _write_elements(
        self, batch: Term, first: Term, steps: Term, lanes: Term, store: Store
    ) -> None:
        """All steps of the rows or columns that there are; what moves along memory is innermost."""
        code = self.writer.code

        def copy(step: Term, lane: Term) -> None:
            across = code.add(first, lane)
            at = code.multiply(step, self.terms)
            value = self._element(batch, across, at)
            if self.terms > 1:
                name, following = self.element.name, self._element(batch, across, code.add(at, 1))
                high = code.call(f"shli_{name}", following, code.integer_constant(16, name))
                value = code.call(f"ori_{name}", self._low_half(value), high)
            store(step, lane, value)

        last = self.map.results[-1]
        if isinstance(last, AffineDimExpr) and last.position in self.across:
            with code.loop(0, steps) as step, code.loop(0, lanes) as lane:
                copy(step, lane)
        else:
            with code.loop(0, lanes) as lane, code.loop(0, steps) as step:
                copy(step, lane)

    def _indices(self, batch: Term, across: Term, term: Term) -> Indices:
        """Where an element lies in the operand."""
        code = self.writer.code
        point: list[Term] = [0] * len(self.sizes)
        parts = ((self.batch, batch), (self.across, across), (self.depth, term))
        for loops, index in parts:
            set_loops(code, point, loops, self.sizes, index)
        return self.writer.apply_map(self.map, tuple(point))

    def _element(self, batch: Term, across: Term, term: Term) -> Term:
        """An element of the operand as those of the panels are."""
        value = self.writer.element(self.operand, self._indices(batch, across, term))
        source = element_by_name(self.writer.element_of(self.operand).register)
        if source == self.element:
            return value
        conversion = self.factor.conversion(self.element)
        return self.writer.code.call(f"{conversion}_{source.name}_{self.element.name}", value)

    def _low_half(self, value: Term) -> Term:
        code, name = self.writer.code, self.element.name
        return code.call(f"andi_{name}", value, code.integer_constant(0xFFFF, name))

"""Pack an operand of a large matrix product into panels for the microkernel.

A panel is `words x width`: for each word of the depth the elements of some rows or columns, then
zeros beyond the last. Floats are widened to the type of the sums. Narrow integers are packed in
pairs: a word of 32 bits holds two terms of 16 bits, the first in the low half. If the CPU
multiplies such terms directly, a word holds two or four of them as they are stored. For matrix
registers (AMX), panels of the left operand are stored row by row: `width x words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....ir.linear_forms import loops_of
from ....runtime.abi.elements import Element, element_by_name, integer_element
from ...microkernels.products import Tile
from ...microkernels.transpose_squares import square_of
from ..code.ast_builder import AstBuilder, Term
from ..elements.static_values import constant_attribute
from ..elements.writer import Indices, KernelWriter
from ..loops.tiles import extent_of_tile
from .contractions import Contraction
from .factors import I32, Factor

Loops = tuple[int, ...]

PANELS_TOGETHER = 4
"""The panels that are written together if the operand's rows run across panels."""

SCRATCH_SCOPE = 3
"""The alias scope of memory on the stack: after those of the result and two operands."""

Store = Callable[[Term, Term, Term], None]
"""Sets a word of a panel, or a vector of words, at an index along the depth and one across."""


def set_loops(
    code: AstBuilder, point: list[Term], loops: Loops, sizes: Sequence[Term], index: Term
) -> None:
    """Set the indices of a group of loops from their common row-major index."""
    for loop in reversed(loops[1:]):
        point[loop] = code.modulo(index, sizes[loop])
        index = code.floor_divide(index, sizes[loop])
    if loops:
        point[loops[0]] = index


@dataclass(frozen=True, slots=True)
class PanelPacking:
    """How an operand of a product is packed.

    - `position`: the operand's position: panels of operand 0 consist of rows, those of operand 1 of
      columns;
    - `sizes`: the trip counts of all loops of the product;
    - `first_word`, `words`: the words of depth that panels hold.
    """

    writer: KernelWriter
    contraction: Contraction
    position: int
    sizes: Indices
    first_word: Term
    words: Term

    @property
    def operand(self) -> SSAValue:
        """The operand."""
        return self.contraction.view.inputs[self.position]

    @property
    def tile(self) -> Tile:
        """What the microkernel multiplies at once."""
        return self.contraction.tile

    @property
    def _map(self) -> AffineMap:
        """The operand's indexing map."""
        return self.contraction.view.maps[self.position]

    @property
    def _factor(self) -> Factor:
        return self.contraction.factors[self.position]

    @property
    def _is_left(self) -> bool:
        return self.position == 0

    @property
    def _across(self) -> Loops:
        """The loops along the width of panels."""
        return self.contraction.rows if self._is_left else self.contraction.columns

    @property
    def element(self) -> Element:
        """The element of a panel: a word of several terms, or the type of the sums."""
        return self.contraction.element if self.tile.terms == 1 else I32

    @property
    def width(self) -> int:
        """The rows or columns of a panel."""
        return self.tile.rows if self._is_left else self.tile.columns

    @property
    def _is_in_rows(self) -> bool:
        """Whether the words of a row are contiguous."""
        return self._is_left and self.tile.step > 1

    @property
    def _bits(self) -> Element | None:
        """The unsigned integer with the bits of a stored term, `None` if terms are widened."""
        if not self.tile.is_as_stored:
            return None
        return integer_element(self.writer.element_of(self.operand).width, unsigned=True)

    def _lies_along(self, loops: Loops) -> bool:
        """Return whether a group is one loop, along which the stored operand is contiguous."""
        last, value = self._map.results[-1], self.operand
        return (
            isinstance(last, AffineDimExpr)
            and loops == (last.position,)
            and not self.writer.is_fused(value)
            and constant_attribute(value) is None
        )

    @property
    def _is_vector(self) -> bool:
        """Whether elements across a panel are read and written as vectors."""
        is_even = self.width % self.tile.lanes == 0 and not self._is_in_rows
        return is_even and self._lies_along(self._across)

    @property
    def together(self) -> int:
        """The number of panels that are written at once, so that rows are read in longer pieces."""
        return PANELS_TOGETHER if self._is_vector else 1

    def write(self, base: Term, before: Term, start: Term, stop: Term) -> None:
        """Write panels `start` to `stop` at `base`; its panel 0 is the operand's `before`."""
        code, together = self.writer.code, self.together
        if together == 1:
            self._write_panel(base, start, code.add(before, start))
            return
        count, words, whole = self._counts()
        panel_count = code.ceiling_divide(count, self.width)
        number = code.add(before, start)
        batch = code.floor_divide(number, panel_count)
        first = code.multiply(code.modulo(number, panel_count), self.width)
        size = code.multiply(words, self.width)

        def store(word: Term, lane: Term, value: Term) -> None:
            assert isinstance(lane, int)
            panel, within = divmod(lane, self.width)
            at = code.multiply(code.add(start, panel), size)
            place = code.add(at, code.add(code.multiply(word, self.width), within))
            code.run(f"vstore_{self.element.name}_{self.tile.lanes}_0", base, place, value)

        lanes = code.minimum(
            code.subtract(count, first), code.multiply(code.subtract(stop, start), self.width)
        )

        def all_panels() -> None:
            self._write_vectors(batch, first, (0, whole), store, together)
            if words != whole:
                with code.loop(0, together) as panel:
                    corner = code.add(first, code.multiply(panel, self.width))
                    self._finish(base, code.add(start, panel), batch, corner, self.width)

        def each_panel() -> None:
            with code.loop(start, stop) as work:
                self._write_panel(base, work, code.add(before, work))

        code.branch(code.compare("sge", lanes, together * self.width), all_panels, each_panel)

    def _counts(self) -> tuple[Term, Term, Term]:
        """Return three counts: rows or columns, words of a panel's depth, and complete words.

        A complete word has all of its terms.
        """
        code = self.writer.code
        count = code.product([self.sizes[loop] for loop in self._across])
        whole = code.floor_divide(self._terms_left, self.tile.terms)
        return count, self.words, code.minimum(whole, self.words)

    @property
    def _terms_left(self) -> Term:
        """The terms of the depth from the first word on."""
        code = self.writer.code
        depth = code.product([self.sizes[loop] for loop in self.contraction.depth])
        return code.subtract(depth, code.multiply(self.first_word, self.tile.terms))

    def _write_panel(self, base: Term, work: Term, number: Term) -> None:
        """Write panel `number` of the operand as panel `work` at an address."""
        code, width = self.writer.code, self.width
        count, _, whole = self._counts()
        panel_count = code.ceiling_divide(count, width)
        batch = code.floor_divide(number, panel_count)
        first = code.multiply(code.modulo(number, panel_count), width)
        lanes = extent_of_tile(code, count, first, width)
        store = self._store(base, work, f"store_{self.element.name}_0")
        transpose = self._transpose

        def vectors() -> None:
            vector = f"vstore_{self.element.name}_{self.tile.lanes}_0"
            self._write_vectors(batch, first, (0, whole), self._store(base, work, vector))

        def transposed() -> None:
            copied = transpose(base, work, batch, first) if transpose else 0
            self._write_elements(batch, first, (copied, whole), width, store)

        def elements() -> None:
            self._write_elements(batch, first, (0, whole), lanes, store)

        if self._is_vector or transpose is not None:
            whole_panel = vectors if self._is_vector else transposed
            code.branch(code.compare("sge", lanes, width), whole_panel, elements)
        else:
            copied = 0
            if self._is_in_rows and self._lies_along(self.contraction.depth):
                copied = self._copy_rows(base, work, batch, first, lanes)
            self._write_elements(batch, first, (copied, whole), lanes, store)
        self._finish(base, work, batch, first, lanes)

    def _store(self, base: Term, work: Term, primitive: str) -> Store:
        """Return a function that sets words of a panel."""
        code = self.writer.code
        _, words, _ = self._counts()
        start = code.multiply(work, code.multiply(words, self.width))

        def store(word: Term, lane: Term, value: Term) -> None:
            row, pitch, column = (word, self.width, lane)
            if self._is_in_rows:
                row, pitch, column = (lane, words, word)
            if self._is_left and self.tile.flips:
                mask = code.integer_constant(self.tile.flips, self.element.name)
                value = code.call(f"xori_{self.element.name}", value, mask)
            place = code.add(start, code.add(code.multiply(row, pitch), column))
            code.run(primitive, base, place, value)

        return store

    def _finish(self, base: Term, work: Term, batch: Term, first: Term, lanes: Term) -> None:
        """Write what is not copied: the last terms, which do not fill a word, and zeros."""
        code, name, terms = self.writer.code, self.element.name, self.tile.terms
        _, words, whole = self._counts()
        store = self._store(base, work, f"store_{name}_0")
        zero = code.number(0, self.element)
        if words != whole:
            left = self._terms_left
            begun = code.minimum(code.ceiling_divide(left, terms), words)
            with code.loop(whole, begun) as word, code.loop(0, lanes) as lane:
                total = code.copy(zero)
                for number in range(terms - 1):
                    term = code.add(code.multiply(word, terms), number)
                    with code.when(code.compare("slt", term, left)):
                        value = self._term(batch, code.add(first, lane), term)
                        code.set(total, code.call(f"ori_{name}", total, self._moved(value, number)))
                store(word, lane, total)
            with code.loop(0, lanes) as lane, code.loop(begun, words) as word:
                store(word, lane, zero)
        with code.loop(0, words) as word, code.loop(lanes, self.width) as lane:
            store(word, lane, zero)

    def _copy_rows(self, base: Term, work: Term, batch: Term, first: Term, lanes: Term) -> Term:
        """Copy the words of rows, a vector at a time; return how many of each are copied."""
        code, tile, bits = self.writer.code, self.tile, self._bits
        assert bits is not None
        count = tile.lanes * tile.terms
        _, words, whole = self._counts()
        vectors = code.floor_divide(whole, tile.lanes)
        start = code.multiply(work, code.multiply(words, self.width))
        with code.loop(0, lanes) as lane:
            row = code.add(start, code.multiply(lane, words))
            with code.loop(0, vectors) as vector:
                term = code.multiply(vector, count)
                indices = self._indices(batch, code.add(first, lane), term)
                position = code.linear(indices, self.writer.shape(self.operand))
                value = self.writer.load_vector(self.operand, position, bits, bits, count)
                place = code.add(code.multiply(row, tile.terms), term)
                code.run(f"vstore_{bits.name}_{count}_0", base, place, value)
        return code.multiply(vectors, tile.lanes)

    @property
    def _transpose(self) -> Callable[[Term, Term, Term, Term], Term] | None:
        """The method that copies full panels by transposing squares, `None` if none applies."""
        if self._is_in_rows:
            return self._transpose_rows if self._lies_along(self._across) else None
        return self._transpose_words if self._has_words_in_rows else None

    @property
    def _has_words_in_rows(self) -> bool:
        """Whether words are contiguous along the depth, and rows of them are equally far apart."""
        places = loops_of(self._map)
        if not self._lies_along(self.contraction.depth) or not self._across:
            return False
        start = places.index(self._across[0])
        is_even = tuple(places[start : start + len(self._across)]) == self._across
        if self._bits is None:
            return is_even and self.writer.element_of(self.operand) == self.element
        depth = self.sizes[self.contraction.depth[0]]
        is_whole = isinstance(depth, int) and depth % self.tile.terms == 0
        return is_even and is_whole and not (self._is_left and self.tile.flips)

    def _transpose_words(self, base: Term, work: Term, batch: Term, first: Term) -> Term:
        """Copy the words of full panels of a row-major operand; return how many are copied."""
        code, width, terms = self.writer.code, self.width, self.tile.terms
        _, words, whole = self._counts()
        bytes_, shape = self.element.storage_bytes, self.writer.shape(self.operand)
        square = square_of(bytes_)
        row = loops_of(self._map)
        inner = shape[row.index(self._across[-1]) + 1 :]
        pitch = code.floor_divide(code.product(inner), terms)
        start = code.multiply(work, code.multiply(words, width))
        copied = code.multiply(code.floor_divide(whole, square), square)
        with code.loop(0, copied, square) as word:
            to = code.add(start, code.multiply(word, width))
            for lane in range(0, width, square):
                term = code.multiply(word, terms)
                indices = self._indices(batch, code.add(first, lane), term)
                taken = code.floor_divide(code.linear(indices, shape), terms)
                primitive = f"transpose_{bytes_}_{square}_{min(square, width - lane)}"
                address = self.writer.address(self.operand)
                code.run(primitive, base, code.add(to, lane), width, address, taken, pitch)
        return copied

    def _transpose_rows(self, base: Term, work: Term, batch: Term, first: Term) -> Term:
        """Copy the words of full panels of a column-contiguous operand, by transposing squares.

        Returns how many words of each row are copied.
        """
        code, width, step = self.writer.code, self.width, self.tile.step
        name = self.element.name
        _, words, whole = self._counts()
        scratch = code.load(f"scratch_{name}_{step * width}")
        start = code.multiply(work, code.multiply(words, width))

        def store(word: Term, lane: Term, value: Term) -> None:
            place = code.add(code.multiply(code.subtract(word, block), width), lane)
            code.run(f"vstore_{name}_{self.tile.lanes}_{SCRATCH_SCOPE}", scratch, place, value)

        square = square_of(self.element.storage_bytes)
        primitive = f"transpose_{self.element.storage_bytes}"
        copied = code.multiply(code.floor_divide(whole, step), step)
        with code.loop(0, copied, step) as block:
            self._write_vectors(batch, first, (block, code.add(block, step)), store)
            for lane, word in product(range(0, width, square), range(0, step, square)):
                place = code.add(code.multiply(lane, words), code.add(block, word))
                to = code.add(start, place)
                code.run(primitive, base, to, words, scratch, word * width + lane, width)
        return copied

    def _write_vectors(
        self, batch: Term, first: Term, words: tuple[Term, Term], store: Store, panels: int = 1
    ) -> None:
        """Write words of full panels as vectors; lanes beyond `width` belong to the next panels."""
        code, tile = self.writer.code, self.tile
        stored = self.writer.element_of(self.operand)
        loaded = self._bits or self._factor.loaded(stored)
        with code.loop(*words) as word:
            for lane in range(0, panels * self.width, tile.lanes):
                values: list[Term] = []
                for term in range(tile.terms):
                    at = code.add(code.multiply(word, tile.terms), term)
                    indices = self._indices(batch, code.add(first, lane), at)
                    position = code.linear(indices, self.writer.shape(self.operand))
                    values.append(
                        self.writer.load_vector(
                            self.operand, position, loaded, self.element, tile.lanes
                        )
                    )
                packed = values[0]
                if tile.terms > 1:
                    packed = code.call(f"vwords_{tile.lanes}_{tile.terms}", *values)
                store(word, lane, packed)

    def _write_elements(
        self, batch: Term, first: Term, words: tuple[Term, Term], lanes: Term, store: Store
    ) -> None:
        """Write words element by element; the loop along contiguous memory is innermost."""
        code, name, terms = self.writer.code, self.element.name, self.tile.terms

        def copy(word: Term, lane: Term) -> None:
            across = code.add(first, lane)
            at = code.multiply(word, terms)
            total = self._term(batch, across, at)
            if terms > 1:
                total = self._moved(total, 0)
                for number in range(1, terms):
                    value = self._moved(self._term(batch, across, code.add(at, number)), number)
                    total = code.call(f"ori_{name}", total, value)
            store(word, lane, total)

        if (
            self._is_in_rows
            or not isinstance(last := self._map.results[-1], AffineDimExpr)
            or last.position not in self._across
        ):
            with code.loop(0, lanes) as lane, code.loop(*words) as word:
                copy(word, lane)
        else:
            with code.loop(*words) as word, code.loop(0, lanes) as lane:
                copy(word, lane)

    def _indices(self, batch: Term, across: Term, term: Term) -> Indices:
        """Return the indices of an element in the operand; terms count from the first word on."""
        code = self.writer.code
        term = code.add(code.multiply(self.first_word, self.tile.terms), term)
        point: list[Term] = [0] * len(self.sizes)
        parts = (
            (self.contraction.batch, batch),
            (self._across, across),
            (self.contraction.depth, term),
        )
        for loops, index in parts:
            set_loops(code, point, loops, self.sizes, index)
        return self.writer.apply_map(self._map, tuple(point))

    def _term(self, batch: Term, across: Term, term: Term) -> Term:
        """Return an element of the operand, or its bits, in the type of the panel's elements."""
        code = self.writer.code
        value = self.writer.element(self.operand, self._indices(batch, across, term))
        stored, bits = self.writer.element_of(self.operand), self._bits
        if bits is not None:
            if stored.is_float:
                value = code.call(f"bitcast_{stored.name}_{bits.name}", value)
            return code.call(f"convertui_{bits.name}_{self.element.name}", value)
        source = element_by_name(stored.register)
        if source == self.element:
            return value
        conversion = self._factor.conversion(self.element)
        return code.call(f"{conversion}_{source.name}_{self.element.name}", value)

    def _moved(self, value: Term, number: int) -> Term:
        """Return a term shifted to its place in a word: 0x8001FFFE has 0xFFFE as term 0 of two."""
        code, name, bits = self.writer.code, self.element.name, 32 // self.tile.terms
        if number < self.tile.terms - 1:
            mask = code.integer_constant((1 << bits) - 1, name)
            value = code.call(f"andi_{name}", value, mask)
        if number == 0:
            return value
        return code.call(f"shli_{name}", value, code.integer_constant(number * bits, name))

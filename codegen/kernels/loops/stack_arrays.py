"""Arrays of elements on the stack of a kernel, and blocks of them that are transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....runtime.abi.elements import Element
from ...microkernels.transpose_squares import square_of
from ...scalar_ops.primitives import LAST_SCOPE
from ..code.ast_builder import AstBuilder, Term
from ..elements.writer import KernelWriter


class StackArray:
    """Elements on the stack."""

    def __init__(self, code: AstBuilder, element: Element, count: int) -> None:
        self._code, self._bytes, self._name = code, element.storage_bytes, element.name
        self.memory = code.load(f"scratch_{element.name}_{count}")

    def load(self, place: Term) -> Term:
        """Return an element."""
        return self._code.load(f"load_{self._name}_{LAST_SCOPE}", self.memory, place)

    def store(self, place: Term, term: Term) -> None:
        """Set an element."""
        self._code.run(f"store_{self._name}_{LAST_SCOPE}", self.memory, place, term)

    def fill_transposed(self, source: StackArray, rows: int, columns: int) -> None:
        """Set `rows` rows of `columns` elements, whole squares, to the columns of another array."""
        move_squares(
            self._code,
            self._bytes,
            (self.memory, 0, columns),
            (source.memory, 0, rows),
            rows,
            columns,
        )

    def store_transposed(self, base: str, place: Term, step: Term, rows: int, columns: int) -> None:
        """Write the columns of an array as `rows` rows in memory, `step` elements apart."""
        move_squares(
            self._code, self._bytes, (base, place, step), (self.memory, 0, rows), rows, columns
        )


Place = tuple[str, Term, Term]
"""A block in memory: an address, the first element, and the elements from row to row."""


def move_squares(
    code: AstBuilder, storage_bytes: int, target: Place, source: Place, rows: int, columns: int
) -> None:
    """Write a block of `rows` rows and `columns` columns, which are the rows of another block."""
    side = square_of(storage_bytes)
    (base, start, step), (memory, first, pitch) = target, source
    with code.loop(0, rows, side) as row, code.loop(0, columns, side) as column:
        to = code.add(start, code.add(code.multiply(row, step), column))
        taken = code.add(first, code.add(code.multiply(column, pitch), row))
        code.run(f"transpose_{storage_bytes}_{side}", base, to, step, memory, taken, pitch)


def load_all(arrays: Sequence[StackArray], place: Term) -> list[Term]:
    """Return an element of each array."""
    return [each.load(place) for each in arrays]


def store_all(arrays: Sequence[StackArray], place: Term, terms: Sequence[Term]) -> None:
    """Set an element of each array."""
    for each, term in zip(arrays, terms, strict=True):
        each.store(place, term)


def stack_arrays(writer: KernelWriter, values: Sequence[SSAValue], count: int) -> list[StackArray]:
    """Return an array of `count` elements of each value's type."""
    return [StackArray(writer.code, writer.element_of(each), count) for each in values]


class TransposedBlock:
    """Elements of some values: `terms` rows, each of one element for every lane of vectors."""

    def __init__(
        self, writer: KernelWriter, values: Sequence[SSAValue], terms: int, lanes: int
    ) -> None:
        self._code, self._terms, self._lanes = writer.code, terms, lanes
        self._read = stack_arrays(writer, values, terms * lanes)
        self._rows = stack_arrays(writer, values, terms * lanes)

    def fill(self, read: Callable[[Term, Term], Sequence[Term]]) -> None:
        """Set the elements to `read(lane, term)`, which is called for one lane after the other."""
        code = self._code
        with code.loop(0, self._lanes) as lane, code.loop(0, self._terms) as term:
            place = code.add(code.multiply(lane, self._terms), term)
            store_all(self._read, place, read(lane, term))
        for source, target in zip(self._read, self._rows, strict=True):
            target.fill_transposed(source, self._terms, self._lanes)

    def load(self, term: Term, lane: Term) -> list[Term]:
        """Return an element of each value."""
        return load_all(self._rows, self._code.add(self._code.multiply(term, self._lanes), lane))

"""Reduce a row of elements jointly, such as to a maximum and its index, in the lanes of vectors.

A row is cut into parts, and each lane reduces one of them:

    1,024 elements in 32 lanes: lane 0 reduces elements 0 to 31, lane 1 elements 32 to 63, ...

Blocks of 16 elements of each part are transposed on the stack, so that a vector has one element of
each part. At the end, the lanes are combined in order: the first of equal elements stays the first.
Elements that fill no block are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects.linalg.joint_combiners import JointCombiner, joint_combiner
from ...dialects.linalg.structured_view import StructuredView
from ...runtime.abi.elements import Element
from ..microkernels.transpose_squares import square_of
from ..scalar_ops.primitives import LAST_SCOPE
from .ast_builder import AstBuilder, Term
from .writer import Indices, KernelWriter

LANES = 32
"""The parts of a row: two vectors of 512 bits, whose chains of operations run side by side."""

TERMS = 16
"""The elements of each part in a block."""

Point = tuple[Indices, Sequence[Term]]
"""A point of the loops, and the elements of the inputs there."""


def lane_reduction(
    writer: KernelWriter, view: StructuredView, sizes: Sequence[Term]
) -> LaneReduction | None:
    """Return how to reduce in lanes; `None` if the body is not known to be associative.

    `sizes` are those of the loops. Rows must be able to fill a block.
    """
    combiner = joint_combiner(view)
    if combiner is None:
        return None
    (size,) = (sizes[loop] for loop in view.reduction_loops)
    is_short = isinstance(size, int) and size < LANES * TERMS
    return None if is_short else LaneReduction(writer, view, combiner)


class LaneReduction:
    """A reduction of rows by a body that chooses between candidates and accumulators."""

    def __init__(self, writer: KernelWriter, view: StructuredView, combiner: JointCombiner) -> None:
        self._writer, self._code, self._combiner = writer, writer.code, combiner
        self._inputs = view.body.args[: len(view.inputs)]
        chosen = set(combiner.operations)
        self._operations = [each for each in view.body.ops if each not in chosen][:-1]
        self._elements = [writer.element_of(each) for each in view.operation.results]

    def write(self, size: Term, at: Callable[[Term], Point], accumulators: Sequence[str]) -> Term:
        """Combine the elements of a row that fill blocks; return how many of the row these are.

        `at` returns the point of the loops at a position in the row, and the elements of the inputs
        there. The accumulators are variables with the initial values, which may take part several
        times.
        """
        code = self._code
        parts, block, lanes = (
            [_Array(code, each, count) for each in self._elements]
            for count in (LANES * TERMS, LANES * TERMS, LANES)
        )
        length = code.multiply(code.floor_divide(size, LANES * TERMS), TERMS)
        with code.loop(0, LANES) as lane:
            _store(lanes, lane, accumulators)
        with code.loop(0, length, TERMS) as first:
            with code.loop(0, LANES) as lane, code.loop(0, TERMS) as term:
                place = code.add(code.multiply(lane, TERMS), term)
                position = code.add(code.add(code.multiply(lane, length), first), term)
                _store(parts, place, self._candidates(*at(position)))
            for source, target in zip(parts, block, strict=True):
                target.fill_transposed(source)
            # The steps are unrolled, so that LLVM makes vectors of lanes that stay in registers.
            with code.loop(0, LANES) as lane:
                held = _load(lanes, lane)
                for term in range(TERMS):
                    held = self._combined(_load(block, code.add(term * LANES, lane)), held)
                _store(lanes, lane, held)
        with code.loop(0, LANES) as lane:
            found = [code.copy(each) for each in self._combined(_load(lanes, lane), accumulators)]
            for name, term in zip(accumulators, found, strict=True):
                code.set(name, term)
        return code.multiply(length, LANES)

    def _candidates(self, loops: Indices, elements: Sequence[Term]) -> list[Term]:
        for each, term in zip(self._inputs, elements, strict=True):
            self._code.remember(each, term)
        self._writer.evaluate(self._operations, loops)
        return [self._writer.scalar(each) for each in self._combiner.candidates]

    def _combined(self, candidates: Sequence[Term], held: Sequence[Term]) -> list[Term]:
        """Combine candidates with what is held."""
        known = (*self._combiner.candidates, *self._combiner.accumulators)
        for each, term in zip(known, (*candidates, *held), strict=True):
            self._code.remember(each, term)
        self._writer.evaluate(self._combiner.operations)
        return [self._writer.scalar(each) for each in self._combiner.results]


class _Array:
    """Elements on the stack."""

    def __init__(self, code: AstBuilder, element: Element, count: int) -> None:
        self._code, self._bytes, self._name = code, element.storage_bytes, element.name
        self._memory = code.load(f"scratch_{element.name}_{count}")

    def load(self, place: Term) -> Term:
        return self._code.load(f"load_{self._name}_{LAST_SCOPE}", self._memory, place)

    def store(self, place: Term, term: Term) -> None:
        self._code.run(f"store_{self._name}_{LAST_SCOPE}", self._memory, place, term)

    def fill_transposed(self, parts: _Array) -> None:
        """Write the rows of LANES parts as columns."""
        code, side = self._code, square_of(self._bytes)
        with code.loop(0, LANES, side) as lane, code.loop(0, TERMS, side) as term:
            to = code.add(code.multiply(term, LANES), lane)
            taken = code.add(code.multiply(lane, TERMS), term)
            name = f"transpose_{self._bytes}_{side}"
            code.run(name, self._memory, to, LANES, parts._memory, taken, TERMS)


def _load(arrays: Sequence[_Array], place: Term) -> list[Term]:
    return [each.load(place) for each in arrays]


def _store(arrays: Sequence[_Array], place: Term, terms: Sequence[Term]) -> None:
    for each, term in zip(arrays, terms, strict=True):
        each.store(place, term)

"""Conditions on sizes that imply a check, tested by host code without a call of Python.

The interpreter's rules (`shape_rules.py`) decide what is valid. For common operations, the
conditions here are sufficient: if they hold, the rules raise nothing. For `arith.addf` on dynamic
shapes, the sizes of both operands must be equal; only if a comparison fails does host code call
Python, which raises the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...interpreter.nests.structured import check_output_map
from ...interpreter.shapes import MAX_ELEMENTS
from ...ir.diagnostics import OperationError
from ...ir.linear_forms import loops_of
from ...runtime.abi.values import static_shape
from ...runtime.host.builder import Builder, IndexOrInt
from ...runtime.host.program import Register
from ...runtime.host.size_rules import Size, SizeRules, Word
from ..kernels.elements.scalar_operations import is_scalar_operation

Shapes = Mapping[SSAValue, tuple[Word, ...]]
Pair = tuple[Size, Size]


def sufficient_rules(op: Operation, shapes: Shapes, numbers: Sequence[Word]) -> SizeRules | None:
    """Return conditions under which operands of these shapes and index operands are valid.

    Returns `None` if there are no simple conditions.
    """
    if op.name in ("tensor.empty", "tensor.splat"):
        fixed = [size for size in static_shape(op.results[0].type) or () if size >= 0]
        is_known = len(fixed) + len(numbers) == len(static_shape(op.results[0].type) or ())
        return SizeRules((), (*numbers, *fixed), MAX_ELEMENTS) if is_known else None
    view = structured_view(op)
    if view is not None:
        return _structured(view, shapes)
    given = [shapes[each] for each in op.operands if each in shapes]
    if op.name == "tensor.cast":
        return _with_results(op, (), given)
    if not (is_scalar_operation(op.name) or op.name == "linalg.softmax") or not given:
        return None
    pairs = [pair for each in given[1:] for pair in zip(given[0], each, strict=False)]
    is_alike = all(len(each) == len(given[0]) for each in given)
    return _with_results(op, pairs, [given[0]] * len(op.results)) if is_alike else None


def _structured(view: StructuredView, shapes: Shapes) -> SizeRules | None:
    """Return conditions for loops that each run over whole dimensions, all of the same size."""
    op = view.operation
    found: dict[int, Word] = {}
    pairs: list[Pair] = []
    operands = (*view.inputs, *view.outputs)
    for number, (value, map_) in enumerate(zip(operands, view.maps, strict=True)):
        axes = loops_of(map_)
        sizes = shapes.get(value, ())
        if len(axes) != len(map_.results) or len(set(axes)) != len(axes) or len(sizes) != len(axes):
            return None
        for axis, size in zip(axes, sizes, strict=True):
            pairs.append((found.setdefault(axis, size), size))
        try:
            if number >= len(view.inputs):
                check_output_map(op, map_)
        except OperationError:
            return None
    if len(found) != len(view.iterators):
        return None
    return _with_results(op, pairs, [shapes.get(each, ()) for each in view.outputs])


def _with_results(
    op: Operation, pairs: Sequence[Pair], results: Sequence[tuple[Word, ...]]
) -> SizeRules | None:
    """Add the condition that results have the static sizes of their types."""
    if len(results) != len(op.results):
        return None
    found = list(pairs)
    for result, sizes in zip(op.results, results, strict=True):
        static = static_shape(result.type)
        if static is None or len(static) != len(sizes):
            return None
        found += ((size, want) for size, want in zip(sizes, static, strict=True) if want >= 0)
    return SizeRules(tuple(pair for pair in found if pair[0] != pair[1]))


def inside_whole(rank: int) -> SizeRules:
    """Return the condition that a slice is the whole tensor.

    The words are the tensor's sizes, then the slice's offsets, sizes and strides.
    """
    words = [Word(position) for position in range(4 * rank)]
    sizes, offsets, lengths, strides = (words[n * rank : (n + 1) * rank] for n in range(4))
    fixed = [(each, 0) for each in offsets] + [(each, 1) for each in strides]
    return SizeRules((*zip(sizes, lengths, strict=True), *fixed), tuple(sizes), MAX_ELEMENTS)


def same_sizes(rank: int) -> SizeRules:
    """Return the condition that the first `rank` words equal the `rank` words after them."""
    return SizeRules(tuple((Word(axis), Word(rank + axis)) for axis in range(rank)))


PART_OF_BYTES = SizeRules(rising=(Word(0), Word(1), Word(2)))
"""The condition that a range of bytes is in bounds; the words are start, end and size."""


def bytes_of(rank: int, unit: int) -> SizeRules:
    """Return the condition that a size in bytes is that of elements of `unit` bytes each.

    The words are the tensor's `rank` sizes, then the number of bytes.
    """
    sizes = tuple(Word(position) for position in range(rank))
    return SizeRules((), sizes, MAX_ELEMENTS, Word(rank), unit)


def fixed_sizes(shape: Sequence[int]) -> SizeRules:
    """Return the condition that sizes are those of a shape, where it is static."""
    return SizeRules(tuple((Word(axis), size) for axis, size in enumerate(shape) if size >= 0))


def given_sizes(rules: SizeRules, words: Sequence[IndexOrInt]) -> SizeRules:
    """Substitute known words in rules, and renumber the words that are in registers."""
    positions: dict[int, int] = {}
    for position, word in enumerate(words):
        if isinstance(word, Register):
            positions[position] = len(positions)

    def given(size: Size) -> Size:
        if not isinstance(size, Word):
            return size
        word = words[size.position]
        return Word(positions[size.position]) if isinstance(word, Register) else word

    equal = tuple((given(left), given(right)) for left, right in rules.equal)
    total = None if rules.total is None else given(rules.total)
    natural, rising = (tuple(map(given, row)) for row in (rules.natural, rules.rising))
    return SizeRules(equal, natural, rules.most, total, rules.unit, rising)


def conditions(
    builder: Builder, rules: SizeRules, numbers: Sequence[Register]
) -> list[Register] | None:
    """Emit comparisons that are all 1 only if the numbers fulfil the rules.

    Returns their registers: an empty list if the rules always hold, `None` if they never do or no
    comparison can tell.
    """
    comparisons = _comparisons(builder, rules, numbers)
    found = [builder.compare(*each) for each in comparisons if each[1] != each[2]]
    if any(each == 0 for each in found):
        return None
    return [each for each in found if isinstance(each, Register)]


def _comparisons(
    builder: Builder, rules: SizeRules, numbers: Sequence[Register]
) -> Iterator[tuple[str, IndexOrInt, IndexOrInt]]:
    """Yield an order and the two numbers that must be in it, for each comparison of some rules."""

    def value(size: Size) -> IndexOrInt:
        return numbers[size.position] if isinstance(size, Word) else size

    for left, right in rules.equal:
        yield "eq", value(left), value(right)
    natural = [value(size) for size in rules.natural]
    known = [size for size in natural if isinstance(size, int)]
    open_sizes = [size for size in natural if isinstance(size, Register)]
    yield "sle", 0, min(known, default=0)
    most = rules.most // prod(size for size in known if size > 0)
    # If no size exceeds the root of the remaining limit, their product does not exceed the limit.
    bound = most if len(open_sizes) == 1 else int(most ** (1 / max(1, len(open_sizes)))) - 1
    for size in dict.fromkeys(open_sizes):
        yield "ule", size, bound
    if rules.total is not None:
        # The bounds above make sure that this product does not wrap.
        product: IndexOrInt = rules.unit
        for size in natural:
            product = builder.multiply(product, size)
        yield "eq", product, value(rules.total)
    for before, size in pairwise((0, *map(value, rules.rising))):
        yield "sle", before, size

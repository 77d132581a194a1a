"""Write the kernels of Fourier transforms along one dimension, one row a tile.

Stockham's algorithm: a pass turns `r` parts of the numbers into their transforms of length `r`,
which it stores so that the last pass leaves the result in order. In the first pass the inner loop
goes over the numbers of a part, in later ones over those that share a factor.

    length 12, radices 4, 3:  x[p], x[p+3], x[p+6], x[p+9] -> y[4p .. 4p+3]  for p in 0..2
                              y[q], y[q+4], y[q+8]         -> z[q], z[q+4], z[q+8]  for q in 0..3

Real and imaginary parts are apart between the passes, so that both fill vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import cos, pi, prod, sin

from xdsl.ir import Operation

from ....dialects.stablehlo.attributes import fft_kind
from ....ir.attribute_access import integers
from ....runtime.abi.elements import Element
from ...scalar_ops.primitives import LAST_SCOPE
from ..code.ast_builder import AstBuilder, Term
from ..elements.kernel_text import TileCount
from ..elements.static_values import shape_of
from ..elements.writer import Indices, KernelWriter
from ..loops.heap_memory import aligned, allocated

FOURIER = "stablehlo.fft"

COMPLEX = ("FFT", "IFFT")
"""The kinds of transforms of complex rows to complex rows."""

RADICES = (4, 2, 3, 5, 7, 11, 13)
"""The factors of lengths that have a kernel."""

MAX_LENGTH = 1 << 16
"""The maximum length of rows that a kernel transforms. Its code has tables of all factors."""

MAX_STACK_LENGTH = 1 << 13
"""The maximum length of rows whose parts are on the stack."""

SCOPES = tuple(LAST_SCOPE - number for number in range(4))
"""The alias scopes of the parts of numbers between passes."""

TABLE_SCOPE = LAST_SCOPE - len(SCOPES)
"""The alias scope of tables of factors."""

Number = tuple[Term, Term]
"""The real and the imaginary part."""

Load = Callable[[Term], Number]
Store = Callable[[Term, Number], None]

_PARTS = ("re", "im")


def has_fourier_kernel(op: Operation) -> bool:
    """Return whether a transform has a kernel: of rows of a known length, even if real."""
    if op.name != FOURIER or len(lengths := integers(op, "fft_length")) != 1:
        return False
    (whole,) = lengths
    length, half = _complex_length(op), whole // 2 + 1
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    rows = {
        "FFT": (whole, whole),
        "IFFT": (whole, whole),
        "RFFT": (whole, half),
        "IRFFT": (half, whole),
    }.get(fft_kind(op))
    return (
        rows is not None
        and len(source) > 0
        and min(*source, *result) >= 0
        and source[:-1] == result[:-1]
        and (source[-1], result[-1]) == rows
        and (fft_kind(op) in COMPLEX or whole % 2 == 0)
        and 1 < length <= MAX_LENGTH
        and prod(_radices(length)) == length
    )


def _complex_length(op: Operation) -> int:
    """Return the length of the transform of complex numbers; of pairs if a side is real."""
    (whole,) = integers(op, "fft_length")
    return whole if fft_kind(op) in COMPLEX else whole // 2


def _radices(length: int) -> list[int]:
    """Return the radices of the passes, whose product is the length if it has no other factors."""
    found: list[int] = []
    for radix in RADICES:
        while length % radix == 0:
            found.append(radix)
            length //= radix
    return found


def write_fourier(writer: KernelWriter, op: Operation) -> TileCount:
    """Write the passes over each row."""
    with _scratch(writer, op) as memory, writer.code.loop("first", "last") as row:
        _Transform(writer, op, memory).write_row(row)
    return TileCount(((shape_of(op.results[0])[:-1], 1),))


@contextmanager
def _scratch(writer: KernelWriter, op: Operation) -> Generator[list[Term]]:
    """Yield the addresses of the parts of numbers between passes."""
    code, length, part = writer.code, _complex_length(op), _complex_element(writer, op).part
    if length <= MAX_STACK_LENGTH:
        yield [code.load(f"scratch_{part.name}_{length}") for _ in SCOPES]
        return
    size = aligned(length * part.storage_bytes)
    with allocated(writer, len(SCOPES) * size) as memory:
        yield [code.add(memory, place * size) for place in range(len(SCOPES))]


def _complex_element(writer: KernelWriter, op: Operation) -> Element:
    """Return the type of the complex side of a transform."""
    return writer.element_of(op.results[0] if fft_kind(op) == "RFFT" else op.operands[0])


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass over numbers of which `shared` groups of `length` are transformed with one radix."""

    radix: int
    length: int
    shared: int

    @property
    def parts(self) -> int:
        """The numbers in a part."""
        return self.length // self.radix


class _Transform:
    """The code of the transform of a row.

    An inverse transform is one of numbers whose parts change places. Real rows are transformed as
    complex rows of half the length, whose parts are the numbers at even and at odd places.
    """

    def __init__(self, writer: KernelWriter, op: Operation, memory: Sequence[Term]) -> None:
        """`memory` has the addresses of scratch memory, with one alias scope each."""
        self._writer, self._code = writer, writer.code
        self._source, self._result = op.operands[0], op.results[0]
        self._kind, self._length = fft_kind(op), _complex_length(op)
        self._radices = _radices(self._length)
        self._is_inverse = self._kind in ("IFFT", "IRFFT")
        self._whole = _complex_element(writer, op)
        self._part = self._whole.part.name
        self._numbers = Numbers(self._code, self._part)
        self._batch: Indices = ()
        self._memory = memory

    def write_row(self, row: Term) -> None:
        """Write the code for a row."""
        code, (*batch, size) = self._code, shape_of(self._result)
        self._batch = self._indices(row, batch)
        stored = code.multiply(row, size)
        if self._kind == "RFFT":
            self._write_passes(self._read_pair, None)
            self._unfold(stored)
        elif self._kind == "IRFFT":
            self._fold()
            self._write_passes(None, partial(self._write_pair, stored))
        else:
            self._write_passes(self._read, partial(self._write, stored))

    def _indices(self, row: Term, batch: Sequence[int]) -> Indices:
        """Return the indices of a row, of which there are many in each dimension of the batch."""
        found: list[Term] = []
        for size in reversed(batch[1:]):
            found.append(self._code.modulo(row, size))
            row = self._code.floor_divide(row, size)
        return (*([row] if batch else []), *found[::-1])

    def _write_passes(self, read: Load | None, write: Store | None) -> None:
        """Write all passes; the first one reads scratch 0, and the last one writes scratch."""
        length, shared, count = self._length, 1, len(self._radices)
        for number, radix in enumerate(self._radices):
            load = partial(self._get, number % 2) if number or read is None else read
            is_last = number == count - 1
            store = write if is_last and write else partial(self._set, 1 - number % 2)
            self._write_pass(_Pass(radix, length, shared), load, store)
            length, shared = length // radix, shared * radix

    def _write_pass(self, each: _Pass, load: Load, store: Store) -> None:
        code, radix, shared = self._code, each.radix, each.shared
        with code.loop_unless_one(each.parts) as p, code.loop_unless_one(shared) as q:
            here = code.add(code.multiply(p, shared), q)
            taken = [load(code.add(here, shared * each.parts * k)) for k in range(radix)]
            made = self._numbers.transform(taken)
            to = code.add(code.multiply(p, shared * radix), q)
            store(to, made[0])
            for k in range(1, radix):
                root = self._root(each.length, radix, code.add(p, each.parts * 2 * (k - 1)))
                # In the last pass, all factors are 1.
                turned = made[k] if each.parts == 1 else self._numbers.product(made[k], root)
                store(code.add(to, shared * k), turned)

    def _root(self, length: int, radix: int, place: Term) -> Number:
        """Return the number of a table whose real part is at a place."""
        code = self._code
        table = code.call(f"roots_{self._part}_{length}_{radix}")
        places = place, code.add(place, length // radix)
        load = f"load_{self._part}_{TABLE_SCOPE}"
        return code.call(load, table, places[0]), code.call(load, table, places[1])

    # Rows of the operand and of the result.

    def _load(self, at: Term) -> Term:
        return self._writer.element(self._source, (*self._batch, at))

    def _parts(self, at: Term) -> Number:
        found = self._load(at)
        real, imaginary = (self._code.call(f"{each}_{self._whole.name}", found) for each in _PARTS)
        return real, imaginary

    def _store_parts(self, position: Term, value: Number) -> None:
        number = self._code.call(f"create_{self._whole.name}", *value)
        self._writer.store(self._result, position, number)

    def _read(self, at: Term) -> Number:
        real, imaginary = self._parts(at)
        return (imaginary, real) if self._is_inverse else (real, imaginary)

    def _write(self, start: Term, at: Term, value: Number) -> None:
        if self._is_inverse:
            value = self._numbers.times((value[1], value[0]), 1 / self._length)
        self._store_parts(self._code.add(start, at), value)

    def _read_pair(self, at: Term) -> Number:
        place = self._code.multiply(at, 2)
        return self._load(place), self._load(self._code.add(place, 1))

    def _write_pair(self, start: Term, at: Term, value: Number) -> None:
        code = self._code
        place = code.add(start, code.multiply(at, 2))
        for offset, each in enumerate(self._numbers.times((value[1], value[0]), 1 / self._length)):
            self._writer.store(self._result, code.add(place, offset), each)

    def _unfold(self, start: Term) -> None:
        """Store the transform of a real row, of which scratch has that of the pairs.

        With `a` and `b` at `k` and `length - k`, the even places have the transform `(a + b*) / 2`,
        the odd ones `(a - b*) / 2i`.
        """
        code, numbers, side = self._code, self._numbers, len(self._radices) % 2
        zero = code.float_constant(0.0, self._part)
        real, imaginary = self._get(side, 0)
        ends = (f"{each}_{self._part}" for each in ("addf", "subf"))
        for place, end in zip((0, self._length), ends, strict=True):
            self._store_parts(code.add(start, place), (code.call(end, real, imaginary), zero))
        with code.loop(1, self._length) as k:
            a, b = self._get(side, k), self._get(side, code.subtract(self._length, k))
            even, odd = self._halves(a, b)
            turned = numbers.product((odd[1], numbers.negative(odd[0])), self._turn(k))
            self._store_parts(code.add(start, k), numbers.add(even, turned))

    def _fold(self) -> None:
        """Fill scratch with the transform of pairs, from that of a real row, the parts swapped."""
        code, numbers, name = self._code, self._numbers, self._part
        (first, _), (last, _) = self._parts(0), self._parts(self._length)
        ends = code.call(f"addf_{name}", first, last), code.call(f"subf_{name}", first, last)
        even, odd = numbers.times(ends, 0.5)
        self._set(0, 0, (odd, even))
        with code.loop(1, self._length) as k:
            a = self._parts(k)
            b = self._parts(code.subtract(self._length, k))
            even, odd = self._halves(a, b)
            real, imaginary = self._turn(k)
            turned = numbers.product(odd, (real, numbers.negative(imaginary)))
            whole = numbers.add(even, (numbers.negative(turned[1]), turned[0]))
            self._set(0, k, (whole[1], whole[0]))

    def _turn(self, k: Term) -> Number:
        """Return `exp(-2 pi i k / (2 * length))`."""
        return self._root(2 * self._length, 2, k)

    def _halves(self, a: Number, b: Number) -> tuple[Number, Number]:
        """Return half the sum and half the difference of `a` and the conjugate of `b`."""
        numbers = self._numbers
        conjugate = b[0], numbers.negative(b[1])
        both = numbers.add(a, conjugate), numbers.subtract(a, conjugate)
        return numbers.times(both[0], 0.5), numbers.times(both[1], 0.5)

    # Numbers between passes.

    def _get(self, side: int, position: Term) -> Number:
        first, second = (
            self._code.load(f"load_{self._part}_{SCOPES[each]}", self._memory[each], position)
            for each in (2 * side, 2 * side + 1)
        )
        return first, second

    def _set(self, side: int, position: Term, value: Number) -> None:
        for each, part in zip((2 * side, 2 * side + 1), value, strict=True):
            name = f"store_{self._part}_{SCOPES[each]}"
            self._code.run(name, self._memory[each], position, part)


class Numbers:
    """Arithmetic on complex numbers, and transforms of a few of them."""

    def __init__(self, code: AstBuilder, part: str) -> None:
        self._code, self._part = code, part

    def transform(self, numbers: Sequence[Number]) -> list[Number]:
        """Return the transform of a few numbers: as many as one of RADICES."""
        match len(numbers):
            case 2:
                return [self.add(*numbers), self.subtract(*numbers)]
            case 4:
                return self._of_four(numbers)
            case _:
                return self._of_odd(numbers)

    def _of_four(self, numbers: Sequence[Number]) -> list[Number]:
        a, b, c, d = numbers
        even = self.add(a, c), self.add(b, d)
        odd = self.subtract(a, c), self._turned(self.subtract(b, d))
        return [
            self.add(*even),
            self.subtract(*odd),
            self.subtract(*even),
            self.add(*odd),
        ]

    def _of_odd(self, numbers: Sequence[Number]) -> list[Number]:
        """Return sums of pairs `x[j] + x[n - j]` times cosines, and of differences times sines."""
        first, count = numbers[0], len(numbers)
        pairs = [(numbers[j], numbers[count - j]) for j in range(1, (count + 1) // 2)]
        sums = [self.add(*pair) for pair in pairs]
        differences = [self.subtract(*pair) for pair in pairs]
        total = first
        for each in sums:
            total = self.add(total, each)
        made = [total] * count
        for k in range(1, (count + 1) // 2):
            angles = [2 * pi * j * k / count for j in range(1, len(pairs) + 1)]
            even = first
            for angle, each in zip(angles, sums, strict=True):
                even = self.add(even, self.times(each, cos(angle)))
            odd = self.times(differences[0], sin(angles[0]))
            for angle, each in zip(angles[1:], differences[1:], strict=True):
                odd = self.add(odd, self.times(each, sin(angle)))
            turned = self._turned(odd)
            made[k], made[count - k] = self.subtract(even, turned), self.add(even, turned)
        return made

    def product(self, left: Number, right: Number) -> Number:
        """Return the product of two numbers."""
        (a, b), (c, d) = left, right
        real = self._call("subf", self._call("mulf", a, c), self._call("mulf", b, d))
        imaginary = self._call("addf", self._call("mulf", a, d), self._call("mulf", b, c))
        return real, imaginary

    def times(self, number: Number, factor: float) -> Number:
        """Return a number times a real one."""
        each = self._code.float_constant(factor, self._part)
        return self._call("mulf", number[0], each), self._call("mulf", number[1], each)

    def add(self, left: Number, right: Number) -> Number:
        """Return the sum of two numbers."""
        return self._call("addf", left[0], right[0]), self._call("addf", left[1], right[1])

    def subtract(self, left: Number, right: Number) -> Number:
        """Return the difference of two numbers."""
        return self._call("subf", left[0], right[0]), self._call("subf", left[1], right[1])

    def negative(self, part: Term) -> Term:
        """Return a part with the other sign."""
        return self._call("negf", part)

    def _turned(self, number: Number) -> Number:
        """Return a number times the imaginary unit."""
        return self.negative(number[1]), number[0]

    def _call(self, name: str, *operands: Term) -> Term:
        return self._code.call(f"{name}_{self._part}", *operands)

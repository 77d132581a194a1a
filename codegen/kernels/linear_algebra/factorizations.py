"""Write the kernels of small factorizations and triangular solves, one matrix a tile.

LAPACK is called for larger matrices: it keeps blocks of them in registers and caches.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, Float64Type, StringAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.lapack_calls import CallOptions, lapack_name
from ....ir.attribute_access import attribute, flag
from ....runtime.abi.values import element_type
from ..code.ast_builder import Term
from ..elements.kernel_text import TileCount
from ..elements.static_values import shape_of
from ..elements.writer import Indices, KernelWriter
from ..loops.tiles import write_tiled_loops

FACTORIZATIONS = ("stablehlo.cholesky", "stablehlo.triangular_solve", "stablehlo.custom_call")
"""Operations that may have a kernel here; the last one calls LAPACK."""

MAX_ROWS = 160
"""The most rows of a matrix that a kernel factors."""

MAX_SOLVE_ROWS = 256
"""The most rows of a matrix, or columns of a right side, with which a kernel solves."""

ROWS_AT_ONCE = 4
"""The rows that a solve subtracts at once, so that the result is loaded and stored less often."""


def has_factorization_kernel(op: Operation) -> bool:
    """Return whether a factorization or a solve has a kernel: of small matrices of known sizes."""
    if op.name not in FACTORIZATIONS or not (_is_cholesky(op) or _is_solve(op) or _is_lu(op)):
        return False
    types = [each.type for each in op.operands]
    if not all(isinstance(element_type(each), Float32Type | Float64Type) for each in types):
        return False
    shapes = [shape_of(each) for each in (*op.operands, *op.results)]
    most = MAX_SOLVE_ROWS if _is_solve(op) else MAX_ROWS
    return all(min(shape, default=0) >= 0 for shape in shapes) and all(
        len(shape) >= 2 and max(shape[-2:]) <= most for shape in shapes[: len(types)]
    )


def _is_cholesky(op: Operation) -> bool:
    return op.name == "stablehlo.cholesky" or _called(op) == "potrf"


def _is_solve(op: Operation) -> bool:
    return op.name == "stablehlo.triangular_solve" or _called(op) == "trsm"


def _is_lu(op: Operation) -> bool:
    return _called(op) == "getrf"


def _called(op: Operation) -> str | None:
    """Return the name of the LAPACK function that an operation calls, `None` for none."""
    target = attribute(op, "call_target_name")
    return lapack_name(target.data) if isinstance(target, StringAttr) else None


def write_factorization(writer: KernelWriter, op: Operation) -> TileCount:
    """Write the loops of an operation that has a kernel here."""
    batch = shape_of(op.results[0])[:-2]
    write = _write_cholesky if _is_cholesky(op) else _write_lu if _is_lu(op) else _write_solve
    return write_tiled_loops(writer.code, batch, lambda indices: write(writer, op, indices))


@dataclass(frozen=True)
class _Matrix:
    """A matrix of the result, which is computed in place."""

    writer: KernelWriter
    value: SSAValue
    batch: Indices

    def _position(self, row: Term, column: Term) -> Term:
        return self.writer.code.linear((*self.batch, row, column), shape_of(self.value))

    def get(self, row: Term, column: Term) -> Term:
        """Return an element as it is now."""
        return self.writer.load(self.value, self._position(row, column))

    def set(self, row: Term, column: Term, element: Term) -> None:
        """Store an element."""
        self.writer.store(self.value, self._position(row, column), element)

    def add_products(self, row: Term, column: Term, *pairs: tuple[Term, Term]) -> None:
        """Add products to an element."""
        name = self.writer.element_of(self.value).name
        code, total = self.writer.code, self.get(row, column)
        for pair in pairs:
            total = code.call(f"sumf_{name}", total, code.call(f"termf_{name}", *pair))
        self.set(row, column, total)


def _write_cholesky(writer: KernelWriter, op: Operation, batch: Indices) -> None:
    """Write the factorization of a matrix in its upper triangle, whose rows lie in memory."""
    code = writer.code
    is_call = op.name == "stablehlo.custom_call"
    lower = CallOptions(op).letter("uplo", "L") == "L" if is_call else flag(op, "lower")
    source, result = op.operands[0], op.results[0]
    size = shape_of(result)[-1]
    made = _Matrix(writer, result, batch)
    with code.loop(0, size) as row, code.loop(row, size) as column:
        place = (column, row) if lower else (row, column)
        made.set(row, column, writer.element(source, (*batch, *place)))
    failed = _factor(made, size)
    zero = writer.zero(result)
    with code.loop(0, size) as row, code.loop(code.add(row, 1), size) as column:
        if lower:
            made.set(column, row, made.get(row, column))
        place = (row, column) if lower else (column, row)
        # LAPACK leaves the other triangle as it is.
        made.set(*place, writer.element(source, (*batch, *place)) if is_call else zero)
    if is_call:
        number = code.call("converti_i64_i32", failed)
        writer.store(op.results[1], code.linear(batch, shape_of(op.results[1])), number)
        return
    # A matrix that is not positive definite has NaN as its factor.
    with code.when(code.call("cmpine_i64", failed, 0)):
        nan = code.float_constant(float("nan"), writer.element_of(result).name)
        with code.loop(0, size) as row, code.loop(0, size) as column:
            made.set(row, column, nan)


def _factor(made: _Matrix, size: int) -> Term:
    """Write the factorization; return the number of the first bad pivot from 1 on, 0 for none."""
    code, name = made.writer.code, made.writer.element_of(made.value).name
    failed = code.copy(0)
    with code.loop(0, size) as pivot:
        found = made.get(pivot, pivot)
        # NaN is not a bad pivot, but goes on to all that depends on it, as in OpenBLAS.
        is_bad = code.call(f"cmpfole_{name}", found, code.float_constant(0.0, name))
        is_first = code.call("cmpieq_i64", failed, 0)
        following = code.add(pivot, 1)
        with code.when(code.call("andi_i1", is_first, is_bad)):
            code.set(failed, following)
        root = code.call(f"sqrt_{name}", found)
        made.set(pivot, pivot, root)
        with code.loop(following, size) as column:
            made.set(pivot, column, code.call(f"divf_{name}", made.get(pivot, column), root))
        with code.loop(following, size) as row:
            factor = code.call(f"negf_{name}", made.get(pivot, row))
            with code.loop(row, size) as column:
                made.add_products(row, column, (factor, made.get(pivot, column)))
    return failed


def _write_lu(writer: KernelWriter, op: Operation, batch: Indices) -> None:
    """Write the factorization of a matrix into a lower and an upper one, with pivots.

    In each turn the row with the largest element of a column changes places with the row of the
    turn, whose multiples are subtracted from the rows below it. These multiples are the lower
    matrix.
    """
    code, (factors, pivots, info) = writer.code, op.results
    rows, columns = shape_of(factors)[-2:]
    made, name = _Matrix(writer, factors, batch), writer.element_of(factors).name
    with code.loop(0, rows) as row, code.loop(0, columns) as column:
        made.set(row, column, writer.element(op.operands[0], (*batch, row, column)))
    failed = code.copy(0)
    with code.loop(0, min(rows, columns)) as turn:
        following = code.add(turn, 1)
        largest = _row_of_largest(made, turn, rows)
        number = code.call("converti_i64_i32", code.add(largest, 1))
        writer.store(pivots, code.linear((*batch, turn), shape_of(pivots)), number)
        with code.loop(0, columns) as column:
            own, other = code.copy(made.get(turn, column)), made.get(largest, column)
            made.set(turn, column, other)
            made.set(largest, column, own)
        pivot = code.copy(made.get(turn, turn))
        is_zero = code.call(f"cmpfoeq_{name}", pivot, code.float_constant(0.0, name))
        with code.when(code.call("andi_i1", is_zero, code.call("cmpieq_i64", failed, 0))):
            code.set(failed, following)
        with code.loop(following, rows) as row:
            multiple = code.call(f"divf_{name}", made.get(row, turn), pivot)
            # All elements of the column are 0 then, and stay 0.
            multiple = code.copy(code.call(f"select_{name}", is_zero, pivot, multiple))
            made.set(row, turn, multiple)
            factor = code.call(f"negf_{name}", multiple)
            with code.loop(following, columns) as column:
                made.add_products(row, column, (factor, made.get(turn, column)))
    number = code.call("converti_i64_i32", failed)
    writer.store(info, code.linear(batch, shape_of(info)), number)


def _row_of_largest(made: _Matrix, column: Term, rows: int) -> Term:
    """Return the first row, from the diagonal on, with the largest element of a column."""
    code, name = made.writer.code, made.writer.element_of(made.value).name
    found = code.copy(column)
    largest = code.copy(code.call(f"absf_{name}", made.get(column, column)))
    with code.loop(code.add(column, 1), rows) as row:
        size = code.copy(code.call(f"absf_{name}", made.get(row, column)))
        with code.when(code.call(f"cmpfogt_{name}", size, largest)):
            code.set(largest, size)
            code.set(found, row)
    return found


def _write_solve(writer: KernelWriter, op: Operation, batch: Indices) -> None:
    """Write the solution of `t x = b`, or of `x t = b`, where `t` is triangular."""
    code = writer.code
    right, result = op.operands[1], op.results[0]
    rows, columns = shape_of(result)[-2:]
    made = _Matrix(writer, result, batch)
    with code.loop(0, rows) as row, code.loop(0, columns) as column:
        made.set(row, column, writer.element(right, (*batch, row, column)))
    triangle = _Triangle(writer, op, batch)
    (_solve_left if triangle.is_left else _solve_right)(made, triangle)


class _Triangle:
    """The triangular matrix of a solve, or its transpose."""

    def __init__(self, writer: KernelWriter, op: Operation, batch: Indices) -> None:
        self._writer, self._batch = writer, batch
        self._source = op.operands[0]
        if op.name == "stablehlo.custom_call":
            options = CallOptions(op)
            self.is_left = options.letter("side", "L") == "L"
            self._is_unit = options.letter("diag", "N") == "U"
            self._transposed = options.letter("trans_x", "N") != "N"
            is_lower = options.letter("uplo", "L") == "L"
        else:
            self.is_left, self._is_unit = flag(op, "left_side"), flag(op, "unit_diagonal")
            form = getattr(attribute(op, "transpose_a"), "data", "NO_TRANSPOSE")
            self._transposed = form in ("TRANSPOSE", "ADJOINT")
            is_lower = flag(op, "lower")
        self.is_lower = is_lower is not self._transposed
        self.size = shape_of(self._source)[-1]
        self._name = writer.element_of(self._source).name

    def negative(self, row: Term, column: Term) -> Term:
        """Return an element times -1."""
        place = (column, row) if self._transposed else (row, column)
        element = self._writer.element(self._source, (*self._batch, *place))
        return self._writer.code.call(f"negf_{self._name}", element)

    def divide(self, element: Term, place: Term) -> Term:
        """Divide an element by one of the diagonal, unless these are ones."""
        if self._is_unit:
            return element
        divisor = self._writer.element(self._source, (*self._batch, place, place))
        return self._writer.code.call(f"divf_{self._name}", element, divisor)


def _solve_left(made: _Matrix, triangle: _Triangle) -> None:
    """Subtract the rows that are known from each row, several at once."""
    code, size = made.writer.code, triangle.size
    columns = shape_of(made.value)[-1]
    with code.loop(0, size) as turn:
        row = turn if triangle.is_lower else code.subtract(size - 1, turn)
        first, last = (0, row) if triangle.is_lower else (code.add(row, 1), size)
        groups = code.floor_divide(code.subtract(last, first), ROWS_AT_ONCE)
        middle = code.add(first, code.multiply(groups, ROWS_AT_ONCE))
        for start, stop, count in ((first, middle, ROWS_AT_ONCE), (middle, last, 1)):
            with code.loop(start, stop, count) as other:
                others = [code.add(other, each) for each in range(count)]
                factors = [triangle.negative(row, each) for each in others]
                with code.loop(0, columns) as column:
                    known = [made.get(each, column) for each in others]
                    made.add_products(row, column, *zip(factors, known, strict=True))
        with code.loop(0, columns) as column:
            made.set(row, column, triangle.divide(made.get(row, column), row))


def _solve_right(made: _Matrix, triangle: _Triangle) -> None:
    """Solve each row, and subtract what is known from the elements that are not."""
    code, size = made.writer.code, triangle.size
    with code.loop(0, shape_of(made.value)[-2]) as row, code.loop(0, size) as turn:
        place = code.subtract(size - 1, turn) if triangle.is_lower else turn
        solved = triangle.divide(made.get(row, place), place)
        made.set(row, place, solved)
        unknown = (0, place) if triangle.is_lower else (code.add(place, 1), size)
        with code.loop(*unknown) as column:
            made.add_products(row, column, (triangle.negative(place, column), solved))

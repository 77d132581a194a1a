"""Describe operations on matrices as calls of LAPACK: those of StableHLO, and those that JAX emits.

The interpreter runs these calls, and native code writes kernels for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ....dialects.stablehlo.lapack_calls import CallOptions, lapack_name
from ....dialects.stablehlo.lapack_checks import check_operands, operand_ranks
from ....ir.attribute_access import attribute, flag
from ....ir.rules import Rules
from ....runtime.abi.lapack import LETTERS, WORK, After, Buffer, LapackCall, lapack_call, work
from ....runtime.abi.values import dtype_of, static_shape

PARTS = {"F": "f", "D": "d"}
"""The types of the parts of complex numbers, as NumPy's characters."""

Matrices = Sequence[Buffer]
"""The operands of one call."""


class Options(CallOptions):
    """The options of a custom call, and results that nobody reads."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op)
        self.operation = op

    def is_read(self, *places: int) -> bool:
        """Return whether one of some results is read."""
        return any(self.operation.results[each].first_use is not None for each in places)

    def unread(self, place: int, size: int) -> Buffer:
        """Return a zero matrix for a result that nobody reads. `size` replaces dynamic extents."""
        kind = self.operation.results[place].type
        shape = (static_shape(kind) or ())[-2:]
        return Buffer(tuple(size if each < 0 else each for each in shape), dtype_of(kind))


call = Rules[Callable[[Matrices, Options], LapackCall]]()
"""The calls by the name of the operation, or of a function without the letter of its type."""


def called_name(op: Operation) -> str | None:
    """Return the name of an operation in `call`, `None` if it has none."""
    target = attribute(op, "call_target_name")
    name = lapack_name(target.data) if isinstance(target, StringAttr) else op.name
    return name if name in call else None


def describe_call(
    op: Operation, name: str, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]]
) -> LapackCall:
    """Return the call of an operation for operands without their batch dimensions.

    Raises ValueError for sizes that do not fit together, or are larger than LAPACK supports.
    """
    check_operands(op, name, shapes)
    pairs = enumerate(zip(shapes, dtypes, strict=True))
    operands = [Buffer(shape, dtype, operand=place) for place, (shape, dtype) in pairs]
    return call[name](operands, Options(op))


def static_call(op: Operation) -> LapackCall | None:
    """Return the call that computes all results of an operation on matrices of static sizes.

    Returns `None` for other operations.
    """
    name = called_name(op)
    if name is None:
        return None
    ranks = operand_ranks(name)
    shapes = [static_shape(each.type) or () for each in (*op.operands, *op.results)]
    if any(min(shape, default=1) <= 0 for shape in shapes):
        return None
    dtypes = [dtype_of(each.type) for each in op.operands[: len(ranks)]]
    if dtypes[0].char not in LETTERS:
        return None
    inner = [shape[len(shape) - rank :] for shape, rank in zip(shapes, ranks, strict=False)]
    try:
        found = describe_call(op, name, inner, dtypes)
    except ValueError:
        return None
    batch = shapes[0][: len(shapes[0]) - ranks[0]]
    stored = [((*batch, *each.shape), each.dtype) for each in found.results]
    made = [(static_shape(each.type), dtype_of(each.type)) for each in op.results]
    is_whole = stored[: len(made)] == made and found.finish is None
    return found if is_whole else None


# Operations of StableHLO -------------------------------------------------------------------------


@call("stablehlo.cholesky")
def _cholesky(matrices: Matrices, options: Options) -> LapackCall:
    """Return the factors before their other triangle is cleared, and the status."""
    return _cholesky_factors(matrices, flag(options.operation, "lower"))


@call("stablehlo.triangular_solve")
def _triangular_solve(matrices: Matrices, options: Options) -> LapackCall:
    op = options.operation
    word = getattr(attribute(op, "transpose_a"), "data", "NO_TRANSPOSE")
    transposed = {"TRANSPOSE": "T", "ADJOINT": "C"}.get(word, "N")
    left, lower, unit = (flag(op, name) for name in ("left_side", "lower", "unit_diagonal"))
    return _solved(matrices, left, lower, transposed, unit)


# Functions of LAPACK -----------------------------------------------------------------------------


def _sizes(matrix: Buffer) -> tuple[int, int, int]:
    """Return the rows, the columns and the leading dimension of a matrix."""
    rows, columns = matrix.shape
    return rows, columns, max(1, rows)


def _parts_type(matrix: Buffer) -> np.dtype[Any]:
    """Return the type of real and imaginary parts, or of real elements."""
    return np.dtype(PARTS.get(matrix.dtype.char, matrix.dtype.char))


def _is_complex(matrix: Buffer) -> bool:
    return matrix.dtype.kind == "c"


def _integers(*shape: int) -> Buffer:
    """Return pivots, or a status."""
    return Buffer(shape, np.dtype(np.int32))


@call("potrf")
def _potrf(matrices: Matrices, options: Options) -> LapackCall:
    return _cholesky_factors(matrices, options.letter("uplo", "L") == "L")


def _cholesky_factors(matrices: Matrices, lower: bool) -> LapackCall:
    """Return a call that factors a matrix; its status is not 0 if that failed.

    LAPACK's matrices are stored by columns. So it is given the transposes: from u^H u = a^T follows
    a = u^T (u^T)^H, and u^T is lower.
    """
    (factors,), failed = matrices, _integers()
    size, _, lead = _sizes(factors)
    given = "U" if lower else "L", size, factors, lead, failed
    return lapack_call("potrf", factors.dtype, given, (factors, failed))


@call("trsm")
def _trsm(matrices: Matrices, options: Options) -> LapackCall:
    left = options.letter("side", "L") == "L"
    lower = options.letter("uplo", "L") == "L"
    unit = options.letter("diag", "N") == "U"
    return _solved(matrices, left, lower, options.letter("trans_x", "N"), unit)


def _solved(matrices: Matrices, left: bool, lower: bool, transposed: str, unit: bool) -> LapackCall:
    """Return a call that computes x with op(a) x = b, or x op(a) = b if not `left`.

    Both sides are transposed, as BLAS's matrices are stored by columns: x^T op(a^T) = b^T.
    """
    a, solved = matrices
    columns, rows, _ = _sizes(solved)
    words = "R" if left else "L", "U" if lower else "L", transposed, "U" if unit else "N"
    one = Buffer((1,), a.dtype, fill=1)
    given = *words, rows, columns, one, a, max(1, a.shape[-1]), solved, max(1, rows)
    return lapack_call("trsm", a.dtype, given, (solved,))


@call("getrf")
def _getrf(matrices: Matrices, options: Options) -> LapackCall:
    factors, failed = matrices[0].columns(), _integers()
    rows, columns, lead = _sizes(factors)
    pivots = _integers(min(rows, columns))
    given = rows, columns, factors, lead, pivots, failed
    return lapack_call("getrf", factors.dtype, given, (factors, pivots, failed))


@call("geqrf")
def _geqrf(matrices: Matrices, options: Options) -> LapackCall:
    factors = matrices[0].columns()
    rows, columns, lead = _sizes(factors)
    tau = Buffer((min(rows, columns),), factors.dtype)
    given = rows, columns, factors, lead, tau, WORK, _integers()
    return lapack_call("geqrf", factors.dtype, given, (factors, tau))


@call("geqp3")
def _geqp3(matrices: Matrices, options: Options) -> LapackCall:
    factors = matrices[0].columns()
    rows, columns, lead = _sizes(factors)
    pivots, tau = matrices[1], Buffer((min(rows, columns),), factors.dtype)
    more = [work(2 * columns, _parts_type(factors))] if _is_complex(factors) else []
    given = rows, columns, factors, lead, pivots, tau, WORK, *more, _integers()
    return lapack_call("geqp3", factors.dtype, given, (factors, pivots, tau))


@call("orgqr")
def _orgqr(matrices: Matrices, options: Options) -> LapackCall:
    found, tau = matrices[0].columns(), matrices[1]
    name = "ungqr" if _is_complex(found) else "orgqr"
    rows, columns, lead = _sizes(found)
    given = rows, columns, tau.shape[-1], found, lead, tau, WORK, _integers()
    return lapack_call(name, found.dtype, given, (found,))


@call("ormqr")
def _ormqr(matrices: Matrices, options: Options) -> LapackCall:
    reflectors, tau, found = matrices[0].columns(), matrices[1], matrices[2].columns()
    name, turned = ("unmqr", "C") if _is_complex(found) else ("ormqr", "T")
    words = "L" if options.truth("left") else "R", turned if options.truth("transpose") else "N"
    rows, columns, lead = _sizes(found)
    sizes = rows, columns, tau.shape[-1], reflectors, _sizes(reflectors)[2]
    given = *words, *sizes, tau, found, lead, WORK, _integers()
    return lapack_call(name, found.dtype, given, (found,))


@call("syevd")
def _syevd(matrices: Matrices, options: Options) -> LapackCall:
    found, failed = matrices[0].columns(), _integers()
    size, _, lead = _sizes(found)
    part = _parts_type(found)
    wanted = options.letter("mode", "V") == "V" and options.is_read(0)
    words = "V" if wanted else "N", "L" if options.letter("uplo", "L") == "L" else "U"
    values = Buffer((size,), part)
    # LAPACK's least sizes for eigenvectors; it asks for no more than a few columns beside them.
    counts = [(1 + 6 * size + 2 * size * size, part), (3 + 5 * size, np.dtype(np.int32))]
    name = "syevd"
    if _is_complex(found):
        name, counts = "heevd", [((size + 2) * size + 1, found.dtype), *counts]
    works = [each for count, dtype in counts for each in (work(count, dtype), count)]
    given = *words, size, found, lead, values, *works, failed
    return lapack_call(name, found.dtype, given, (found, values, failed))


@call("geev")
def _geev(matrices: Matrices, options: Options) -> LapackCall:
    given, failed = matrices[0].columns(), _integers()
    size, _, lead = _sizes(given)
    wanted = [options.letter(f"compute_{side}", "N") == "V" for side in ("left", "right")]
    words = ["V" if each else "N" for each in wanted]
    sides = [
        Buffer((size, size) if each else (1, 1), given.dtype, by_columns=True) for each in wanted
    ]
    values, more = [Buffer((size,), given.dtype)], []
    if _is_complex(given):
        more = [work(2 * size, _parts_type(given))]
    else:
        values = [*values, Buffer((size,), given.dtype)]
    both = [each for side in sides for each in (side, lead)]
    arguments = *words, size, given, lead, *values, *both, WORK, *more, failed
    vectors = [
        each if computed else options.unread(len(values) + number, size)
        for number, (each, computed) in enumerate(zip(sides, wanted, strict=True))
    ]

    def finish(results: Sequence[Any]) -> Sequence[Any]:
        first, imaginary, *found, status = results
        paired = [
            _paired(imaginary, each) if computed else each
            for each, computed in zip(found, wanted, strict=True)
        ]
        return first, imaginary, *paired, status

    is_paired = any(wanted) and not _is_complex(given)
    results = *values, *vectors, failed
    return lapack_call("geev", given.dtype, arguments, results, finish if is_paired else None)


def _paired(imaginary: Any, vectors: Any) -> Any:
    """Combine the real and imaginary parts of eigenvectors, adjacent columns in LAPACK's result."""
    found = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    # The first of a pair has the positive imaginary part.
    matrix, first = np.nonzero(imaginary[:, :-1] > 0)
    pair = vectors[matrix, :, first] + 1j * vectors[matrix, :, first + 1]
    found[matrix, :, first], found[matrix, :, first + 1] = pair, pair.conj()
    return found


@call("gesdd", "gesvd")
def _gesdd(matrices: Matrices, options: Options) -> LapackCall:
    given, failed = matrices[0].columns(), _integers()
    rows, columns, lead = _sizes(given)
    least, most = sorted((rows, columns))
    mode = options.letter("mode", "A") if options.is_read(2, 3) else "N"
    part = _parts_type(given)
    values = Buffer((least,), part)
    kept = {"A": (rows, columns), "N": (1, 1)}.get(mode, (least, least))
    u = Buffer((rows, kept[0]), given.dtype, by_columns=True)
    vt = Buffer((kept[1], columns), given.dtype, by_columns=True)
    more = [work(8 * least + 1, np.dtype(np.int32))]
    if _is_complex(given):
        count = least * max(5 * least + 7, 2 * most + 2 * least + 1) + 1
        more = [work(count, part), *more]
    sizes = rows, columns, given, lead, values, u, lead, vt, max(1, kept[1])
    # The shapes depend on JAX's `full_matrices`, which is not among the options: use the types.
    vectors = (u, vt) if mode != "N" else (options.unread(2, rows), options.unread(3, columns))
    results = matrices[0], values, *vectors, failed
    return lapack_call("gesdd", given.dtype, (mode, *sizes, WORK, *more, failed), results)


@call("gtsv")
def _gtsv(matrices: Matrices, options: Options) -> LapackCall:
    """Solve a tridiagonal system. The lower, main and upper diagonal have equal lengths."""
    lower, middle, upper = matrices[:3]
    solved, failed = matrices[3].columns(), _integers()
    size, columns, lead = _sizes(solved)
    given = size, columns, After(lower, 1), middle, upper, solved, lead, failed
    return lapack_call("gtsv", middle.dtype, given, (lower, middle, upper, solved, failed))


@call("gehrd")
def _gehrd(matrices: Matrices, options: Options) -> LapackCall:
    factors, failed = matrices[0].columns(), _integers()
    size, _, lead = _sizes(factors)
    tau = Buffer((max(0, size - 1),), factors.dtype)
    given = size, min(1, size), size, factors, lead, tau, WORK, failed
    return lapack_call("gehrd", factors.dtype, given, (factors, tau, failed))


@call("sytrd")
def _sytrd(matrices: Matrices, options: Options) -> LapackCall:
    factors, failed = matrices[0].columns(), _integers()
    size, _, lead = _sizes(factors)
    name = "hetrd" if _is_complex(factors) else "sytrd"
    word = "L" if options.letter("uplo", "L") == "L" else "U"
    part = _parts_type(factors)
    diagonals = [Buffer((max(0, each),), part) for each in (size, size - 1)]
    tau = Buffer((max(0, size - 1),), factors.dtype)
    given = word, size, factors, lead, *diagonals, tau, WORK, failed
    return lapack_call(name, factors.dtype, given, (factors, *diagonals, tau, failed))


@call("gees")
def _gees(matrices: Matrices, options: Options) -> LapackCall:
    factors, failed = matrices[0].columns(), _integers()
    size, _, lead = _sizes(factors)
    wanted = options.letter("mode", "V") == "V"
    vectors = Buffer((size, size) if wanted else (1, 1), factors.dtype, by_columns=True)
    values, more = [Buffer((size,), factors.dtype)], []
    if _is_complex(factors):
        more = [work(size, _parts_type(factors))]
    else:
        values = [*values, Buffer((size,), factors.dtype)]
    ordered = _integers()  # no eigenvalues are to come first
    words = "V" if wanted else "N", "N", None
    sizes = size, factors, lead, ordered, *values, vectors, lead
    given = *words, *sizes, WORK, *more, None, failed
    z = vectors if wanted else options.unread(1, size)
    return lapack_call("gees", factors.dtype, given, (factors, z, *values, ordered, failed))

"""Execute StableHLO's decompositions and transforms, and the LAPACK custom calls that JAX emits.

Conversion to linalg keeps these operations, and native code calls the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ..dialects.stablehlo.attributes import fft_kind
from ..dialects.stablehlo.lapack_calls import CallOptions, lapack_name
from ..ir.attribute_access import attribute, flag, integers
from ..ir.diagnostics import OperationError
from ..ir.rules import Rules
from ..runtime.abi.arrays import Array, Value
from ..runtime.abi.values import dtype_of, static_shape
from .frames import Frame
from .registry import Results, impl

Matrices = Sequence[Any]
Compute = Callable[[Any, "Options"], Sequence[Any]]


def _typed(op: Operation, results: Sequence[Any]) -> Results:
    """Convert results to arrays of the operation's result types."""
    return tuple(
        np.asarray(value).astype(dtype_of(result.type), copy=False)
        for value, result in zip(results, op.results, strict=True)
    )


def _wide(array: Array) -> Any:
    """Convert floats that LAPACK does not support to f32."""
    if array.dtype.name in ("float32", "float64", "complex64", "complex128"):
        return array
    return array.astype(np.float32)


def _zeros(result: SSAValue, batch: Sequence[int]) -> Array:
    """Return a zero result. The batch sizes may be dynamic in its type."""
    sizes = (static_shape(result.type) or ())[len(batch) :]
    return np.zeros((*batch, *sizes), dtype_of(result.type))


def _batched(op: Operation, operands: Matrices, ranks: Sequence[int], compute: Any) -> list[Any]:
    """Apply a function to each matrix of a batch, and stack the results."""
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    if not batch:
        return list(compute(*operands))
    count = prod(batch)
    shapes = [each.shape[len(batch) :] for each in operands]
    rows = [each.reshape(count, *s) for each, s in zip(operands, shapes, strict=True)]
    if count == 0:
        return [_zeros(result, batch) for result in op.results]
    found = [compute(*(row[number] for row in rows)) for number in range(count)]
    return [
        np.stack([np.asarray(each[place]) for each in found]).reshape(
            *batch, *np.asarray(found[0][place]).shape
        )
        for place in range(len(found[0]))
    ]


# Transforms --------------------------------------------------------------------------------------


@impl("stablehlo.fft")
def _fft(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    kind = fft_kind(op)
    length = integers(op, "fft_length")
    axes = list(range(-len(length), 0))
    # SciPy's transforms of f32 are five times as fast as NumPy's.
    fft: Any = import_module("scipy.fft")
    functions: dict[str, Any] = {
        "FFT": fft.fftn,
        "IFFT": fft.ifftn,
        "RFFT": fft.rfftn,
        "IRFFT": fft.irfftn,
    }
    if kind not in functions:
        raise OperationError(op, f"is a transform of unknown kind: {attribute(op, 'fft_type')}")
    array: Any = np.asarray(operands[0])
    if array.size == 0:
        return (_zeros(op.results[0], array.shape[: array.ndim - len(length)]),)
    if kind == "IRFFT":
        kept = array.shape[: array.ndim - len(length)]
        inner = array.reshape(prod(kept), *array.shape[array.ndim - len(length) :])
        made = fft.irfftn(inner, s=length, axes=axes)
        return _typed(op, [made.reshape(*kept, *length)])
    return _typed(op, [functions[kind](array, axes=axes)])


# Decompositions ----------------------------------------------------------------------------------


@impl("stablehlo.cholesky")
def _cholesky(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Factor a matrix, reading one triangle; the other triangle of the result is zero."""
    lower = flag(op, "lower")

    def compute(matrix: Any) -> Sequence[Any]:
        factor, failed = _cholesky_factor(matrix, lower, clean=True)
        return [np.full_like(factor, np.nan) if failed else factor]

    return _typed(op, _batched(op, [_wide(np.asarray(operands[0]))], [2], compute))


def _cholesky_factor(matrix: Any, lower: bool, *, clean: bool) -> Any:
    """Factor a matrix; return the factor, and whether that failed as a number other than 0.

    LAPACK's matrices are stored by columns. So it is given the transpose, which is a view: from
    u^H u = a^T follows a = u^T (u^T)^H, and u^T is lower.
    """
    factor, failed = _lapack("potrf", matrix)(matrix.T, lower=not lower, clean=clean)
    return factor.T, failed


@impl("stablehlo.triangular_solve")
def _triangular_solve(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    transposed = getattr(attribute(op, "transpose_a"), "data", "NO_TRANSPOSE")
    which = {"NO_TRANSPOSE": 0, "TRANSPOSE": 1, "ADJOINT": 2}.get(transposed, 0)
    left, lower, unit = (flag(op, name) for name in ("left_side", "lower", "unit_diagonal"))

    def compute(matrix: Any, right: Any) -> Sequence[Any]:
        return [_solved(matrix, right, left, lower, which, unit)]

    both = [_wide(np.asarray(each)) for each in operands]
    return _typed(op, _batched(op, both, [2, 2], compute))


def _solved(a: Any, b: Any, left: bool, lower: bool, transposed: int, unit: bool) -> Any:
    """Return x with op(a) x = b, or x op(a) = b if not `left`.

    Both sides are transposed, as BLAS's matrices are stored by columns: x^T op(a^T) = b^T.
    """
    if not b.size:
        return b
    return _lapack_blas("trsm", a, b)(
        1.0, a.T, b.T, side=int(left), lower=int(not lower), trans_a=transposed, diag=int(unit)
    ).T


def _workspace(size: int) -> int:
    """Return the elements of workspace for a matrix of `size` columns.

    With SciPy's defaults, of 3 columns, LAPACK does not work on blocks. The blocks of LAPACK's
    `ilaenv` have at most 64 columns.
    """
    return 64 * (size + 2)


def _lapack(name: str, *arrays: Any) -> Any:
    return _scipy("get_lapack_funcs", name, arrays[0].dtype)


def _lapack_blas(name: str, *arrays: Any) -> Any:
    return _scipy("get_blas_funcs", name, arrays[0].dtype)


@cache
def _scipy(table: str, name: str, kind: np.dtype[Any]) -> Any:
    """Return a LAPACK or BLAS function for an element type.

    SciPy has no types for these.
    """
    linalg: Any = import_module("scipy.linalg")
    (function,) = getattr(linalg, table)((name,), dtype=kind)
    return function


def _blocked(name: str, matrix: Any, *more: Any, **options: Any) -> Any:
    """Call a LAPACK function with the workspace of its algorithm on blocks."""
    work = _workspace(matrix.shape[1])
    return _lapack(name, matrix)(matrix, *more, lwork=work, **options)


# Custom calls ------------------------------------------------------------------------------------


class Options(CallOptions):
    """The options of a custom call, and results that nobody reads."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op)
        self.operation = op

    def is_read(self, *places: int) -> bool:
        """Return whether one of some results is read."""
        return any(self.operation.results[each].first_use is not None for each in places)

    def unread(self, place: int, size: int, like: Any) -> Any:
        """Return a zero matrix for a result that nobody reads. `size` replaces dynamic extents."""
        shape = (static_shape(self.operation.results[place].type) or ())[-2:]
        return np.zeros([size if each < 0 else each for each in shape], like.dtype)


call = Rules[Compute]()
"""Implementations by the LAPACK function's name without the letter of its element type."""

RANKS = {"ormqr": (2, 1, 2), "orgqr": (2, 1), "trsm": (2, 2), "geqp3": (2, 1), "gtsv": (1, 1, 1, 2)}
"""Operand ranks of functions that do not take exactly one matrix."""


@impl("stablehlo.custom_call")
def _custom_call(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target = attribute(op, "call_target_name")
    text = target.data if isinstance(target, StringAttr) else ""
    name = lapack_name(text)
    if name is None or name not in call:
        raise OperationError(op, f"calls '{text}', which cannot be executed")
    options = Options(op)
    ranks = RANKS.get(name, (2,))

    def compute(*matrices: Any) -> Sequence[Any]:
        return call[name](matrices, options)

    # The operands after them are the shapes of results with dynamic sizes.
    matrices = [np.asarray(each) for each in operands[: len(ranks)]]
    return _typed(op, _batched(op, matrices, ranks, compute))


@call("potrf")
def _potrf(matrices: Matrices, options: Options) -> Sequence[Any]:
    lower = options.letter("uplo", "L") == "L"
    (matrix,) = matrices
    return _cholesky_factor(matrix, lower, clean=False)


@call("getrf")
def _getrf(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    if not matrix.size:
        return matrix, np.zeros(min(matrix.shape), np.int32), 0
    factors, pivots, failed = _lapack("getrf", matrix)(matrix)
    return factors, pivots + 1, failed


@call("geqrf")
def _geqrf(matrices: Matrices, options: Options) -> Sequence[Any]:
    factors, tau, _, _ = _blocked("geqrf", matrices[0])
    return factors, tau


@call("geqp3")
def _geqp3(matrices: Matrices, options: Options) -> Sequence[Any]:
    factors, pivots, tau, _, _ = _blocked("geqp3", matrices[0])
    return factors, pivots, tau


def _is_complex(array: Any) -> bool:
    return array.dtype.kind == "c"


@call("orgqr")
def _orgqr(matrices: Matrices, options: Options) -> Sequence[Any]:
    matrix, tau = matrices
    name = "ungqr" if _is_complex(matrix) else "orgqr"
    return (_blocked(name, matrix, tau)[0],)


@call("ormqr")
def _ormqr(matrices: Matrices, options: Options) -> Sequence[Any]:
    matrix, tau, other = matrices
    name = "unmqr" if _is_complex(matrix) else "ormqr"
    side = "L" if options.truth("left") else "R"
    transposed = "N"
    if options.truth("transpose"):
        transposed = "C" if _is_complex(matrix) else "T"
    function = _lapack(name, matrix)
    work = _workspace(max(other.shape))
    reflectors = matrix[:, : len(tau)]  # a wide matrix has columns without one
    return (function(side, transposed, reflectors, tau, other, work)[0],)


@call("syevd")
def _syevd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    name = "heevd" if _is_complex(matrix) else "syevd"
    vectors = options.letter("mode", "V") == "V" and options.is_read(0)
    lower = options.letter("uplo", "L") == "L"
    values, found, failed = _lapack(name, matrix)(matrix, compute_v=int(vectors), lower=int(lower))
    return found, values, failed


@call("geev")
def _geev(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    wanted = {
        f"compute_v{side}": int(options.letter(f"compute_{name}", "N") == "V")
        for side, name in (("l", "left"), ("r", "right"))
    }
    *values, left, right, failed = _lapack("geev", matrix)(matrix, **wanted)
    place = len(values)
    sides = (left, right)
    if not _is_complex(matrix):
        sides = tuple(_paired(values[1], each) for each in sides)
    vectors = [
        each if computed else options.unread(place + number, len(matrix), each)
        for number, (each, computed) in enumerate(zip(sides, wanted.values(), strict=True))
    ]
    return *values, *vectors, failed


def _paired(imaginary: Any, vectors: Any) -> Any:
    """Combine the real and imaginary parts of eigenvectors, adjacent columns in LAPACK's result."""
    found = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    if vectors.shape[-1] != len(imaginary):
        return found
    place = 0
    while place < len(imaginary):
        if imaginary[place] != 0 and place + 1 < len(imaginary):
            both = vectors[:, place] + 1j * vectors[:, place + 1]
            found[:, place], found[:, place + 1] = both, both.conj()
            place += 1
        place += 1
    return found


@call("gesdd", "gesvd")
def _gesdd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    mode = options.letter("mode", "A") if options.is_read(2, 3) else "N"
    u, s, vt, failed = _lapack("gesdd", matrix)(
        matrix, compute_uv=int(mode != "N"), full_matrices=int(mode == "A")
    )
    if mode == "N":
        # The shapes depend on JAX's `full_matrices`, which is not among the options: use the types.
        rows, columns = matrix.shape
        u, vt = options.unread(2, rows, matrix), options.unread(3, columns, matrix)
    return matrix, s, u, vt, failed


@call("trsm")
def _trsm(matrices: Matrices, options: Options) -> Sequence[Any]:
    a, b = matrices
    which = {"N": 0, "T": 1, "C": 2}[options.letter("trans_x", "N")]
    left = options.letter("side", "L") == "L"
    lower = options.letter("uplo", "L") == "L"
    return (_solved(a, b, left, lower, which, options.letter("diag", "N") == "U"),)


@call("gtsv")
def _gtsv(matrices: Matrices, options: Options) -> Sequence[Any]:
    """Solve a tridiagonal system. The lower, main and upper diagonal have equal lengths."""
    lower, middle, upper, right = matrices
    if len(middle) < 2:  # SciPy's function wants an element beside the main diagonal
        with np.errstate(all="ignore"):
            solved = right / middle[:, np.newaxis]
        singular = bool(len(middle)) and middle[0] == 0
        return lower, middle, upper, right if singular else solved, int(singular)
    a, b, c, x, failed = _lapack("gtsv", middle, right)(lower[1:], middle, upper[:-1], right)
    return (
        np.concatenate([lower[:1], a]),
        b,
        np.concatenate([c, upper[-1:]]),
        x,
        failed,
    )


@call("gehrd")
def _gehrd(matrices: Matrices, options: Options) -> Sequence[Any]:
    factors, tau, failed = _blocked("gehrd", matrices[0])
    return factors, tau, failed


@call("sytrd")
def _sytrd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    name = "hetrd" if _is_complex(matrix) else "sytrd"
    lower = options.letter("uplo", "L") == "L"
    return _blocked(name, matrix, lower=int(lower))


def _none(*_: Any) -> bool:
    """Select no eigenvalues to be ordered first."""
    return False


@call("gees")
def _gees(matrices: Matrices, options: Options) -> Sequence[Any]:
    (matrix,) = matrices
    vectors = options.letter("mode", "V") == "V"
    found = _lapack("gees", matrix)(_none, matrix, compute_v=int(vectors))
    if _is_complex(matrix):
        t, count, values, z, _, failed = found
        return t, z, values, count, failed
    t, count, real, imaginary, z, _, failed = found
    return t, z, real, imaginary, count, failed

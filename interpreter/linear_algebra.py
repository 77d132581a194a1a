"""Execute StableHLO's decompositions and transforms, and the LAPACK custom calls that JAX emits.

Conversion to linalg keeps these operations, and native code calls the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ..runtime.lapack import WORK, call_lapack, shared
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
    """Apply a function to operands with one batch dimension, and restore those that they have."""
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    count = prod(batch)
    if count == 0:
        return [_zeros(result, batch) for result in op.results]
    stacks = [each.reshape(count, *each.shape[len(batch) :]) for each in operands]
    return [each.reshape((*batch, *each.shape[1:])) for each in compute(*stacks)]


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

    def compute(stack: Any) -> Sequence[Any]:
        factors, failed = _cholesky_factors(stack, lower)
        unread = np.tri(stack.shape[-1], k=-1, dtype=np.bool)
        np.copyto(factors, 0, where=unread.T if lower else unread)
        factors[failed != 0] = np.nan
        return [factors]

    return _typed(op, _batched(op, [_wide(np.asarray(operands[0]))], [2], compute))


def _cholesky_factors(stack: Any, lower: bool) -> Any:
    """Factor matrices; return the factors, and whether that failed as numbers other than 0.

    LAPACK's matrices are stored by columns. So it is given the transposes: from u^H u = a^T follows
    a = u^T (u^T)^H, and u^T is lower.
    """
    factors, failed = stack.copy(), _status(stack)
    size = stack.shape[-1]
    lead = max(1, size)
    _lapack("potrf", factors, "U" if lower else "L", size, factors, lead, failed)
    return factors, failed


@impl("stablehlo.triangular_solve")
def _triangular_solve(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    word = getattr(attribute(op, "transpose_a"), "data", "NO_TRANSPOSE")
    transposed = {"TRANSPOSE": "T", "ADJOINT": "C"}.get(word, "N")
    left, lower, unit = (flag(op, name) for name in ("left_side", "lower", "unit_diagonal"))

    def compute(matrices: Any, right: Any) -> Sequence[Any]:
        return [_solved(matrices, right, left, lower, transposed, unit)]

    both = [_wide(np.asarray(each)) for each in operands]
    return _typed(op, _batched(op, both, [2, 2], compute))


def _solved(a: Any, b: Any, left: bool, lower: bool, transposed: str, unit: bool) -> Any:
    """Return x with op(a) x = b, or x op(a) = b if not `left`.

    Both sides are transposed, as BLAS's matrices are stored by columns: x^T op(a^T) = b^T.
    """
    solved = b.copy()
    columns, rows = b.shape[-2:]
    words = "R" if left else "L", "U" if lower else "L", transposed, "U" if unit else "N"
    sizes = max(1, a.shape[-1]), max(1, rows)
    one, a = np.ones(1, a.dtype), np.ascontiguousarray(a)
    _lapack("trsm", a, *words, rows, columns, one, a, sizes[0], solved, sizes[1])
    return solved


def _lapack(name: str, like: Any, *arguments: Any) -> None:
    """Call a LAPACK or BLAS function on a batch like `like`."""
    call_lapack(name, like.dtype, len(like), *arguments)


def _by_columns(stack: Any) -> Any:
    """Return a copy of matrices in LAPACK's order, as transposes that `_by_rows` turns back."""
    return _by_rows(stack).copy()


def _by_rows(stack: Any) -> Any:
    return stack.swapaxes(-1, -2)


def _parts_type(stack: Any) -> Any:
    """Return the type of real and imaginary parts, or of real elements."""
    return stack.real.dtype


def _status(stack: Any) -> Any:
    return np.zeros(len(stack), np.int32)


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
        """Return zero matrices for a result that nobody reads. `size` replaces dynamic extents."""
        shape = (static_shape(self.operation.results[place].type) or ())[-2:]
        return np.zeros([len(like), *(size if each < 0 else each for each in shape)], like.dtype)


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
    return _cholesky_factors(matrices[0], options.letter("uplo", "L") == "L")


def _sizes(stack: Any) -> tuple[int, int, int]:
    """Return the rows, the columns and the leading dimension of matrices."""
    rows, columns = stack.shape[-2:]
    return rows, columns, max(1, rows)


@call("getrf")
def _getrf(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    rows, columns, lead = _sizes(stack)
    factors, failed = _by_columns(stack), _status(stack)
    pivots = np.zeros((len(stack), min(rows, columns)), np.int32)
    _lapack("getrf", stack, rows, columns, factors, lead, pivots, failed)
    return _by_rows(factors), pivots, failed


@call("geqrf")
def _geqrf(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    rows, columns, lead = _sizes(stack)
    factors = _by_columns(stack)
    tau = np.zeros((len(stack), min(rows, columns)), stack.dtype)
    _lapack("geqrf", stack, rows, columns, factors, lead, tau, WORK, _status(stack))
    return _by_rows(factors), tau


@call("geqp3")
def _geqp3(matrices: Matrices, options: Options) -> Sequence[Any]:
    stack = matrices[0]
    rows, columns, lead = _sizes(stack)
    factors = _by_columns(stack)
    pivots = np.zeros((len(stack), columns), np.int32)
    tau = np.zeros((len(stack), min(rows, columns)), stack.dtype)
    more = [shared(2 * columns, _parts_type(stack))] if _is_complex(stack) else []
    sizes = rows, columns, factors, lead
    _lapack("geqp3", stack, *sizes, pivots, tau, WORK, *more, _status(stack))
    return _by_rows(factors), pivots, tau


def _is_complex(array: Any) -> bool:
    return array.dtype.kind == "c"


@call("orgqr")
def _orgqr(matrices: Matrices, options: Options) -> Sequence[Any]:
    stack, tau = matrices[0], np.ascontiguousarray(matrices[1])
    name = "ungqr" if _is_complex(stack) else "orgqr"
    rows, columns, lead = _sizes(stack)
    found = _by_columns(stack)
    sizes = rows, columns, tau.shape[-1], found, lead
    _lapack(name, stack, *sizes, tau, WORK, _status(stack))
    return (_by_rows(found),)


@call("ormqr")
def _ormqr(matrices: Matrices, options: Options) -> Sequence[Any]:
    stack, tau, other = matrices
    name, turned = ("unmqr", "C") if _is_complex(stack) else ("ormqr", "T")
    words = "L" if options.truth("left") else "R", turned if options.truth("transpose") else "N"
    rows, columns, lead = _sizes(other)
    reflectors, tau, found = _by_columns(stack), np.ascontiguousarray(tau), _by_columns(other)
    sizes = rows, columns, tau.shape[-1], reflectors, _sizes(stack)[2]
    _lapack(name, stack, *words, *sizes, tau, found, lead, WORK, _status(stack))
    return (_by_rows(found),)


@call("syevd")
def _syevd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    size, _, lead = _sizes(stack)
    wanted = options.letter("mode", "V") == "V" and options.is_read(0)
    words = "V" if wanted else "N", "L" if options.letter("uplo", "L") == "L" else "U"
    found, failed, part = _by_columns(stack), _status(stack), _parts_type(stack)
    values = np.zeros((len(stack), size), part)
    # LAPACK's least sizes for eigenvectors; it asks for no more than a few columns beside them.
    counts = [(1 + 6 * size + 2 * size * size, part), (3 + 5 * size, np.int32)]
    name = "syevd"
    if _is_complex(stack):
        name, counts = "heevd", [((size + 2) * size + 1, stack.dtype), *counts]
    works = [each for count, kind in counts for each in (shared(count, kind), count)]
    _lapack(name, stack, *words, size, found, lead, values, *works, failed)
    return _by_rows(found), values, failed


@call("geev")
def _geev(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    size, _, lead = _sizes(stack)
    wanted = [options.letter(f"compute_{side}", "N") == "V" for side in ("left", "right")]
    words = ["V" if each else "N" for each in wanted]
    given, failed, part = _by_columns(stack), _status(stack), _parts_type(stack)
    sides = [np.zeros(stack.shape if each else (1, 1, 1), stack.dtype) for each in wanted]
    values, more = [np.zeros((len(stack), size), stack.dtype)], []
    if _is_complex(stack):
        more = [shared(2 * size, part)]
    else:
        values = [*values, np.zeros_like(values[0])]
    both = [each for side in sides for each in (side, lead)]
    _lapack("geev", stack, *words, size, given, lead, *values, *both, WORK, *more, failed)
    vectors = [
        _paired(values[1:], _by_rows(each))
        if computed
        else options.unread(len(values) + number, size, stack)
        for number, (each, computed) in enumerate(zip(sides, wanted, strict=True))
    ]
    return *values, *vectors, failed


def _paired(imaginary: Matrices, vectors: Any) -> Any:
    """Combine the real and imaginary parts of eigenvectors, adjacent columns in LAPACK's result."""
    if not imaginary:
        return vectors
    found = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    # The first of a pair has the positive imaginary part.
    matrix, first = np.nonzero(imaginary[0][:, :-1] > 0)
    pair = vectors[matrix, :, first] + 1j * vectors[matrix, :, first + 1]
    found[matrix, :, first], found[matrix, :, first + 1] = pair, pair.conj()
    return found


@call("gesdd", "gesvd")
def _gesdd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    rows, columns, lead = _sizes(stack)
    least, most = sorted((rows, columns))
    mode = options.letter("mode", "A") if options.is_read(2, 3) else "N"
    given, failed, part = _by_columns(stack), _status(stack), _parts_type(stack)
    values = np.zeros((len(stack), least), part)
    kept = {"A": (rows, columns), "N": (1, 1)}.get(mode, (least, least))
    u = np.zeros((len(stack), kept[0], rows), stack.dtype)
    vt = np.zeros((len(stack), columns, kept[1]), stack.dtype)
    more = [shared(8 * least + 1, np.int32)]
    if _is_complex(stack):
        count = least * max(5 * least + 7, 2 * most + 2 * least + 1) + 1
        more = [shared(count, part), *more]
    sizes = rows, columns, given, lead, values, u, lead, vt, max(1, kept[1])
    _lapack("gesdd", stack, mode, *sizes, WORK, *more, failed)
    if mode == "N":
        # The shapes depend on JAX's `full_matrices`, which is not among the options: use the types.
        vectors = [options.unread(2, rows, stack), options.unread(3, columns, stack)]
    else:
        vectors = [_by_rows(u), _by_rows(vt)]
    return stack, values, *vectors, failed


@call("trsm")
def _trsm(matrices: Matrices, options: Options) -> Sequence[Any]:
    a, b = matrices
    transposed = options.letter("trans_x", "N")
    left = options.letter("side", "L") == "L"
    lower = options.letter("uplo", "L") == "L"
    return (_solved(a, b, left, lower, transposed, options.letter("diag", "N") == "U"),)


@call("gtsv")
def _gtsv(matrices: Matrices, options: Options) -> Sequence[Any]:
    """Solve a tridiagonal system. The lower, main and upper diagonal have equal lengths."""
    lower, middle, upper = (each.copy() for each in matrices[:3])
    solved, failed = _by_columns(matrices[3]), _status(middle)
    size, columns, lead = _sizes(matrices[3])
    diagonals = lower[:, 1:], middle, upper
    _lapack("gtsv", middle, size, columns, *diagonals, solved, lead, failed)
    return lower, middle, upper, _by_rows(solved), failed


@call("gehrd")
def _gehrd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    size, _, lead = _sizes(stack)
    factors, failed = _by_columns(stack), _status(stack)
    tau = np.zeros((len(stack), max(0, size - 1)), stack.dtype)
    bounds = min(1, size), size
    _lapack("gehrd", stack, size, *bounds, factors, lead, tau, WORK, failed)
    return _by_rows(factors), tau, failed


@call("sytrd")
def _sytrd(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    size, _, lead = _sizes(stack)
    name = "hetrd" if _is_complex(stack) else "sytrd"
    word = "L" if options.letter("uplo", "L") == "L" else "U"
    factors, failed, part = _by_columns(stack), _status(stack), _parts_type(stack)
    diagonals = [np.zeros((len(stack), max(0, each)), part) for each in (size, size - 1)]
    tau = np.zeros((len(stack), max(0, size - 1)), stack.dtype)
    _lapack(name, stack, word, size, factors, lead, *diagonals, tau, WORK, failed)
    return _by_rows(factors), *diagonals, tau, failed


@call("gees")
def _gees(matrices: Matrices, options: Options) -> Sequence[Any]:
    (stack,) = matrices
    size, _, lead = _sizes(stack)
    wanted = options.letter("mode", "V") == "V"
    factors, failed, part = _by_columns(stack), _status(stack), _parts_type(stack)
    vectors = np.zeros(stack.shape if wanted else (1, 1, 1), stack.dtype)
    values, more = [np.zeros((len(stack), size), stack.dtype)], []
    if _is_complex(stack):
        more = [shared(size, part)]
    else:
        values = [*values, np.zeros_like(values[0])]
    ordered = _status(stack)  # no eigenvalues are to come first
    words = "V" if wanted else "N", "N", None
    sizes = size, factors, lead, ordered, *values, vectors, lead
    _lapack("gees", stack, *words, *sizes, WORK, *more, None, failed)
    z = _by_rows(vectors) if wanted else options.unread(1, size, stack)
    return _by_rows(factors), z, *values, ordered, failed

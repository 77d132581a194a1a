"""Execute StableHLO's decompositions and transforms, and the LAPACK custom calls that JAX emits.

Conversion to linalg keeps these operations. Native code has kernels for those of static sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import fft_kind
from ....dialects.stablehlo.lapack_checks import operand_ranks
from ....ir.attribute_access import attribute, flag, integers
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Array, Value
from ....runtime.abi.values import dtype_of, static_shape
from ...frames import Frame
from ...registry import Results, impl
from .lapack_calls import called_name, describe_call


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


def _batched(
    op: Operation, operands: Sequence[Any], ranks: Sequence[int], compute: Any
) -> list[Any]:
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


def _called(op: Operation, name: str, operands: Sequence[Any]) -> list[Any]:
    """Return all results of an operation's call of LAPACK."""
    ranks = operand_ranks(name)

    def compute(*stacks: Any) -> Sequence[Any]:
        shapes, dtypes = [each.shape[1:] for each in stacks], [each.dtype for each in stacks]
        return describe_call(op, name, shapes, dtypes).run(stacks)

    # The operands after them are the shapes of results with dynamic sizes.
    return _batched(op, operands[: len(ranks)], ranks, compute)


@impl("stablehlo.cholesky")
def _cholesky(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Factor a matrix, reading one triangle; the other triangle of the result is zero."""
    factors, *status = _called(op, op.name, [_wide(np.asarray(operands[0]))])
    unread = np.tri(factors.shape[-1], k=-1, dtype=np.bool)
    np.copyto(factors, 0, where=unread.T if flag(op, "lower") else unread)
    for failed in status:
        factors[failed != 0] = np.nan
    return _typed(op, [factors])


@impl("stablehlo.triangular_solve")
def _triangular_solve(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return _typed(op, _called(op, op.name, [_wide(np.asarray(each)) for each in operands]))


@impl("stablehlo.custom_call")
def _custom_call(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = called_name(op)
    if name is None or name == op.name:
        target = attribute(op, "call_target_name")
        text = target.data if isinstance(target, StringAttr) else ""
        raise OperationError(op, f"calls '{text}', which cannot be executed")
    return _typed(op, _called(op, name, [np.asarray(each) for each in operands]))

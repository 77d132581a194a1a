"""Decompose factorisations of matrices of static sizes to LAPACK calls, as JAX emits them.

Matrices are real or complex, and their number may be dynamic. Where PyTorch would raise an error,
for a matrix that LAPACK does not factorise, results are infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .inline_mlir import emit_results
from .rules import decomposition, is_empty, is_static, require, torch

_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}


def is_supported(*operands: Any) -> bool:
    """Return whether operands are f32, f64 or complex matrices of static sizes, none of them 0.

    The number of matrices may be dynamic.
    """
    kinds = (torch.float32, torch.float64, torch.complex64, torch.complex128)
    return all(
        x.dtype in kinds and is_static(x.shape[-2:]) and not is_empty(x.shape) for x in operands
    )


def _of_lapack(
    name: str,
    operands: Sequence[Any],
    results: Sequence[tuple[Sequence[Any], Any]],
    config: str = "",
) -> list[Any]:
    """Call the function of LAPACK that has a name for real matrices.

    Return results of these shapes and types.
    """
    x = operands[0]
    letter = {
        torch.float32: "s",
        torch.float64: "d",
        torch.complex64: "c",
        torch.complex128: "z",
    }[x.dtype]
    if x.is_complex():
        name = _COMPLEX_NAMES.get(name, name)
    texts = {
        torch.float32: "f32",
        torch.float64: "f64",
        torch.complex64: "complex<f32>",
        torch.complex128: "complex<f64>",
        torch.int32: "i32",
    }
    types = ", ".join(
        f"tensor<{'x'.join([*map(_text, shape), texts[dtype]])}>" for shape, dtype in results
    )
    given = ", ".join(f"%a{each}" for each in range(len(operands)))
    given_types = ", ".join(f"{{{each}}}" for each in range(len(operands)))
    options = f" {{{{mhlo.backend_config = {{{{{config}}}}}}}}}" if config else ""
    call = f"%results = stablehlo.custom_call @lapack_{letter}{name}_ffi({given}){options}"
    return emit_results(f"{call} : ({given_types}) -> ({types})", results, *operands)


def _text(size: Any) -> str:
    return str(size) if isinstance(size, int) else "?"


# Eigenvalues and singular values -----------------------------------------------------------------


@decomposition("linalg_eig.default")
def eig(x: Any) -> Any:
    """Return complex eigenvalues and eigenvectors; the scale of a vector is arbitrary."""
    require(is_supported(x))
    config = f"compute_left = {ord('N')} : ui8, compute_right = {ord('V')} : ui8"
    vectors = (x.shape, x.dtype.to_complex())
    values = [(x.shape[:-1], x.dtype)] * (1 if x.is_complex() else 2)
    results = [*values, vectors, vectors, (x.shape[:-2], torch.int32)]
    *values, _, right, _ = _of_lapack("geev", [x], results, config)
    return values[0] if x.is_complex() else torch.complex(*values), right


@decomposition("_linalg_eigvals.default", "linalg_eigvals.default")
def eigvals(x: Any) -> Any:
    return eig(x)[0]


@decomposition("_linalg_eigh.default")
def eigh(x: Any, uplo: str = "L", compute_v: bool = True) -> Any:
    require(is_supported(x))
    config = f"mode = {ord('V')} : ui8, uplo = {ord(uplo.upper())} : ui8"
    values = (x.shape[:-1], x.dtype.to_real())
    results = [(x.shape, x.dtype), values, (x.shape[:-2], torch.int32)]
    vectors, found, _ = _of_lapack("syevd", [x], results, config)
    return found, vectors if compute_v else x.new_empty(0)


@decomposition("_linalg_svd.default")
def svd(x: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None) -> Any:
    require(is_supported(x))
    *batch, rows, columns = x.shape
    least = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (least, least)
    results = [
        (x.shape, x.dtype),
        ((*batch, least), x.dtype.to_real()),
        ((*batch, rows, left), x.dtype),
        ((*batch, right, columns), x.dtype),
        (batch, torch.int32),
    ]
    config = f"mode = {ord('A' if full_matrices else 'S')} : ui8"
    _, s, u, v, _ = _of_lapack("gesdd", [x], results, config)
    return (u, s, v) if compute_uv else (x.new_empty(0), s, x.new_empty(0))


# QR ----------------------------------------------------------------------------------------------


@decomposition("geqrf.default")
def geqrf(x: Any) -> Any:
    """Return Householder reflectors and their factors."""
    require(is_supported(x))
    factors = (*x.shape[:-2], min(x.shape[-2:]))
    return tuple(_of_lapack("geqrf", [x], [(x.shape, x.dtype), (factors, x.dtype)]))


@decomposition("linalg_householder_product.default", "orgqr.default")
def householder_product(reflectors: Any, tau: Any) -> Any:
    require(is_supported(reflectors, tau.unsqueeze(-1)))
    results = [(reflectors.shape, reflectors.dtype)]
    return _of_lapack("orgqr", [reflectors, tau], results)[0]


@decomposition("ormqr.default")
def ormqr(reflectors: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    require(is_supported(reflectors, tau.unsqueeze(-1), other))
    config = f"left = {str(left).lower()}, transpose = {str(transpose).lower()}"
    results = [(other.shape, other.dtype)]
    return _of_lapack("ormqr", [reflectors, tau, other], results, config)[0]


@decomposition("linalg_qr.default")
def qr(x: Any, mode: str = "reduced") -> Any:
    require(is_supported(x))
    rows, least = x.shape[-2], min(x.shape[-2:])
    packed, tau = geqrf(x)
    kept = rows if mode == "complete" else least
    r = packed[..., :kept, :].triu()
    if mode == "r":
        return x.new_empty(0), r
    # More columns than reflectors stand for columns of the unit matrix.
    reflectors = torch.nn.functional.pad(packed[..., :least], (0, kept - least))
    return householder_product(reflectors, tau), r


# LU ----------------------------------------------------------------------------------------------


@decomposition("linalg_lu_factor.default")
def lu_factor(x: Any, *, pivot: bool = True) -> Any:
    """Return both factors in one matrix, and the swapped rows, counted from 1."""
    require(is_supported(x) and pivot)
    *batch, rows, columns = x.shape
    pivots = ((*batch, min(rows, columns)), torch.int32)
    results = [(x.shape, x.dtype), pivots, (batch, torch.int32)]
    return tuple(_of_lapack("getrf", [x], results)[:2])

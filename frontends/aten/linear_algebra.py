"""Decompose solvers and determinants to factorisations, exponentials of matrices to series.

The rules apply to real and complex matrices with static sizes, whose number may be dynamic. Where
PyTorch would raise an error for a singular matrix, results are infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .inline_mlir import emit_elementwise, emit_inline_mlir
from .lapack import eigh, is_supported, lu_factor, qr, svd
from .rules import decomposition, is_empty, require, torch

# Triangles ---------------------------------------------------------------------------------------


@decomposition("cholesky.default", "linalg_cholesky.default")
def cholesky(x: Any, upper: bool = False) -> Any:
    if is_empty(x.shape):
        return x.clone()
    require(is_supported(x))
    body = "%r = stablehlo.cholesky %a0, lower = true : {r}"
    found = emit_elementwise(body, _lower(x, upper)).tril()
    return found.mH if upper else found


def _lower(x: Any, upper: bool) -> Any:
    """Return a matrix whose lower triangle counts, where the upper one may count."""
    return x.mH if upper else x


@decomposition("linalg_solve_triangular.default")
def solve_triangular(
    x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    require(is_supported(x, y))
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])
    options = (
        f"left_side = {str(left).lower()}, lower = {str(not upper).lower()},"
        f" transpose_a = #stablehlo<transpose NO_TRANSPOSE>,"
        f" unit_diagonal = {str(unitriangular).lower()}"
    )
    body = (
        f'%r = "stablehlo.triangular_solve"(%a0, %a1) <{{{{{options}}}}}> : ({{0}}, {{1}}) -> {{r}}'
    )
    return emit_inline_mlir(body, y.shape, y.dtype, x, y)


@decomposition("triangular_solve.default")
def triangular_solve(
    y: Any, x: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    turned = x.mT if transpose else x
    found = solve_triangular(turned, y, upper=upper != transpose, unitriangular=unitriangular)
    return found, x.clone()


@decomposition("cholesky_solve.default")
def cholesky_solve(y: Any, factor: Any, upper: bool = False) -> Any:
    require(is_supported(y, factor))
    lower = _lower(factor, upper)
    found = solve_triangular(lower, y, upper=False)
    return solve_triangular(lower.mH, found, upper=True)


@decomposition("cholesky_inverse.default")
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    ones = torch.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    return cholesky_solve(ones, factor, upper)


# LU ----------------------------------------------------------------------------------------------

_MAX_SWAPS = 64
"""The row swaps of an LU decomposition are unrolled for at most this many rows."""


@decomposition("linalg_lu.default")
def lu(x: Any, *, pivot: bool = True) -> Any:
    return lu_unpack(*lu_factor(x, pivot=pivot))


@decomposition("lu_unpack.default")
def lu_unpack(lu: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    require(is_supported(lu))
    rows, least = lu.shape[-2], min(lu.shape[-2:])
    permutation = lower = upper = lu.new_empty(0)
    if unpack_pivots:
        require(least <= _MAX_SWAPS)
        order = _order(pivots, rows)
        permutation = (torch.arange(rows)[:, None] == order[..., None, :]).to(lu.dtype)
    if unpack_data:
        lower = lu[..., :least].tril(-1) + torch.eye(rows, least, dtype=lu.dtype)
        upper = lu[..., :least, :].triu()
    return permutation, lower, upper


def _order(pivots: Any, rows: int) -> Any:
    """Apply the swaps of pivots one by one: return the source row of each row."""
    places = torch.arange(rows)
    order = places.expand(*pivots.shape[:-1], rows)
    for step in range(pivots.shape[-1]):
        other = (pivots[..., step : step + 1] - 1).to(torch.int64)
        here, there = order[..., step : step + 1], order.gather(-1, other)
        order = torch.where(places == other, here, torch.where(places == step, there, order))
    return order


@decomposition("linalg_lu_solve.default")
def lu_solve(lu: Any, pivots: Any, y: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    require(is_supported(lu, y) and lu.shape[-1] <= _MAX_SWAPS)
    if not left:
        return lu_solve(lu, pivots, y.mH, adjoint=not adjoint).mH
    order = _order(pivots, lu.shape[-1])
    if not adjoint:
        y = y.gather(-2, order[..., None].expand(y.shape))
        found = solve_triangular(lu, y, upper=False, unitriangular=True)
        return solve_triangular(lu, found, upper=True)
    found = solve_triangular(lu.mH, y, upper=False)
    found = solve_triangular(lu.mH, found, upper=True, unitriangular=True)
    places = torch.argsort(order, dim=-1)
    return found.gather(-2, places[..., None].expand(found.shape))


@decomposition("linalg_det.default", "det.default")
def det(x: Any) -> Any:
    return _linalg_det(x)[0]


@decomposition("_linalg_det.default")
def _linalg_det(x: Any) -> Any:
    """Multiply the diagonal of U; torch-mlir swaps no rows, so that it divides by zeros."""
    pivots, diagonal, lu = _diagonal(x)
    return diagonal.prod(-1) * _parity(pivots, x.dtype), lu, pivots


@decomposition("linalg_slogdet.default", "slogdet.default")
def slogdet(x: Any) -> Any:
    return _linalg_slogdet(x)[:2]


@decomposition("_linalg_slogdet.default")
def _linalg_slogdet(x: Any) -> Any:
    pivots, diagonal, lu = _diagonal(x)
    sign = torch.sgn(diagonal).prod(-1) * _parity(pivots, x.dtype)
    return sign, torch.log(torch.abs(diagonal)).sum(-1), lu, pivots


def _diagonal(x: Any) -> tuple[Any, Any, Any]:
    """Return the swapped rows of an LU decomposition, the diagonal of U, and both factors."""
    if not x.shape[-1]:
        return x.new_ones(x.shape[:-1], dtype=torch.int32), x.new_ones(x.shape[:-1]), x
    lu, pivots = lu_factor(x)
    return pivots, torch.diagonal(lu, dim1=-2, dim2=-1), lu


def _parity(pivots: Any, dtype: Any) -> Any:
    """Return -1 for an odd number of swaps, otherwise 1."""
    places = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
    return (1 - 2 * ((pivots != places).sum(-1) % 2)).to(dtype)


# Solved by QR ------------------------------------------------------------------------------------


def _solved(x: Any, y: Any) -> Any:
    q, r = qr(x)
    return solve_triangular(r, q.mH @ y, upper=True)


@decomposition("linalg_inv.default", "inverse.default")
def inverse(x: Any) -> Any:
    if is_empty(x.shape):
        return x.clone()
    require(is_supported(x))
    return _solved(x, torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape))


@decomposition("linalg_solve.default")
def solve(x: Any, y: Any, *, left: bool = True) -> Any:
    vector = y.dim() == 1 or y.shape == x.shape[:-1]
    y = y.unsqueeze(-1) if vector else y
    if is_empty((*x.shape, *y.shape)):
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        found = y.new_zeros(*batch, *y.shape[-2:])
    else:
        require(is_supported(x, y))
        found = _solved(x, y) if left else _solved(x.mT, y.mT).mT
    return found.squeeze(-1) if vector else found


@decomposition("linalg_tensorinv.default")
def tensor_inverse(x: Any, ind: int = 2) -> Any:
    """Invert a tensor as a matrix of its first `ind` dimensions and the others."""
    sizes = x.shape[:ind]
    found = inverse(x.reshape(math.prod(sizes), -1))
    return found.reshape(*x.shape[ind:], *sizes)


def _with_status(name: str, rule: Callable[..., Any]) -> None:
    """Register the form of a rule that also returns which matrices failed: none."""

    @decomposition(f"{name}.default")
    def solved(x: Any, *others: Any, check_errors: bool = False, **more: Any) -> Any:  # pyright: ignore
        found: Any = rule(x, *others, **more)
        found = (found,) if isinstance(found, torch.Tensor) else found
        return *found, torch.zeros(x.shape[:-2], dtype=torch.int32)


_with_status("linalg_cholesky_ex", cholesky)
_with_status("linalg_inv_ex", inverse)
_with_status("linalg_lu_factor_ex", lu_factor)
_with_status("linalg_solve_ex", solve)


@decomposition("_linalg_solve_ex.default")
def solve_with_factors(x: Any, y: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return the factors as well, which the gradient reads."""
    return solve(x, y, left=left), *lu_factor(x), torch.zeros(x.shape[:-2], dtype=torch.int32)


@decomposition("linalg_pinv.atol_rtol_tensor")
def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Treat singular values up to `atol`, or `rtol` of the largest one, as 0."""
    if hermitian:
        values, u = eigh(x)
        s, v = torch.abs(values), (u * torch.sign(values)[..., None, :]).mH
    else:
        u, s, v = svd(x)
    if rtol is None:
        rtol = 0.0 if atol is not None else torch.finfo(x.dtype).eps * max(x.shape[-2:])
    least = s.amax(-1, keepdim=True) * _column(rtol)
    if atol is not None:
        least = torch.maximum(least, _column(atol) + torch.zeros_like(least))
    inverse = torch.where(s > least, 1 / s, 0.0)
    return (v.mH * inverse[..., None, :]) @ u.mH


def _column(tolerance: Any) -> Any:
    return tolerance if isinstance(tolerance, float) else tolerance[..., None]


# Exponentials ------------------------------------------------------------------------------------

_SQUARINGS, _TERMS = 16, 12


@decomposition("linalg_matrix_exp.default")
def matrix_exp(x: Any) -> Any:
    """Sum the series of the matrix divided by a power of 2, then square repeatedly."""
    require(is_supported(x))
    if x.is_complex():
        # Real matrices [[a, -b], [b, a]] are added and multiplied like complex a + bi.
        rows = x.shape[-1]
        both = torch.cat((x.real, x.imag), -2)
        found = matrix_exp(torch.cat((both, torch.cat((-x.imag, x.real), -2)), -1))
        return torch.complex(found[..., :rows, :rows], found[..., rows:, :rows])
    size = torch.abs(x).sum(-1).amax(-1)
    squarings = torch.clamp(torch.ceil(torch.log2(size)) + 1, 0, _SQUARINGS)[..., None, None]
    small = x * torch.exp2(-squarings)
    one = torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape)
    found = one
    for term in range(_TERMS if x.dtype == torch.float32 else 20, 0, -1):
        found = one + small @ found / term
    for step in range(_SQUARINGS):
        found = torch.where(step < squarings, found @ found, found)
    return found

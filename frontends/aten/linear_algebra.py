"""Decompose factorisations to LAPACK calls, solvers to factorisations, exponentials to series.

The rules apply to float matrices with static sizes. Where PyTorch would raise an error for a
singular matrix, results are infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .inline_mlir import emit_elementwise, emit_inline_mlir
from .rules import decomposition, require


def _is_supported(torch: Any, *operands: Any) -> bool:
    """Return whether operands are f32 or f64 tensors of static sizes, none of them 0."""
    return all(
        isinstance(size, int) and size > 0 and x.dtype in (torch.float32, torch.float64)
        for x in operands
        for size in x.shape
    )


# Triangles ---------------------------------------------------------------------------------------


@decomposition("cholesky.default", "linalg_cholesky.default")
def cholesky(torch: Any, x: Any, upper: bool = False) -> Any:
    require(_is_supported(torch, x))
    body = "%r = stablehlo.cholesky %a0, lower = true : {r}"
    found = emit_elementwise(torch, body, x).tril()
    return found.mT if upper else found


@decomposition("linalg_solve_triangular.default")
def solve_triangular(
    torch: Any, x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    require(_is_supported(torch, x, y))
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
    return emit_inline_mlir(torch, body, y.shape, y.dtype, x, y)


@decomposition("triangular_solve.default")
def triangular_solve(
    torch: Any,
    y: Any,
    x: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    turned = x.mT if transpose else x
    found = solve_triangular(
        torch, turned, y, upper=upper != transpose, unitriangular=unitriangular
    )
    return found, x.clone()


@decomposition("cholesky_solve.default")
def cholesky_solve(torch: Any, y: Any, factor: Any, upper: bool = False) -> Any:
    require(_is_supported(torch, y, factor))
    lower = factor.mT if upper else factor
    found = solve_triangular(torch, lower, y, upper=False)
    return solve_triangular(torch, lower.mT, found, upper=True)


@decomposition("cholesky_inverse.default")
def cholesky_inverse(torch: Any, factor: Any, upper: bool = False) -> Any:
    ones = torch.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    return cholesky_solve(torch, ones, factor, upper)


# LAPACK ------------------------------------------------------------------------------------------


def _of_lapack(
    torch: Any,
    call: str,
    operands: Sequence[Any],
    results: Sequence[Sequence[int]],
    config: str = "",
    integers: Sequence[Sequence[int]] = (),
    complexes: Sequence[Sequence[int]] = (),
) -> list[Any]:
    """Call LAPACK; return results of these shapes, then complex results, then integers."""
    x = operands[0]
    kind, letter = ("f32", "s") if x.dtype == torch.float32 else ("f64", "d")
    shapes = [*results, *complexes, *integers]
    counts = (len(results), len(complexes), len(integers))
    kinds = _repeated((kind, f"complex<{kind}>", "i32"), counts)
    dtypes = _repeated((x.dtype, x.dtype.to_complex(), torch.int32), counts)
    types = ", ".join(
        f"tensor<{'x'.join([*map(str, shape), each])}>"
        for shape, each in zip(shapes, kinds, strict=True)
    )
    given = ", ".join(f"%a{each}" for each in range(len(operands)))
    given_types = ", ".join(f"{{{each}}}" for each in range(len(operands)))
    options = f" {{{{mhlo.backend_config = {{{{{config}}}}}}}}}" if config else ""
    found: list[Any] = []
    for index, shape in enumerate(shapes):
        names = ", ".join("%r" if at == index else f"%o{at}" for at in range(len(shapes)))
        body = (
            f"{names} = stablehlo.custom_call @lapack_{letter}{call}_ffi({given}){options}"
            f" : ({given_types}) -> ({types})"
        )
        found.append(emit_inline_mlir(torch, body, shape, dtypes[index], *operands))
    return found


def _repeated(each: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    return [item for item, count in zip(each, counts, strict=True) for _ in range(count)]


@decomposition("linalg_eig.default")
def eig(torch: Any, x: Any) -> Any:
    """Return complex eigenvalues and eigenvectors; the scale of a vector is arbitrary."""
    require(_is_supported(torch, x))
    config = f"compute_left = {ord('N')} : ui8, compute_right = {ord('V')} : ui8"
    real, imaginary, _, vectors, _ = _of_lapack(
        torch, "geev", [x], [x.shape[:-1]] * 2, config, [x.shape[:-2]], [x.shape] * 2
    )
    return torch.complex(real, imaginary), vectors


@decomposition("_linalg_eigvals.default", "linalg_eigvals.default")
def eigvals(torch: Any, x: Any) -> Any:
    return eig(torch, x)[0]


@decomposition("_linalg_eigh.default")
def eigh(torch: Any, x: Any, uplo: str = "L", compute_v: bool = True) -> Any:
    require(_is_supported(torch, x))
    config = f"mode = {ord('V')} : ui8, uplo = {ord(uplo.upper())} : ui8"
    shapes = [x.shape, x.shape[:-1]]
    vectors, values, _ = _of_lapack(torch, "syevd", [x], shapes, config, [x.shape[:-2]])
    return values, vectors if compute_v else x.new_empty(0)


@decomposition("_linalg_svd.default")
def svd(
    torch: Any,
    x: Any,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: Any = None,
) -> Any:
    del driver
    require(_is_supported(torch, x))
    *batch, rows, columns = x.shape
    least = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (least, least)
    shapes = [x.shape, (*batch, least), (*batch, rows, left), (*batch, right, columns)]
    config = f"mode = {ord('A' if full_matrices else 'S')} : ui8"
    _, s, u, v, _ = _of_lapack(torch, "gesdd", [x], shapes, config, [batch])
    return (u, s, v) if compute_uv else (x.new_empty(0), s, x.new_empty(0))


@decomposition("linalg_householder_product.default", "orgqr.default")
def householder_product(torch: Any, reflectors: Any, tau: Any) -> Any:
    require(_is_supported(torch, reflectors, tau))
    return _of_lapack(torch, "orgqr", [reflectors, tau], [reflectors.shape])[0]


@decomposition("ormqr.default")
def ormqr(
    torch: Any, reflectors: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False
) -> Any:
    require(_is_supported(torch, reflectors, tau, other))
    config = f"left = {str(left).lower()}, transpose = {str(transpose).lower()}"
    return _of_lapack(torch, "ormqr", [reflectors, tau, other], [other.shape], config)[0]


@decomposition("linalg_qr.default")
def qr(torch: Any, x: Any, mode: str = "reduced") -> Any:
    require(_is_supported(torch, x) and mode == "reduced")
    least = min(x.shape[-2:])
    packed, tau = geqrf(torch, x)
    q = householder_product(torch, packed[..., :least], tau)
    return q, packed[..., :least, :].triu()


@decomposition("linalg_pinv.atol_rtol_tensor")
def pinv(torch: Any, x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Treat singular values up to `atol`, or `rtol` of the largest one, as 0."""
    if hermitian:
        values, u = eigh(torch, x)
        s, v = torch.abs(values), (u * torch.sign(values)[..., None, :]).mT
    else:
        u, s, v = svd(torch, x)
    if rtol is None:
        rtol = 0.0 if atol is not None else torch.finfo(x.dtype).eps * max(x.shape[-2:])
    least = s.amax(-1, keepdim=True) * _column(rtol)
    if atol is not None:
        least = torch.maximum(least, _column(atol) + torch.zeros_like(least))
    inverse = torch.where(s > least, 1 / s, 0.0)
    return (v.mT * inverse[..., None, :]) @ u.mT


def _column(tolerance: Any) -> Any:
    return tolerance if isinstance(tolerance, float) else tolerance[..., None]


@decomposition("geqrf.default")
def geqrf(torch: Any, x: Any) -> Any:
    """Return Householder reflectors and their factors."""
    require(_is_supported(torch, x))
    return tuple(_of_lapack(torch, "geqrf", [x], [x.shape, (*x.shape[:-2], min(x.shape[-2:]))]))


# LU ----------------------------------------------------------------------------------------------

_MOST_SWAPS = 64
"""The row swaps of an LU decomposition are unrolled for at most this many rows."""


@decomposition("linalg_lu_factor.default")
def lu_factor(torch: Any, x: Any, *, pivot: bool = True) -> Any:
    require(_is_supported(torch, x) and pivot)
    *batch, rows, columns = x.shape
    integers = [(*batch, min(rows, columns)), batch]
    lu, pivots, _ = _of_lapack(torch, "getrf", [x], [x.shape], integers=integers)
    return lu, pivots


@decomposition("linalg_lu.default")
def lu(torch: Any, x: Any, *, pivot: bool = True) -> Any:
    return lu_unpack(torch, *lu_factor(torch, x, pivot=pivot))


@decomposition("lu_unpack.default")
def lu_unpack(
    torch: Any, lu: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    require(unpack_data and unpack_pivots and _is_supported(torch, lu))
    rows, least = lu.shape[-2], min(lu.shape[-2:])
    require(least <= _MOST_SWAPS)
    order = _order(torch, pivots, rows)
    permutation = (torch.arange(rows)[:, None] == order[..., None, :]).to(lu.dtype)
    lower = lu[..., :least].tril(-1) + torch.eye(rows, least, dtype=lu.dtype)
    return permutation, lower, lu[..., :least, :].triu()


def _order(torch: Any, pivots: Any, rows: int) -> Any:
    """Apply the swaps of pivots one by one: return the source row of each row."""
    places = torch.arange(rows)
    order = places.expand(*pivots.shape[:-1], rows)
    for step in range(pivots.shape[-1]):
        other = (pivots[..., step : step + 1] - 1).to(torch.int64)
        here, there = order[..., step : step + 1], order.gather(-1, other)
        order = torch.where(places == other, here, torch.where(places == step, there, order))
    return order


@decomposition("linalg_lu_solve.default")
def lu_solve(
    torch: Any, lu: Any, pivots: Any, y: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    require(_is_supported(torch, lu, y) and lu.shape[-1] <= _MOST_SWAPS)
    if not left:
        return lu_solve(torch, lu, pivots, y.mT, adjoint=not adjoint).mT
    order = _order(torch, pivots, lu.shape[-1])
    if not adjoint:
        y = y.gather(-2, order[..., None].expand(y.shape))
        found = solve_triangular(torch, lu, y, upper=False, unitriangular=True)
        return solve_triangular(torch, lu, found, upper=True)
    found = solve_triangular(torch, lu.mT, y, upper=False)
    found = solve_triangular(torch, lu.mT, found, upper=True, unitriangular=True)
    places = torch.argsort(order, dim=-1)
    return found.gather(-2, places[..., None].expand(found.shape))


@decomposition("_linalg_det.default", "linalg_det.default", "det.default")
def det(torch: Any, x: Any) -> Any:
    """Handle matrices of no rows and columns: torch-mlir crashes."""
    del torch
    require(not x.shape[-1])
    return x.new_ones(x.shape[:-2])


# Solved by QR ------------------------------------------------------------------------------------


def _solved(torch: Any, x: Any, y: Any) -> Any:
    q, r = qr(torch, x)
    return solve_triangular(torch, r, q.mT @ y, upper=True)


@decomposition("linalg_inv.default", "inverse.default")
def inverse(torch: Any, x: Any) -> Any:
    require(_is_supported(torch, x))
    return _solved(torch, x, torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape))


@decomposition("linalg_solve.default")
def solve(torch: Any, x: Any, y: Any, *, left: bool = True) -> Any:
    require(_is_supported(torch, x, y))
    vector = y.dim() == 1 or y.shape == x.shape[:-1]
    y = y.unsqueeze(-1) if vector else y
    found = _solved(torch, x, y) if left else _solved(torch, x.mT, y.mT).mT
    return found.squeeze(-1) if vector else found


def _with_status(name: str, rule: Callable[..., Any]) -> None:
    """Register the form of a rule that also returns which matrices failed: none."""

    @decomposition(f"{name}.default")
    def solved(torch: Any, x: Any, *others: Any, check_errors: bool = False, **more: Any) -> Any:  # pyright: ignore
        del check_errors
        found: Any = rule(torch, x, *others, **more)
        found = (found,) if isinstance(found, torch.Tensor) else found
        return *found, torch.zeros(x.shape[:-2], dtype=torch.int32)


_with_status("linalg_cholesky_ex", cholesky)
_with_status("linalg_inv_ex", inverse)
_with_status("linalg_lu_factor_ex", lu_factor)
_with_status("linalg_solve_ex", solve)

# Exponentials ------------------------------------------------------------------------------------

_SQUARINGS, _TERMS = 16, 12


@decomposition("linalg_matrix_exp.default")
def matrix_exp(torch: Any, x: Any) -> Any:
    """Sum the series of the matrix divided by a power of 2, then square repeatedly."""
    require(x.dtype.is_floating_point and x.numel())
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

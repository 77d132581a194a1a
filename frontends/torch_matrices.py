"""Decompositions of matrices by LAPACK's calls, and what is solved with them.

They are for matrices of floats with known sizes. Where PyTorch would raise an error for a singular
matrix, results are infinite or undefined numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .torch_carried import carry
from .torch_rules import decomposition


def _known(torch: Any, *operands: Any) -> bool:
    return all(
        isinstance(size, int) and size > 0 and x.dtype in (torch.float32, torch.float64)
        for x in operands
        for size in x.shape
    )


def _none_failed(torch: Any, x: Any) -> Any:
    return torch.zeros(x.shape[:-2], dtype=torch.int32)


def _with_errors(torch: Any, x: Any, found: Any) -> Any:
    """What the variant of an operation gives that tells which matrices of a batch failed."""
    return found if found is NotImplemented else (found, _none_failed(torch, x))


# Triangles ---------------------------------------------------------------------------------------


@decomposition("cholesky.default", "linalg_cholesky.default")
def cholesky(torch: Any, x: Any, upper: bool = False) -> Any:
    if not _known(torch, x):
        return NotImplemented
    body = "%r = stablehlo.cholesky %a0, lower = true : {r}"
    found = carry(torch, body, x.shape, x.dtype, x).tril()
    return found.mT if upper else found


@decomposition("linalg_cholesky_ex.default")
def cholesky_ex(torch: Any, x: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    del check_errors
    return _with_errors(torch, x, cholesky(torch, x, upper))


@decomposition("linalg_solve_triangular.default")
def solve_triangular(
    torch: Any, x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not _known(torch, x, y):
        return NotImplemented
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
    return carry(torch, body, y.shape, y.dtype, x, y)


# LAPACK ------------------------------------------------------------------------------------------


def _of_lapack(
    torch: Any,
    call: str,
    operands: Sequence[Any],
    results: Sequence[Sequence[int]],
    config: str = "",
    tells: bool = True,
) -> list[Any]:
    """What a LAPACK call gives: results of these shapes, behind them whether it `tells` that."""
    x = operands[0]
    kind, letter = ("f32", "s") if x.dtype == torch.float32 else ("f64", "d")
    shapes = [*results, *([x.shape[:-2]] if tells else [])]
    kinds = [*[kind] * len(results), *["i32"] * tells]
    types = ", ".join(
        f"tensor<{'x'.join([*map(str, shape), each])}>"
        for shape, each in zip(shapes, kinds, strict=True)
    )
    taken = range(len(operands))
    given = ", ".join(f"%a{each}" for each in taken)
    given_types = ", ".join(f"{{{each}}}" for each in taken)
    options = f" {{{{mhlo.backend_config = {{{{{config}}}}}}}}}" if config else ""
    found: list[Any] = []
    for index, shape in enumerate(results):
        names = ", ".join("%r" if at == index else f"%o{at}" for at in range(len(shapes)))
        body = (
            f"{names} = stablehlo.custom_call @lapack_{letter}{call}_ffi({given}){options}"
            f" : ({given_types}) -> ({types})"
        )
        found.append(carry(torch, body, shape, x.dtype, *operands))
    return found


@decomposition("_linalg_eigh.default")
def eigh(torch: Any, x: Any, uplo: str = "L", compute_v: bool = True) -> Any:
    if not _known(torch, x):
        return NotImplemented
    config = f"mode = {ord('V')} : ui8, uplo = {ord(uplo.upper())} : ui8"
    vectors, values = _of_lapack(torch, "syevd", [x], [x.shape, x.shape[:-1]], config)
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
    if not _known(torch, x):
        return NotImplemented
    *batch, rows, columns = x.shape
    least = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (least, least)
    shapes = [x.shape, (*batch, least), (*batch, rows, left), (*batch, right, columns)]
    config = f"mode = {ord('A' if full_matrices else 'S')} : ui8"
    _, s, u, v = _of_lapack(torch, "gesdd", [x], shapes, config)
    return (u, s, v) if compute_uv else (x.new_empty(0), s, x.new_empty(0))


@decomposition("linalg_qr.default")
def qr(torch: Any, x: Any, mode: str = "reduced") -> Any:
    if not _known(torch, x) or mode != "reduced":
        return NotImplemented
    least = min(x.shape[-2:])
    sides = (*x.shape[:-2], least)
    packed, tau = _of_lapack(torch, "geqrf", [x], [x.shape, sides], tells=False)
    reflectors = packed[..., :least]
    (q,) = _of_lapack(torch, "orgqr", [reflectors, tau], [reflectors.shape], tells=False)
    return q, packed[..., :least, :].triu()


# Solved by QR ------------------------------------------------------------------------------------


def _solved(torch: Any, x: Any, y: Any) -> Any:
    q, r = qr(torch, x)
    return solve_triangular(torch, r, q.mT @ y, upper=True)


@decomposition("linalg_inv.default", "inverse.default")
def inverse(torch: Any, x: Any) -> Any:
    if not _known(torch, x):
        return NotImplemented
    return _solved(torch, x, torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape))


@decomposition("linalg_inv_ex.default")
def inv_ex(torch: Any, x: Any, *, check_errors: bool = False) -> Any:
    del check_errors
    return _with_errors(torch, x, inverse(torch, x))


@decomposition("linalg_solve.default")
def solve(torch: Any, x: Any, y: Any, *, left: bool = True) -> Any:
    if not _known(torch, x, y):
        return NotImplemented
    vector = y.dim() == 1 or y.shape == x.shape[:-1]
    y = y.unsqueeze(-1) if vector else y
    found = _solved(torch, x, y) if left else _solved(torch, x.mT, y.mT).mT
    return found.squeeze(-1) if vector else found


@decomposition("linalg_solve_ex.default")
def solve_ex(torch: Any, x: Any, y: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    del check_errors
    return _with_errors(torch, x, solve(torch, x, y, left=left))

"""Functions of PyTorch that StableHLO has: what is written for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from .torch_carried import carry

Decompositions = Mapping[Any, Callable[..., Any]]


def composite_rule(torch: Any, operation: Any) -> Callable[..., Any] | None:
    """How PyTorch takes apart an operation that is nothing but others, if it is."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if not operation.has_kernel_for_dispatch_key(key):
        return None

    def rule(*arguments: Any, **keywords: Any) -> Any:
        # Its `decompose` would be this rule again while this is in use.
        return operation._op_dk(key, *arguments, **keywords)

    return rule


_OF_ELEMENTS = {
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "lgamma": "chlo.lgamma",
    "digamma": "chlo.digamma",
    "special_i1e": "chlo.bessel_i1e",
}


def special_functions(torch: Any) -> Decompositions:
    """Functions of the elements of a tensor."""
    aten = torch.ops.aten

    def real(x: Any) -> Any:
        return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())

    def of_elements(name: str) -> Callable[[Any], Any]:
        def rule(x: Any) -> Any:
            x = real(x)
            return carry(torch, f"%r = {name} %a0 : {{0}} -> {{r}}", x.shape, x.dtype, x)

        return rule

    def of_pairs(name: str) -> Callable[[Any, Any], Any]:
        def rule(x: Any, y: Any) -> Any:
            x, y = torch.broadcast_tensors(real(x), real(y))
            body = f"%r = {name} %a0, %a1 : {{0}}, {{1}} -> {{r}}"
            return carry(torch, body, x.shape, x.dtype, x, y)

        return rule

    zeta, derivative = of_pairs("chlo.zeta"), of_pairs("chlo.polygamma")

    def polygamma(n: int, x: Any) -> Any:
        return derivative(torch.full_like(real(x), n), x)

    def i1(x: Any) -> Any:
        return aten.special_i1e(x) * torch.exp(torch.abs(x))

    return {
        getattr(aten, each).default: of_elements(_OF_ELEMENTS[each]) for each in _OF_ELEMENTS
    } | {
        aten.special_zeta.default: zeta,
        aten.polygamma.default: polygamma,
        aten.special_i1.default: i1,
    }


def complex_numbers(torch: Any) -> Decompositions:
    """What torch-mlir refuses of complex numbers, or takes for the real part's."""
    aten = torch.ops.aten

    def magnitude(x: Any) -> Any:
        if not x.is_complex():
            return NotImplemented
        kind = x.dtype.to_real()
        return carry(torch, "%r = stablehlo.abs %a0 : ({0}) -> {r}", x.shape, kind, x)

    def complex_of(x: Any, y: Any) -> Any:
        return torch.view_as_complex(torch.stack(torch.broadcast_tensors(x, y), -1))

    def angle(x: Any) -> Any:
        return torch.atan2(x.imag, x.real) if x.is_complex() else NotImplemented

    def conjugate(x: Any) -> Any:
        return complex_of(x.real, -x.imag) if x.is_complex() else NotImplemented

    def as_complex(x: Any, dtype: Any) -> Any:
        kind = dtype.to_real()
        if not isinstance(x, torch.Tensor):
            parts = complex(x)
            return complex_of(
                torch.full((), parts.real, dtype=kind), torch.full((), parts.imag, dtype=kind)
            )
        if x.dtype == dtype:
            return x
        if x.is_complex():
            return complex_of(x.real.to(kind), x.imag.to(kind))
        x = x.to(kind)
        return complex_of(x, torch.zeros_like(x))

    def arithmetic(name: str) -> Callable[[Any, Any], Any]:
        def rule(x: Any, y: Any, alpha: Any = 1) -> Any:
            dtype = torch.result_type(x, y)
            if not dtype.is_complex:
                return NotImplemented
            y = y if alpha == 1 else y * alpha
            x, y = torch.broadcast_tensors(as_complex(x, dtype), as_complex(y, dtype))
            return carry(torch, f"%r = stablehlo.{name} %a0, %a1 : {{r}}", x.shape, dtype, x, y)

        return rule

    signs = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}
    rules = {name: arithmetic(signs[name]) for name in signs}
    return {
        aten.abs.default: magnitude,
        aten.complex.default: complex_of,
        aten.angle.default: angle,
        aten._conj.default: conjugate,
        aten.conj_physical.default: conjugate,
    } | {
        getattr(getattr(aten, name), kind): rules[name]
        for name in rules
        for kind in ("Tensor", "Scalar")
    }


def matrices(torch: Any) -> Decompositions:
    """Decompositions of matrices and what is solved with them."""
    aten = torch.ops.aten

    def known(*operands: Any) -> bool:
        return all(
            isinstance(size, int) and size > 0 and x.dtype in (torch.float32, torch.float64)
            for x in operands
            for size in x.shape
        )

    def cholesky(x: Any, upper: bool = False) -> Any:
        if not known(x):
            return NotImplemented
        body = "%r = stablehlo.cholesky %a0, lower = true : {r}"
        found = carry(torch, body, x.shape, x.dtype, x).tril()
        return found.mT if upper else found

    def cholesky_ex(x: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
        del check_errors
        found = cholesky(x, upper)
        return found if found is NotImplemented else (found, none_failed(x))

    def none_failed(x: Any) -> Any:
        return torch.zeros(x.shape[:-2], dtype=torch.int32)

    def triangular(
        x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
    ) -> Any:
        if not known(x, y):
            return NotImplemented
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])
        options = (
            f"left_side = {str(left).lower()}, lower = {str(not upper).lower()},"
            f" transpose_a = #stablehlo<transpose NO_TRANSPOSE>,"
            f" unit_diagonal = {str(unitriangular).lower()}"
        )
        body = (
            f'%r = "stablehlo.triangular_solve"(%a0, %a1) <{{{{{options}}}}}>'
            " : ({0}, {1}) -> {r}"
        )
        return carry(torch, body, y.shape, y.dtype, x, y)

    def of_lapack(x: Any, call: str, results: Sequence[Sequence[int]], config: str) -> list[Any]:
        """What a LAPACK call gives: results of these shapes, behind them whether it failed."""
        kind = "f32" if x.dtype == torch.float32 else "f64"
        letter = "s" if kind == "f32" else "d"
        shapes = [*results, x.shape[:-2]]
        kinds = [*[kind] * len(results), "i32"]
        types = ", ".join(
            f"tensor<{'x'.join([*map(str, shape), each])}>"
            for shape, each in zip(shapes, kinds, strict=True)
        )
        found: list[Any] = []
        for index, shape in enumerate(results):
            names = ", ".join("%r" if at == index else f"%o{at}" for at in range(len(shapes)))
            body = (
                f"{names} = stablehlo.custom_call @lapack_{letter}{call}_ffi(%a0)"
                f" {{{{mhlo.backend_config = {{{{{config}}}}}}}}} : ({{0}}) -> ({types})"
            )
            found.append(carry(torch, body, shape, x.dtype, x))
        return found

    def eigh(x: Any, uplo: str = "L", compute_v: bool = True) -> Any:
        if not known(x):
            return NotImplemented
        config = f"mode = {ord('V')} : ui8, uplo = {ord(uplo.upper())} : ui8"
        vectors, values = of_lapack(x, "syevd", [x.shape, x.shape[:-1]], config)
        return values, vectors if compute_v else x.new_empty(0)

    def svd(
        x: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None
    ) -> Any:
        del driver
        if not known(x):
            return NotImplemented
        *batch, rows, columns = x.shape
        least = min(rows, columns)
        left, right = (rows, columns) if full_matrices else (least, least)
        shapes = [x.shape, (*batch, least), (*batch, rows, left), (*batch, right, columns)]
        config = f"mode = {ord('A' if full_matrices else 'S')} : ui8"
        _, s, u, v = of_lapack(x, "gesdd", shapes, config)
        return (u, s, v) if compute_uv else (x.new_empty(0), s, x.new_empty(0))

    def linalg_qr(x: Any, mode: str = "reduced") -> Any:
        if not known(x) or mode != "reduced":
            return NotImplemented
        return qr(x)

    def qr(x: Any) -> tuple[Any, Any]:
        letter = "s" if x.dtype == torch.float32 else "d"
        least = min(x.shape[-2:])
        sides = (*x.shape[:-2], least)
        call = f"stablehlo.custom_call @lapack_{letter}geqrf_ffi(%a0) : ({{0}}) -> "
        tau_type = f"tensor<{'x'.join(map(str, sides))}xf{32 if letter == 's' else 64}>"
        packed = carry(torch, f"%r, %t = {call}({{r}}, {tau_type})", x.shape, x.dtype, x)
        tau = carry(torch, f"%p, %r = {call}({{0}}, {{r}})", sides, x.dtype, x)
        target = f"lapack_{letter}orgqr_ffi"
        body = f"%r = stablehlo.custom_call @{target}(%a0, %a1) : ({{0}}, {{1}}) -> {{r}}"
        reflectors = packed[..., :least]
        q = carry(torch, body, reflectors.shape, x.dtype, reflectors, tau)
        return q, packed[..., :least, :].triu()

    def solved(x: Any, y: Any) -> Any:
        q, r = qr(x)
        return triangular(r, q.mT @ y, upper=True)

    def inv_ex(x: Any, *, check_errors: bool = False) -> Any:
        del check_errors
        if not known(x):
            return NotImplemented
        ones = torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape)
        return solved(x, ones), none_failed(x)

    def inverse(x: Any) -> Any:
        return inv_ex(x)[0] if known(x) else NotImplemented

    def solve(x: Any, y: Any, *, left: bool = True) -> Any:
        if not known(x, y):
            return NotImplemented
        vector = y.dim() == 1 or y.shape == x.shape[:-1]
        y = y.unsqueeze(-1) if vector else y
        found = solved(x, y) if left else solved(x.mT, y.mT).mT
        return found.squeeze(-1) if vector else found

    def solve_ex(x: Any, y: Any, *, left: bool = True, check_errors: bool = False) -> Any:
        del check_errors
        found = solve(x, y, left=left)
        return found if found is NotImplemented else (found, none_failed(x))

    rules: dict[Any, Callable[..., Any]] = {
        aten.cholesky.default: cholesky,
        aten.linalg_cholesky.default: cholesky,
        aten.linalg_cholesky_ex.default: cholesky_ex,
        aten.linalg_solve_triangular.default: triangular,
        aten.linalg_qr.default: linalg_qr,
        aten._linalg_eigh.default: eigh,
        aten._linalg_svd.default: svd,
        aten.linalg_inv.default: inverse,
        aten.linalg_inv_ex.default: inv_ex,
        aten.inverse.default: inverse,
        aten.linalg_solve.default: solve,
        aten.linalg_solve_ex.default: solve_ex,
    }
    return rules


def spectra(torch: Any) -> Decompositions:
    """Fourier transforms, dimension by dimension."""
    aten = torch.ops.aten

    def transform(x: Any, kind: str, dimension: int, size: int, dtype: Any, scale: float) -> Any:
        """`scale` is what PyTorch multiplies the sums by; StableHLO divides those of inverses."""
        x = x.movedim(dimension, -1)
        if kind.startswith("I"):
            scale *= size
        length = size // 2 + 1 if kind == "RFFT" else size
        value = f"({scale}, 0.0)" if dtype.is_complex else f"{scale}"
        body = (
            f"%f = stablehlo.fft %a0, type = {kind}, length = [{size}] : ({{0}}) -> {{r}}\n"
            f"%c = stablehlo.constant dense<{value}> : {{r}}\n"
            "%r = stablehlo.multiply %f, %c : {r}"
        )
        found = carry(torch, body, (*x.shape[:-1], length), dtype, x)
        return found.movedim(-1, dimension)

    def scale_of(sizes: Sequence[int], normalization: int) -> float:
        return {0: 1.0, 1: prod(sizes) ** -0.5, 2: 1.0 / prod(sizes)}[normalization]

    def known(x: Any, dim: Sequence[int]) -> bool:
        return all(isinstance(size, int) for size in x.shape) and bool(dim)

    def c2c(x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
        if not known(x, dim):
            return NotImplemented
        for each in dim:
            kind = "FFT" if forward else "IFFT"
            size = x.shape[each]
            x = transform(x, kind, each, size, x.dtype, scale_of([size], normalization))
        return x

    def r2c(x: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
        if not known(x, dim):
            return NotImplemented
        if not onesided:
            return c2c(complex_of(x), dim, normalization, True)
        size = x.shape[dim[-1]]
        scale = scale_of([size], normalization)
        x = transform(x, "RFFT", dim[-1], size, x.dtype.to_complex(), scale)
        return c2c(x, dim[:-1], normalization, True) if dim[:-1] else x

    def complex_of(x: Any) -> Any:
        return torch.view_as_complex(torch.stack((x, torch.zeros_like(x)), -1))

    def c2r(x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
        if not known(x, dim):
            return NotImplemented
        if dim[:-1]:
            x = c2c(x, dim[:-1], normalization, False)
        scale = scale_of([last_dim_size], normalization)
        kind = x.dtype.to_real()
        x = x.narrow(dim[-1], 0, last_dim_size // 2 + 1)
        return transform(x, "IRFFT", dim[-1], last_dim_size, kind, scale)

    names = [name for name in dir(aten) if name.startswith("fft_")]
    operations = [getattr(aten, name).default for name in names]
    rules = {each: composite_rule(torch, each) for each in operations}
    composites = {each: rule for each, rule in rules.items() if rule is not None}
    return composites | {
        aten._fft_c2c.default: c2c,
        aten._fft_r2c.default: r2c,
        aten._fft_c2r.default: c2r,
    }

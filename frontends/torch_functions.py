"""Functions of PyTorch that StableHLO has: what is written for each."""

from __future__ import annotations

from typing import Any

from .torch_carried import carry
from .torch_rules import decomposition

_OF_ELEMENTS = {
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "lgamma": "chlo.lgamma",
    "digamma": "chlo.digamma",
    "special_i1e": "chlo.bessel_i1e",
}


def _real(torch: Any, x: Any) -> Any:
    return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())


def _function(name: str, operation: str) -> None:
    @decomposition(f"{name}.default")
    def rule(torch: Any, x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        x = _real(torch, x)
        return carry(torch, f"%r = {operation} %a0 : {{0}} -> {{r}}", x.shape, x.dtype, x)


for _name, _operation in _OF_ELEMENTS.items():
    _function(_name, _operation)


def _of_pairs(torch: Any, operation: str, x: Any, y: Any) -> Any:
    x, y = torch.broadcast_tensors(_real(torch, x), _real(torch, y))
    body = f"%r = {operation} %a0, %a1 : {{0}}, {{1}} -> {{r}}"
    return carry(torch, body, x.shape, x.dtype, x, y)


@decomposition("special_zeta.default")
def zeta(torch: Any, x: Any, y: Any) -> Any:
    return _of_pairs(torch, "chlo.zeta", x, y)


@decomposition("polygamma.default")
def polygamma(torch: Any, n: int, x: Any) -> Any:
    return _of_pairs(torch, "chlo.polygamma", torch.full_like(_real(torch, x), n), x)


@decomposition("special_i1.default")
def i1(torch: Any, x: Any) -> Any:
    return torch.ops.aten.special_i1e(x) * torch.exp(torch.abs(x))


# Complex numbers, which torch-mlir refuses, or takes for their real parts.


@decomposition("abs.default")
def magnitude(torch: Any, x: Any) -> Any:
    if not x.is_complex():
        return NotImplemented
    kind = x.dtype.to_real()
    return carry(torch, "%r = stablehlo.abs %a0 : ({0}) -> {r}", x.shape, kind, x)


@decomposition("complex.default")
def complex_of(torch: Any, x: Any, y: Any) -> Any:
    return torch.view_as_complex(torch.stack(torch.broadcast_tensors(x, y), -1))


@decomposition("angle.default")
def angle(torch: Any, x: Any) -> Any:
    return torch.atan2(x.imag, x.real) if x.is_complex() else NotImplemented


@decomposition("_conj.default", "conj_physical.default")
def conjugate(torch: Any, x: Any) -> Any:
    return complex_of(torch, x.real, -x.imag) if x.is_complex() else NotImplemented


def _as_complex(torch: Any, x: Any, dtype: Any) -> Any:
    kind = dtype.to_real()
    if not isinstance(x, torch.Tensor):
        parts = complex(x)
        return complex_of(
            torch, torch.full((), parts.real, dtype=kind), torch.full((), parts.imag, dtype=kind)
        )
    if x.dtype == dtype:
        return x
    if x.is_complex():
        return complex_of(torch, x.real.to(kind), x.imag.to(kind))
    x = x.to(kind)
    return complex_of(torch, x, torch.zeros_like(x))


def _arithmetic(name: str, operation: str) -> None:
    @decomposition(f"{name}.Tensor", f"{name}.Scalar")
    def rule(torch: Any, x: Any, y: Any, alpha: Any = 1) -> Any:  # pyright: ignore[reportUnusedFunction]
        dtype = torch.result_type(x, y)
        if not dtype.is_complex:
            return NotImplemented
        y = y if alpha == 1 else y * alpha
        x, y = torch.broadcast_tensors(_as_complex(torch, x, dtype), _as_complex(torch, y, dtype))
        return carry(torch, f"%r = stablehlo.{operation} %a0, %a1 : {{r}}", x.shape, dtype, x, y)


for _name, _operation in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("div", "divide"),
):
    _arithmetic(_name, _operation)

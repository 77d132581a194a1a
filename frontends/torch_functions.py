"""Functions of PyTorch that StableHLO has: what is written for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .torch_carried import carry
from .torch_rules import Decompositions

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

"""Map special functions of PyTorch to operations of CHLO."""

from __future__ import annotations

from math import gamma
from typing import Any

from .inline_mlir import emit_elementwise
from .operands import as_real
from .rules import decomposition

_FUNCTIONS = {
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "lgamma": "chlo.lgamma",
    "special_i1e": "chlo.bessel_i1e",
}


def _real_function(name: str, operation: str) -> None:
    @decomposition(f"{name}.default")
    def rule(torch: Any, x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        x = as_real(torch, x)
        return emit_elementwise(torch, f"%r = {operation} %a0 : {{0}} -> {{r}}", x)


for _name, _operation in _FUNCTIONS.items():
    _real_function(_name, _operation)


@decomposition("digamma.default")
def digamma(torch: Any, x: Any) -> Any:
    x = as_real(torch, x)
    found = emit_elementwise(torch, "%r = chlo.digamma %a0 : {0} -> {r}", x)
    # At 0, PyTorch returns a signed infinity; CHLO's result is undefined.
    return torch.where(x == 0, -1 / x, found)


def _of_pairs(torch: Any, operation: str, x: Any, y: Any) -> Any:
    x, y = torch.broadcast_tensors(as_real(torch, x), as_real(torch, y))
    body = f"%r = {operation} %a0, %a1 : {{0}}, {{1}} -> {{r}}"
    return emit_elementwise(torch, body, x, y)


@decomposition("special_zeta.default")
def zeta(torch: Any, x: Any, y: Any) -> Any:
    found = _of_pairs(torch, "chlo.zeta", x, y)
    # CHLO's result is undefined at the poles.
    return torch.where((x > 1) & (y <= 0) & (y == torch.floor(y)), torch.inf, found)


@decomposition("polygamma.default")
def polygamma(torch: Any, n: int, x: Any) -> Any:
    if n == 0:
        return digamma(torch, x)
    if x.dtype in (torch.bfloat16, torch.float16):
        return polygamma(torch, n, x.to(torch.float32)).to(x.dtype)
    x = as_real(torch, x)
    if n > 1:
        # CHLO takes the logarithm of the zeta function, which may be negative below 0.
        factor = gamma(n + 1) if n < 171 else torch.inf
        return (factor if n % 2 else -factor) * zeta(torch, torch.full_like(x, n + 1), x)
    # CHLO's series is for x > 0. Reflect: t(x) = pi^2 / sin(pi x)^2 - t(1 - x).
    below = x < 0.5
    found = _of_pairs(torch, "chlo.polygamma", torch.ones_like(x), torch.where(below, 1 - x, x))
    mirrored = (torch.pi / torch.sin(torch.pi * x)) ** 2 - found
    return torch.where(x == torch.inf, 0.0, torch.where(below, mirrored, found))

"""Complex numbers, which torch-mlir refuses, or takes for their real parts."""

from __future__ import annotations

from typing import Any

from .torch_carried import carry
from .torch_rules import decomposition


@decomposition("complex.default")
def complex_of(torch: Any, x: Any, y: Any) -> Any:
    dtype = torch.promote_types(x.dtype, y.dtype)
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    body = "%r = stablehlo.complex %a0, %a1 : {r}"
    return carry(torch, body, x.shape, dtype.to_complex(), x, y)


@decomposition("polar.default")
def polar(torch: Any, size: Any, turn: Any) -> Any:
    return complex_of(torch, size * torch.cos(turn), size * torch.sin(turn))


@decomposition("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(torch: Any, x: Any) -> Any:
    return complex_of(torch, x.select(-1, 0), x.select(-1, 1))


def _part(torch: Any, x: Any, name: str) -> Any:
    body = f"%r = stablehlo.{name} %a0 : ({{0}}) -> {{r}}"
    return carry(torch, body, x.shape, x.dtype.to_real(), x)


@decomposition("view_as_real.default", "view_as_real_copy.default")
def view_as_real(torch: Any, x: Any) -> Any:
    return torch.stack((_part(torch, x, "real"), _part(torch, x, "imag")), -1)


@decomposition("_to_copy.default")
def converted(torch: Any, x: Any, *, dtype: Any = None, **options: Any) -> Any:
    """torch-mlir takes True for -1 here."""
    del options
    if dtype is None or not dtype.is_complex:
        return NotImplemented
    # What keeps its type is copied all the same.
    return x.clone() if x.dtype == dtype else _as_complex(torch, x, dtype)


@decomposition("angle.default")
def angle(torch: Any, x: Any) -> Any:
    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    return torch.where(torch.isnan(x), x, torch.where(x < 0, torch.pi, 0.0)).to(x.dtype)


@decomposition("_conj.default", "conj_physical.default", "_conj_physical.default")
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

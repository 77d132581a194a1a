"""Decompose operations on the bits of numbers: shifts, views as other types, signs, exponents."""

from __future__ import annotations

from typing import Any

from .inline_mlir import emit_elementwise, emit_inline_mlir
from .rules import as_real, broadcast, decomposition, require, torch


def _shift(name: str, operation: str) -> None:
    short = f"__{name[0]}shift__"
    long = f"bitwise_{name}_shift"

    forms = (f"{long}.{each}" for each in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"))

    @decomposition(f"{short}.Tensor", f"{short}.Scalar", *forms)
    def shift(x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Shift by a negative or too large amount: only the sign remains."""
        x, y = broadcast(x, y)
        if not x.dtype.is_signed:
            return shift(x.to(torch.int32), y.to(torch.int32)).to(x.dtype)
        bits = torch.iinfo(x.dtype).bits
        body = f"%r = stablehlo.{operation} %a0, %a1 : {{r}}"
        most = torch.where((y < 0) | (y >= bits), bits - 1, y)
        found = emit_elementwise(body, x, most)
        return torch.where(most == y, found, 0) if name == "left" else found


_shift("left", "shift_left")
_shift("right", "shift_right_arithmetic")


def _bitwise(name: str) -> None:
    @decomposition(f"bitwise_{name}.Scalar", f"bitwise_{name}.Scalar_Tensor")
    def rule(x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        x, y = broadcast(x, y)
        return getattr(torch.ops.aten, f"bitwise_{name}").Tensor(x, y)


for _name in ("and", "or", "xor"):
    _bitwise(_name)


@decomposition("nextafter.default")
def nextafter(x: Any, y: Any) -> Any:
    x, y = broadcast(x, y)
    body = "%r = chlo.next_after %a0, %a1 : {0}, {1} -> {r}"
    return emit_elementwise(body, x, y)


@decomposition("view.dtype", "view_copy.dtype")
def view_dtype(x: Any, dtype: Any) -> Any:
    """Read the bits as another type; torch-mlir refuses wider types, and all in linalg."""
    kinds = (x.dtype, dtype)
    require(not any(each.is_complex or each == torch.bool for each in kinds))
    if x.dtype == dtype:
        return x.clone()
    body = "%r = stablehlo.bitcast_convert %a0 : ({0}) -> {r}"
    # A wider type takes its parts from a last dimension, a narrower one adds this dimension.
    old, new = (each.itemsize for each in kinds)
    if old < new:
        x = x.reshape(*x.shape[:-1], x.shape[-1] * old // new, new // old)
        return emit_inline_mlir(body, x.shape[:-1], dtype, x)
    if old == new:
        return emit_inline_mlir(body, x.shape, dtype, x)
    parts = emit_inline_mlir(body, (*x.shape, old // new), dtype, x)
    return parts.reshape(*x.shape[:-1], x.shape[-1] * (old // new))


def _integer_like(dtype: Any) -> Any:
    return {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}[dtype.itemsize]


@decomposition("signbit.default")
def signbit(x: Any) -> Any:
    """Read the sign from the bits, also of zeros and NaN."""
    if not x.dtype.is_floating_point:
        return x < 0 if x.dtype.is_signed else torch.zeros_like(x, dtype=torch.bool)
    return view_dtype(x, _integer_like(x.dtype)) < 0


@decomposition("copysign.Tensor", "copysign.Scalar")
def copysign(x: Any, y: Any) -> Any:
    """Take the sign in the result's type, which torch-mlir refuses in linalg."""
    y = y if isinstance(y, torch.Tensor) else float(y)
    x, y = broadcast(as_real(x), y)
    size = torch.abs(x)
    return torch.where(signbit(y), -size, size)


_BITS = {"float64": (52, 11), "float32": (23, 8), "float16": (10, 5), "bfloat16": (7, 8)}
"""The bits of the fraction and of the exponent."""


@decomposition("frexp.Tensor")
def frexp(x: Any) -> Any:
    """Replace the bits of the exponent, of subnormal numbers after scaling them."""
    fraction, size = _BITS[str(x.dtype).removeprefix("torch.")]
    integer = _integer_like(x.dtype)
    small = torch.abs(x) < torch.finfo(x.dtype).smallest_normal
    bits = view_dtype(torch.where(small, x * 2.0**fraction, x), integer)
    mask, half = (1 << size) - 1, (1 << (size - 1)) - 2
    exponent = ((bits >> fraction) & mask) - half - torch.where(small, fraction, 0)
    changed = (bits & ~(mask << fraction)) | (half << fraction)
    mantissa = view_dtype(changed, x.dtype)
    plain = (x == 0) | ~torch.isfinite(x)
    return torch.where(plain, x, mantissa), torch.where(plain, 0, exponent).to(torch.int32)

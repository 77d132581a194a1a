"""Decompose complex operations, which torch-mlir rejects or reduces to their real parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .inline_mlir import emit_elementwise, emit_inline_mlir
from .rules import (
    as_real,
    broadcast,
    decomposition,
    decomposition_with_op,
    in_f32,
    is_narrow,
    is_static,
    real_type,
    require,
    torch,
)


@decomposition("complex.default")
def complex_of(x: Any, y: Any) -> Any:
    dtype = torch.promote_types(x.dtype, y.dtype)
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    body = "%r = stablehlo.complex %a0, %a1 : {r}"
    return emit_inline_mlir(body, x.shape, dtype.to_complex(), x, y)


@decomposition("polar.default")
def polar(size: Any, turn: Any) -> Any:
    return complex_of(size * torch.cos(turn), size * torch.sin(turn))


@decomposition("view_as_complex.default", "view_as_complex_copy.default")
def viewas_complex(x: Any) -> Any:
    return complex_of(x.select(-1, 0), x.select(-1, 1))


def _part(x: Any, name: str) -> Any:
    body = f"%r = stablehlo.{name} %a0 : ({{0}}) -> {{r}}"
    return emit_inline_mlir(body, x.shape, x.dtype.to_real(), x)


@decomposition("view_as_real.default", "view_as_real_copy.default")
def view_as_real(x: Any) -> Any:
    return torch.stack((_part(x, "real"), _part(x, "imag")), -1)


@decomposition("_to_copy.default")
def converted(x: Any, *, dtype: Any = None, **options: Any) -> Any:
    """Convert to complex types, and these to bool: zero is what has no part.

    torch-mlir reads True as -1, and only the real parts.
    """
    if dtype == torch.bool and x.is_complex():
        return (x.real != 0) | (x.imag != 0)
    require(dtype is not None and dtype.is_complex)
    # A conversion to the same type still copies.
    return x.clone() if x.dtype == dtype else as_complex(x, dtype)


@decomposition_with_op(*(f"logical_{name}.default" for name in ("not", "and", "or", "xor")))
def of_truth(operation: Any, *operands: Any) -> Any:
    """Ask whether numbers are zero before torch-mlir does, which takes their real parts alone."""
    require(any(each.is_complex() for each in operands))
    return operation(*(each.to(torch.bool) if each.is_complex() else each for each in operands))


@decomposition("angle.default")
def angle(x: Any) -> Any:
    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    x = as_real(x)
    half_turn = torch.full((), torch.pi, dtype=x.dtype)
    return torch.where(torch.isnan(x), x, torch.where(x < 0, half_turn, 0.0))


@decomposition("_conj.default", "conj_physical.default", "_conj_physical.default")
def conjugate(x: Any) -> Any:
    require(x.is_complex())
    return complex_of(x.real, -x.imag)


def as_complex(x: Any, dtype: Any) -> Any:
    """Return a number or a tensor as a tensor of a complex type."""
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


def _arithmetic(name: str, operation: str) -> None:
    @decomposition(f"{name}.Tensor", f"{name}.Scalar")
    def rule(x: Any, y: Any, alpha: Any = 1) -> Any:  # pyright: ignore[reportUnusedFunction]
        dtype = torch.result_type(x, y)
        if not dtype.is_complex:
            kind = real_type(torch.empty(0, dtype=dtype)) if name == "div" else dtype
            has_bytes = any(getattr(each, "dtype", kind) == torch.uint8 for each in (x, y))
            require(alpha == 1 and has_bytes and kind != torch.uint8)
            # torch-mlir's linalg converts bytes to the common type as signed numbers.
            packet = getattr(torch.ops.aten, name)
            if isinstance(y, torch.Tensor):
                return packet.Tensor(x.to(kind), y.to(kind))
            return packet.Scalar(x.to(kind), y)
        y = y if alpha == 1 else y * alpha
        x, y = torch.broadcast_tensors(as_complex(x, dtype), as_complex(y, dtype))
        return emit_elementwise(f"%r = stablehlo.{operation} %a0, %a1 : {{r}}", x, y)


for _name, _operation in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("div", "divide"),
):
    _arithmetic(_name, _operation)


@decomposition_with_op("mm.default", "bmm.default", "mv.default", "dot.default")
def _products(product: Any, x: Any, y: Any) -> Any:
    """Compute a complex matrix product from products of the real and imaginary parts."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    require(dtype.is_complex)
    x, y = as_complex(x, dtype), as_complex(y, dtype)
    real = product(x.real, y.real) - product(x.imag, y.imag)
    return complex_of(real, product(x.real, y.imag) + product(x.imag, y.real))


@decomposition_with_op("sum.default", "sum.dim_IntList", "mean.default", "mean.dim")
def by_parts(operation: Any, x: Any, *options: Any, dtype: Any = None, **more: Any) -> Any:
    """Apply a linear operation to the real and imaginary parts; torch-mlir crashes on it.

    Sum bytes in the result's type, which torch-mlir's linalg extends as signed numbers. Operations
    with another real result are left unchanged.
    """
    kind = x.dtype if dtype is None else dtype
    if x.dtype == torch.uint8 and kind != torch.bool:
        kind = torch.int64 if dtype is None else dtype
        return operation(x.to(kind), *options, dtype=kind, **more)
    require(kind.is_complex)
    x = as_complex(x, kind)
    return complex_of(*(operation(part, *options, **more) for part in (x.real, x.imag)))


@decomposition("constant_pad_nd.default")
def pad(x: Any, pads: Any, value: Any = 0) -> Any:
    require(x.is_complex())
    operation, filled = torch.ops.aten.constant_pad_nd.default, complex(value)
    real = operation(x.real, pads, filled.real)
    return complex_of(real, operation(x.imag, pads, filled.imag))


@decomposition("where.self")
def where(condition: Any, x: Any, y: Any) -> Any:
    dtype = torch.promote_types(x.dtype, y.dtype)
    require(dtype.is_complex)
    x, y = as_complex(x, dtype), as_complex(y, dtype)
    real = torch.where(condition, x.real, y.real)
    return complex_of(real, torch.where(condition, x.imag, y.imag))


@decomposition("masked_fill.Scalar")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    require(x.is_complex() or x.dtype == torch.bool)
    return torch.where(mask, torch.full((), value, dtype=x.dtype), x)


@decomposition("full.default")
def full(size: Any, value: Any, *, dtype: Any = None, **options: Any) -> Any:
    """Build constants of complex numbers and bytes, which torch-mlir does not support.

    It takes the last bit of a number for a boolean.
    """
    if dtype is None:
        dtype = torch.get_default_dtype()
        dtype = dtype.to_complex() if isinstance(value, complex) else dtype
    if dtype == torch.uint8 and is_static(size):
        number: Any = value
        body = f"%r = stablehlo.constant dense<{int(number) % 256}> : {{r}}"
        return emit_inline_mlir(body, size, dtype, torch.zeros(()))
    if dtype == torch.bool and not isinstance(value, bool):
        return torch.full(size, value != 0, dtype=dtype)
    require(dtype.is_complex)
    parts, kind = complex(value), dtype.to_real()
    real = torch.full(size, parts.real, dtype=kind)
    return complex_of(real, torch.full(size, parts.imag, dtype=kind))


@decomposition("scalar_tensor.default")
def scalar_tensor(value: Any, *, dtype: Any = None, **options: Any) -> Any:
    require(isinstance(value, complex) or (dtype is not None and dtype.is_complex))
    return torch.full((), value, dtype=dtype)


def _like(name: str, value: int) -> None:
    @decomposition(f"{name}.default")
    def make(x: Any, *, dtype: Any = None, **options: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        kind = x.dtype if dtype is None else dtype
        require(kind == torch.uint8 or kind.is_complex)
        return torch.full(x.shape, value, dtype=kind)


_like("ones_like", 1)
_like("zeros_like", 0)


def compared(name: str, x: Any, y: Any) -> Any:
    """Return whether complex numbers are equal (`eq`) or different (other names)."""
    dtype = torch.result_type(x, y)
    x, y = as_complex(x, dtype), as_complex(y, dtype)
    same = (x.real == y.real) & (x.imag == y.imag)
    return same if name == "eq" else ~same


_FUNCTIONS = {
    "exp": "exponential",
    "log": "log",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tan",
    "tanh": "tanh",
    "expm1": "exponential_minus_one",
    "log1p": "log_plus_one",
    "neg": "negate",
}
_OF_CHLO = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh")


def _complex_function(name: str, operation: str, form: str = "{r}") -> None:
    @decomposition(f"{name}.default")
    def rule(x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        require(x.is_complex())
        return emit_elementwise(f"%r = {operation} %a0 : {form}", x)


for _name, _operation in _FUNCTIONS.items():
    _complex_function(_name, f"stablehlo.{_operation}")
for _name in _OF_CHLO:
    _complex_function(_name, f"chlo.{_name}", "{0} -> {r}")


@decomposition("reciprocal.default")
def reciprocal(x: Any) -> Any:
    """Divide: torch-mlir's own program fails on zeros at run time."""
    x = x if x.is_complex() else as_real(x)
    return torch.ones_like(x) / x


@decomposition("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(x: Any, y: Any) -> Any:
    """Raise complex numbers, and integers, which torch-mlir refuses in linalg.

    Convert one integer operand, which it also refuses there, to the common float type.
    """
    dtype = torch.result_type(x, y)
    require(dtype != torch.bool)
    if dtype.is_floating_point:
        tensors = [each for each in (x, y) if isinstance(each, torch.Tensor)]
        require(any(each.dtype != dtype for each in tensors))
        return torch.pow(*(e.to(dtype) if isinstance(e, torch.Tensor) else e for e in (x, y)))
    if dtype.is_complex:
        x, y = torch.broadcast_tensors(as_complex(x, dtype), as_complex(y, dtype))
    else:
        x, y = broadcast(x, y)
    return emit_elementwise("%r = stablehlo.power %a0, %a1 : {r}", x, y)


@decomposition("sigmoid.default")
def sigmoid(x: Any) -> Any:
    require(x.is_complex())
    return torch.reciprocal(1 + torch.exp(-x))


@decomposition("silu.default")
def silu(x: Any) -> Any:
    if is_narrow(x):
        return in_f32(torch.nn.functional.silu, x)
    require(x.is_complex())
    return x * torch.sigmoid(x)


@decomposition("logaddexp.default")
def logaddexp(x: Any, y: Any) -> Any:
    """Order the operands by real part, so that exp does not overflow; torch-mlir crashes."""
    if torch.result_type(x, y).is_complex:
        first = x.real >= y.real
        most, least = torch.where(first, x, y), torch.where(first, y, x)
        return most + torch.log(1 + torch.exp(least - most))
    return _log_of_sum(x, y, lambda less: torch.log1p(torch.exp(less)))


@decomposition("logaddexp2.default")
def logaddexp2(x: Any, y: Any) -> Any:
    return _log_of_sum(x, y, lambda less: torch.log2(1 + torch.exp2(less)))


def _log_of_sum(x: Any, y: Any, more: Callable[[Any], Any]) -> Any:
    """Add to the larger number what `more` returns for the difference of the other one.

    The difference of equal infinities would be NaN.
    """
    most, least = torch.maximum(x, y), torch.minimum(x, y)
    same = torch.isinf(most) & (most == least)
    return torch.where(same, most, most + more(least - most))

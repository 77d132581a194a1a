"""Arithmetic and choices of elements that torch-mlir refuses, or takes for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .torch_carried import carry
from .torch_rules import decomposition


@decomposition("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(torch: Any, x: Any, y: Any) -> Any:
    """It has the sign of the divisor; torch-mlir's has that of the dividend."""
    dtype = torch.result_type(x, y)
    x, y = (
        each if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@decomposition("hypot.default")
def hypot(torch: Any, x: Any, y: Any) -> Any:
    """Scaled, so that squares are no larger than the result."""
    x, y = torch.broadcast_tensors(torch.abs(x), torch.abs(y))
    most, least = torch.maximum(x, y), torch.minimum(x, y)
    plain = (most == 0) | torch.isinf(most)
    ratio = least / torch.where(plain, 1.0, most)
    found = torch.where(plain, most, most * torch.sqrt(1 + ratio * ratio))
    # An infinite number wins over NaN.
    return torch.where(torch.isinf(x) | torch.isinf(y), torch.inf, found)


@decomposition("roll.default")
def roll(torch: Any, x: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Without dimensions, all elements one after the other."""
    if dims:
        return NotImplemented
    return torch.roll(x.reshape(-1), shifts, [0]).reshape(x.shape)


@decomposition("put.default")
def put(torch: Any, x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1)
    return torch.index_put(flat, [index.reshape(-1)], source.reshape(-1), accumulate).reshape(
        x.shape
    )


@decomposition("index_reduce.default")
def index_reduce(
    torch: Any, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Each row of the source, as `scatter_reduce` has one index for each of its elements."""
    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    index = index.reshape(shape).expand(source.shape)
    return torch.scatter_reduce(x, dim, index, source, reduce, include_self=include_self)


def _comparison(name: str) -> None:
    @decomposition(f"{name}.Scalar")
    def compare(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """torch-mlir folds comparisons of constant floats with whole numbers to anything."""
        if not x.dtype.is_floating_point or not isinstance(y, int):
            return NotImplemented
        return getattr(torch.ops.aten, name).Scalar(x, float(y))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name)


# Division ----------------------------------------------------------------------------------------


def _broadcast(torch: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of an operation, of one type and shape."""
    dtype = torch.result_type(x, y)
    x, y = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    return tuple(torch.broadcast_tensors(x, y))


@decomposition("fmod.Tensor", "fmod.Scalar")
def fmod(torch: Any, x: Any, y: Any) -> Any:
    """Exact; torch-mlir's is `x - trunc(x / y) * y`, wrong for large and infinite numbers."""
    x, y = _broadcast(torch, x, y)
    if not x.dtype.is_floating_point:
        return NotImplemented
    return carry(torch, "%r = stablehlo.remainder %a0, %a1 : {r}", x.shape, x.dtype, x, y)


@decomposition("floor_divide.default", "floor_divide.Scalar")
def floor_divide(torch: Any, x: Any, y: Any) -> Any:
    """As Python divides: what is left of the dividend counts, not what a quotient rounds to."""
    x, y = _broadcast(torch, x, y)
    if not x.dtype.is_floating_point:
        return NotImplemented
    rest = fmod(torch, x, y)
    quotient = (x - rest) / y
    quotient = torch.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    return torch.where(y == 0, x / y, whole)


@decomposition("div.Tensor_mode", "div.Scalar_mode")
def div_mode(torch: Any, x: Any, y: Any, *, rounding_mode: str | None) -> Any:
    return floor_divide(torch, x, y) if rounding_mode == "floor" else NotImplemented


# Extrema -----------------------------------------------------------------------------------------


@decomposition("clamp_max.Tensor")
def clamp_max(torch: Any, x: Any, most: Any) -> Any:
    """NaN wins on either side; torch-mlir does not spread the operands."""
    return torch.minimum(*_broadcast(torch, x, most))


@decomposition("clamp_min.Tensor")
def clamp_min(torch: Any, x: Any, least: Any) -> Any:
    return torch.maximum(*_broadcast(torch, x, least))


def _without_nan(name: str, extremum: str) -> None:
    @decomposition(f"{name}.default")
    def choose(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """A number wins over NaN; torch-mlir does not spread the operands."""
        x, y = _broadcast(torch, x, y)
        found = getattr(torch, extremum)(x, y)
        if not x.dtype.is_floating_point:
            return found
        return torch.where(torch.isnan(x), y, torch.where(torch.isnan(y), x, found))


_without_nan("fmax", "maximum")
_without_nan("fmin", "minimum")


# Bits --------------------------------------------------------------------------------------------


def _shift(name: str, operation: str) -> None:
    short = f"__{name[0]}shift__"
    long = f"bitwise_{name}_shift"

    @decomposition(f"{short}.Tensor", f"{short}.Scalar", f"{long}.Tensor", f"{long}.Tensor_Scalar")
    def shift(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """By more bits than there are, or by fewer than none: nothing is left but the sign."""
        x, y = _broadcast(torch, x, y)
        if not x.dtype.is_signed:
            return NotImplemented
        bits = torch.iinfo(x.dtype).bits
        body = f"%r = stablehlo.{operation} %a0, %a1 : {{r}}"
        most = torch.where((y < 0) | (y >= bits), bits - 1, y)
        found = carry(torch, body, x.shape, x.dtype, x, most)
        return torch.where(most == y, found, 0) if name == "left" else found


_shift("left", "shift_left")
_shift("right", "shift_right_arithmetic")


@decomposition("nextafter.default")
def nextafter(torch: Any, x: Any, y: Any) -> Any:
    x, y = _broadcast(torch, x, y)
    body = "%r = chlo.next_after %a0, %a1 : {0}, {1} -> {r}"
    return carry(torch, body, x.shape, x.dtype, x, y)


@decomposition("copysign.Scalar")
def copysign(torch: Any, x: Any, y: Any) -> Any:
    return torch.copysign(x, torch.full((), y, dtype=torch.result_type(x, float(y))))

"""Arithmetic and choices of elements that torch-mlir refuses, or takes for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

"""Types, sizes and indices of the tensors that rules take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def real_type(torch: Any, x: Any) -> Any:
    """Return the result type of functions of real numbers."""
    return x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()


def as_real(torch: Any, x: Any) -> Any:
    """Return an argument of functions of real numbers: integers become the default float type."""
    return x.to(real_type(torch, x))


def is_static(sizes: Iterable[Any]) -> bool:
    """Return whether all sizes are numbers; dynamic sizes are symbols."""
    return all(isinstance(size, int) for size in sizes)


def as_number(torch: Any, size: Any, dtype: Any) -> Any:
    """Return a size to calculate with: torch-mlir does not convert dynamic ones to floats."""
    return size if isinstance(size, int) else torch.scalar_tensor(size, dtype=dtype)


def non_negative(torch: Any, index: Any, size: Any) -> Any:
    """Return indices counted from the start of a dimension; negative ones count from its end."""
    return torch.where(index < 0, index + size, index)


def broadcast(torch: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands in their common type and shape."""
    dtype = torch.result_type(x, y)
    x, y = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    return tuple(torch.broadcast_tensors(x, y))

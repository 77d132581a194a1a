"""Types and shapes of the tensors that rules take."""

from __future__ import annotations

from typing import Any


def real_type(torch: Any, x: Any) -> Any:
    """Return the result type of functions of real numbers."""
    return x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()


def as_real(torch: Any, x: Any) -> Any:
    """Return an argument of functions of real numbers: integers become the default float type."""
    return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())


def has_static_shape(*tensors: Any) -> bool:
    """Return whether all sizes are numbers; the others are symbols of a trace."""
    return all(isinstance(size, int) for x in tensors for size in x.shape)

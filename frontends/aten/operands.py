"""Types of the tensors that rules take."""

from __future__ import annotations

from typing import Any


def real_type(torch: Any, x: Any) -> Any:
    """Return the result type of functions of real numbers."""
    return x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()


def as_real(torch: Any, x: Any) -> Any:
    """Return an argument of functions of real numbers: integers become the default float type."""
    return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())

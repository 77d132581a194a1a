"""Buffers that are one integer, as constants of the program.

Some modules keep strides and paddings in buffers, and compute sizes from them:

    frames = (length - self.kernel_size) // self.stride + 1    # buffers: 7 and 2
    return x[..., :int(frames)]

As arguments of the program these buffers have no values, and `torch.export` cannot trace the
module. As constants they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .tracing import TracingError


def integer_buffers(module: Any) -> dict[str, int]:
    """Return the integers and truth values among a module's buffers, by name."""
    return {
        name: value.item()
        for name, value in module.named_buffers()
        if not (value.dim() or value.is_floating_point() or value.is_complex())
    }


def constant_tensors(torch: Any, module: Any, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return tensors whose elements are known while a module is traced."""
    dtypes = {name: value.dtype for name, value in module.named_buffers() if name in numbers}
    return {name: torch.tensor(number, dtype=dtypes[name]) for name, number in numbers.items()}


def check_unwritten(tensors: Mapping[str, Any]) -> None:
    """Raise TracingError if a module wrote to one of its `constant_tensors` in place."""
    for name, value in tensors.items():
        if value._version:
            raise TracingError(
                f"buffer {name} is written in place, but Python reads a number from a buffer, for a"
                " size or as BatchNorm does with momentum=None: compute with tensors instead"
            )


def check_unchanged(weights: Mapping[str, Any], numbers: Mapping[str, int]) -> None:
    """Raise TypeError if a buffer is not the number that a module was compiled for."""
    for name, number in numbers.items():
        found = weights[name].item()
        if found != number:
            raise TypeError(f"buffer {name} is {found}, compiled for the constant {number}")

"""Convert between PyTorch tensors and arrays, without copies where possible."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...runtime.abi.arrays import ValueType

Array = npt.NDArray[Any]


def as_array(torch: Any, tensor: Any, kind: ValueType) -> Array:
    """Return the elements of a tensor as an array for an argument of this type."""
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.as_tensor(tensor)
    narrow = _narrow_float(tensor.dtype)
    if narrow is not None:
        bits = tensor.detach().contiguous().view(_bits(torch, tensor.dtype))
        return bits.numpy(force=True).view(narrow)
    array = tensor.numpy(force=True)
    if array.dtype == np.uint8 and kind.element == "i8":
        # Integers of linalg programs are signless: the operations determine the sign.
        return array.view(np.int8)
    return array


def as_tensor(torch: Any, array: Array, dtype: Any) -> Any:
    if dtype == torch.uint8:
        array = array.view(np.uint8)
    flags = array.flags
    if not flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    array = array if flags.writeable else array.copy()
    if _narrow_float(dtype) is not None:
        bits = _bits(torch, dtype)
        return torch.from_numpy(array.view(f"i{bits.itemsize}")).view(dtype)
    return torch.from_numpy(array)


@cache
def _narrow_float(dtype: Any) -> Any:
    """Return the type of `ml_dtypes` for floats that NumPy lacks, `None` for other elements."""
    return getattr(ml_dtypes, str(dtype).removeprefix("torch."), None)


def _bits(torch: Any, dtype: Any) -> Any:
    """Return the type of integers that are as wide as these floats."""
    return torch.int8 if dtype.itemsize == 1 else torch.int16

"""Convert between PyTorch tensors and arrays, without copies where possible."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...runtime.abi.arrays import ValueType

Array = npt.NDArray[Any]


def as_array(torch: Any, tensor: Any, kind: ValueType) -> Array:
    """Return the elements of a tensor as an array for an argument of this type."""
    tensor = torch.as_tensor(tensor).detach().cpu().contiguous()
    if tensor.dtype == torch.uint8 and kind.element == "i8":
        # Integers of linalg programs are signless: the operations determine the sign.
        tensor = tensor.view(torch.int8)
    narrow = _narrow_float(tensor.dtype)
    if narrow is not None:
        return tensor.view(_bits(torch, tensor.dtype)).numpy().view(narrow)
    return tensor.numpy()


def as_tensor(torch: Any, array: Array, dtype: Any) -> Any:
    if dtype == torch.uint8:
        array = array.view(np.uint8)
    array = np.ascontiguousarray(array).reshape(array.shape)
    array = array if array.flags.writeable else array.copy()
    if _narrow_float(dtype) is not None:
        bits = _bits(torch, dtype)
        return torch.from_numpy(array.view(f"i{bits.itemsize}")).view(dtype)
    return torch.from_numpy(array)


def _narrow_float(dtype: Any) -> Any:
    """Return the type of `ml_dtypes` for floats that NumPy lacks, `None` for other elements."""
    return getattr(ml_dtypes, str(dtype).removeprefix("torch."), None)


def _bits(torch: Any, dtype: Any) -> Any:
    """Return the type of integers that are as wide as these floats."""
    return torch.int8 if dtype.itemsize == 1 else torch.int16

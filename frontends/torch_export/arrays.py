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
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def as_tensor(torch: Any, array: Array, dtype: Any) -> Any:
    if dtype == torch.uint8:
        array = array.view(np.uint8)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array if array.flags.writeable else array.copy())

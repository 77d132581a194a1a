"""Tensors that stay on the devices of a grid between calls, as one shard per process."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Self

import numpy as np

from ...sharding.device_map import device_map, draw_html
from ...sharding.sharding import Sharding
from .arrays import Array, shape_text
from .shards import cut, joined


class DeviceArray:
    """A global tensor whose shards are on the devices of a grid, or on one device.

    Functions return it, or `put` creates it for an argument. A call that expects the same sharding
    uses the shards directly; for another sharding they are resharded. `numpy.asarray` gathers it.
    Shards must not be written to.
    """

    __slots__ = ("shape", "sharding", "shards", "value_type")

    def __init__(
        self,
        shards: Sequence[Array],
        shape: Sequence[int],
        value_type: object,
        sharding: Sharding | None,
    ) -> None:
        """`shape` and `value_type` are global; without a sharding there is one, whole shard."""
        self.shards = tuple(shards)
        self.shape = tuple(shape)
        self.value_type = value_type
        self.sharding = sharding

    @classmethod
    def put(cls, array: Array, value_type: object, sharding: Sharding | None) -> Self:
        """Copy an array to the devices. Raises ValueError if the sharding does not fit it."""
        shards = [array] if sharding is None else cls.scatter(array, value_type, sharding)
        # The caller may change the array later.
        copies = {id(shard): np.array(shard, order="C") for shard in shards}
        for copy in copies.values():
            copy.setflags(write=False)
        own = [copies[id(shard)] for shard in shards]
        return cls(own, array.shape, value_type, sharding)

    @staticmethod
    def scatter(array: Array, value_type: object, sharding: Sharding) -> Sequence[Array]:
        """Return the shards of a global array. Raises ValueError if the sharding does not fit."""
        return cut(array, sharding)

    def gather(self, sharding: Sharding) -> Array:
        """Return the global array. Raises ValueError if replicas of a shard differ."""
        return joined(self.shards, sharding, self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.shards[0].dtype

    @property
    def ndim(self) -> int:
        """The rank of the tensor."""
        return len(self.shape)

    def shards_by(self, sharding: Sharding) -> Sequence[Array]:
        """Return the shards of a sharding, resharding the tensor if the sharding is another one.

        Raises ValueError if the sharding does not fit, or if replicas of a shard differ.
        """
        if sharding == self.sharding:
            return self.shards
        return self.scatter(np.asarray(self), self.value_type, sharding)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Gather the global tensor.

        Raises ValueError if replicas of a shard differ, or if `copy` is False and there are several
        shards.
        """
        if self.sharding is None:
            found = self.shards[0]
        elif copy is False:
            raise ValueError("the shards of a DeviceArray become one array only by a copy")
        else:
            found = self.gather(self.sharding)
        return np.array(found, dtype, copy=copy if self.sharding is None else None)

    def __dlpack__(self, **options: Any) -> Any:
        """Export the global tensor to other packages by NumPy's DLPack."""
        return np.array(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device of the exported tensor: host memory."""
        return (1, 0)

    def _repr_html_(self) -> str:
        """Return a map of the devices for notebooks."""
        picture = None if self.sharding is None else device_map(self.shape, self.sharding)
        text = f"<code>{escape(repr(self))}</code>"
        return text if picture is None else f"{text}{draw_html(picture)}"

    def __repr__(self) -> str:
        where = "on one device" if self.sharding is None else f"by {self.sharding}"
        return f"DeviceArray({shape_text(self.shape)} of {self.dtype}, {where})"

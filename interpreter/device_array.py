"""Tensors on the devices of a grid whose shards may have halos, or be terms of a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute

from ..runtime.abi import device_array
from ..runtime.abi.arrays import Array
from ..sharding.sharding import Sharding
from .scatter_gather import gather, scatter


class IrDeviceArray(device_array.DeviceArray):
    """A device array of any sharding, whose `value_type` is an attribute of the IR."""

    __slots__ = ()

    @staticmethod
    def scatter(array: Array, value_type: object, sharding: Sharding) -> Sequence[Array]:
        return scatter(array, sharding, cast("Attribute", value_type))

    def gather(self, sharding: Sharding) -> Array:
        return gather(self.shards, sharding, self.shape, cast("Attribute", self.value_type))

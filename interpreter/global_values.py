"""Global arguments and results of partitioned functions, scattered to devices and gathered back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import cast

from xdsl.ir import Attribute, Operation

from ..dialects.shard.boundary import Boundary
from ..ir.diagnostics import OperationError
from ..runtime.abi.arguments import InputError, InputTypes
from ..runtime.abi.arrays import Array, ValueType
from ..runtime.abi.device_array import DeviceArray
from ..runtime.abi.shards import MAX_DEVICES
from ..runtime.abi.values import holds_numbers, plain_type, static_shape
from ..sharding.grid import Grid
from ..sharding.sharding import Sharding
from .function_signatures import argument_types, result_types
from .scatter_gather import gather, scatter, whole_shape


class IrDeviceArray(DeviceArray):
    """A device array of any sharding, also with halos or pending reductions.

    Its `value_type` is an attribute of the IR.
    """

    __slots__ = ()

    @staticmethod
    def scatter(array: Array, value_type: object, sharding: Sharding) -> Sequence[Array]:
        return scatter(array, sharding, cast("Attribute", value_type))

    def gather(self, sharding: Sharding) -> Array:
        return gather(self.shards, sharding, self.shape, cast("Attribute", self.value_type))


def plain_types(types: Sequence[Attribute]) -> list[ValueType]:
    """Convert attributes of the IR to types that are independent of it."""
    return [plain_type(each) for each in types]


def global_types(types: Sequence[Attribute], shards: Sequence[Boundary | None]) -> list[Attribute]:
    """Return the types before partitioning: the boundary's global type where there is one."""
    return [
        value_type if boundary is None else boundary.global_type
        for value_type, boundary in zip(types, shards, strict=True)
    ]


class GlobalValues:
    """The global arguments and results of a function on a grid.

    Types and shardings are computed once for all calls. All methods raise OperationError at the
    function if a boundary does not fit.
    """

    def __init__(
        self,
        function: Operation,
        arguments: Sequence[Boundary | None],
        results: Sequence[Boundary | None],
        grid: Grid,
    ) -> None:
        """Prepare for the boundaries of `arguments` and `results`, `None` for replicated ones.

        Raises InputError if the grid has dynamic extents or more than `MAX_DEVICES` devices.
        """
        if not grid.is_static:
            raise InputError(
                f"grid @{grid.name} has dynamic extents: give them, as compile(..., grid=(2, 4)) or"
                " --grid-shape=2x4"
            )
        self._count = grid.device_count()
        if self._count > MAX_DEVICES:
            raise InputError(
                f"grid @{grid.name} has {self._count} devices; at most {MAX_DEVICES} run on one"
                " machine"
            )
        self._function = function
        self._grid = grid
        self._taken = global_types(argument_types(function), arguments)
        self._given = global_types(result_types(function), results)
        self._shapes = [static_shape(each) for each in self._given]
        self._are_numbers = [holds_numbers(each) for each in self._given]
        self._inputs = InputTypes(plain_types(self._taken))
        # The sharding of each argument and result by its rank.
        sharding = partial(boundary_sharding, function, grid)
        self._arguments = [cache(partial(sharding, each)) for each in arguments]
        self._results = [cache(partial(sharding, each)) for each in results]

    def scattered(self, inputs: Sequence[Array | DeviceArray]) -> list[list[Array]]:
        """Scatter global inputs to the local inputs of every device. Raises InputError."""
        local: list[list[Array]] = [[] for _ in range(self._count)]
        whole = self._inputs.checked_for_devices(inputs)
        for index, (array, sharding_of) in enumerate(zip(whole, self._arguments, strict=True)):
            sharding = sharding_of(array.ndim)
            try:
                if isinstance(array, DeviceArray):
                    parts = array.shards_by(sharding)
                else:
                    parts = scatter(array, sharding, self._taken[index])
            except ValueError as error:
                raise OperationError(self._function, f"argument #{index}: {error}") from error
            for own, part in zip(local, parts, strict=True):
                own.append(part)
        return local

    def gathered(self, outputs: Sequence[Sequence[Array]]) -> list[Array]:
        """Gather the results of all devices. Raises OperationError if replicas differ."""
        results: list[Array] = []
        for index, (sharding_of, value_type) in enumerate(
            zip(self._results, self._given, strict=True)
        ):
            parts = [local[index] for local in outputs]
            if not self._are_numbers[index]:
                results.append(parts[0])
                continue
            shape = self._shapes[index]
            if shape is None:
                shape = parts[0].shape
            try:
                results.append(gather(parts, sharding_of(len(shape)), shape, value_type))
            except ValueError as error:
                raise OperationError(self._function, f"result #{index}: {error}") from error
        return results

    def placed(self, outputs: Sequence[Sequence[Array]]) -> list[DeviceArray]:
        """Return the results of all devices as global tensors that stay on the devices."""
        found: list[DeviceArray] = []
        for index, (sharding_of, value_type) in enumerate(
            zip(self._results, self._given, strict=True)
        ):
            parts = [local[index] for local in outputs]
            sharding = sharding_of(parts[0].ndim)
            shape = whole_shape(parts, sharding, self._shapes[index] or ())
            found.append(IrDeviceArray(parts, shape, value_type, sharding))
        return found


def boundary_sharding(
    function: Operation, grid: Grid, boundary: Boundary | None, rank: int
) -> Sharding:
    """Return the sharding of an argument or result on the running grid.

    A value without a boundary is replicated. Raises OperationError if the boundary's grid does not
    fit.
    """
    if boundary is None:
        return Sharding.replicated(grid, rank)
    declared = boundary.sharding.grid
    fits = declared.fits(grid.shape)
    if not fits and declared.is_static and declared.device_count() == grid.device_count():
        # Another grid over the same devices, which have the same linear indices there.
        return boundary.sharding
    if not fits:
        raise OperationError(
            function, f"has a boundary on @{declared.name}, but runs on @{grid.name} {grid.shape}"
        )
    return replace(boundary.sharding, grid=grid)

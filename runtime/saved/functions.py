"""Functions of saved programs: their types, and the shardings of arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...sharding.grid import Grid
from ...sharding.sharding import Sharding
from ..abi.arguments import InputTypes
from ..abi.arrays import Array, FunctionTypes, ValueType
from ..abi.device_array import DeviceArray
from ..abi.shards import cut, joined, whole_shape
from ..host.entry import EntryPoint


class SavedFunction:
    """A function of a saved program.

    - `needs_compiler_reason`: the reason that it needs the compiler, `None` if it has host code;
    - `rounding`: for each result, the least precise float type that computes it;
    - `argument_names`: the names of the arguments in the program before all passes.
    """

    def __init__(
        self,
        name: str,
        types: FunctionTypes,
        grid: Grid | None,
        arguments: Sequence[Sharding | None],
        results: Sequence[Sharding | None],
        entries: Sequence[EntryPoint],
        needs_compiler_reason: str | None,
        rounding: Sequence[np.dtype[Any] | None],
        argument_names: Sequence[str],
    ) -> None:
        self.name = name
        self.argument_names = argument_names
        self.types = types
        self.grid = grid
        self.inputs = InputTypes(types.arguments)
        self.entries = entries
        self.needs_compiler_reason = needs_compiler_reason
        self.rounding = rounding
        self._arguments = arguments
        self._results = results

    def entry(self, process: int) -> EntryPoint:
        """Return the entry that a process runs."""
        return self.entries[process % len(self.entries)]

    def boundary_sharding(self, side: int, index: int, grid: Grid, tensor_rank: int) -> Sharding:
        """Return the sharding of an argument (side 0) or a result (side 1) on a grid."""
        return _placed((self._arguments, self._results)[side][index], grid, tensor_rank)

    def _shards_of_results(
        self, outputs: Sequence[Sequence[Array]]
    ) -> Iterator[tuple[list[Array], Sharding | None, ValueType]]:
        """Yield for each result its shards by device, its sharding, and its type."""
        shards = map(list, zip(*outputs, strict=True))
        return zip(shards, self._results, self.types.results, strict=True)

    def scattered(self, inputs: Sequence[Any], grid: Grid) -> list[list[Array]]:
        """Return the shards of global inputs, by device."""
        local: list[list[Array]] = [[] for _ in range(grid.device_count())]
        for array, sharding in zip(inputs, self._arguments, strict=True):
            place = _placed(sharding, grid, array.ndim)
            is_placed = isinstance(array, DeviceArray)
            parts = array.shards_by(place) if is_placed else cut(array, place)
            for device, part in enumerate(parts):
                local[device].append(part)
        return local

    def gathered(self, outputs: Sequence[Sequence[Array]], grid: Grid) -> list[Array]:
        """Return the global results of all devices' outputs.

        Raises ValueError if replicas differ.
        """
        found: list[Array] = []
        for parts, sharding, kind in self._shards_of_results(outputs):
            shape = parts[0].shape if kind.shape is None else kind.shape
            found.append(joined(parts, _placed(sharding, grid, len(shape)), shape))
        return found

    def placed(self, outputs: Sequence[Sequence[Array]], grid: Grid) -> list[DeviceArray]:
        """Return the outputs of all devices as DeviceArrays."""
        found: list[DeviceArray] = []
        for parts, sharding, kind in self._shards_of_results(outputs):
            place = _placed(sharding, grid, parts[0].ndim)
            shape = whole_shape(parts, place, kind.shape or ())
            found.append(DeviceArray(parts, shape, kind, place))
        return found


def _placed(sharding: Sharding | None, grid: Grid, rank: int) -> Sharding:
    return Sharding.replicated(grid, rank) if sharding is None else sharding

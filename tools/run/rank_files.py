"""Files of single MPI ranks on the command line of `mesh-run`: `--input=@x.{rank}.npy`.

Such a file holds one device's shard of an argument or a result. A rank with several devices has one
file per device, and the number in a file's name is the number of the device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...ir.usage_error import UsageError
from ...runtime.abi.arrays import Array, ValueType, shape_text
from ...runtime.abi.shards import all_intervals, slices
from ...runtime.mpi.rank_calls import join_ranks
from ...sharding.sharding import Sharding
from .inputs import read_inputs
from .options import RANK, RunOptions
from .results import write_array

if TYPE_CHECKING:
    from .results import AnyFunction


def read_rank_inputs(options: RunOptions, function: AnyFunction) -> list[Array]:
    """Return a rank's inputs as global arrays in which only the shards of its devices are set.

    Raises UsageError.
    """
    types = function.types.arguments
    wholes: dict[int, Array] = {}
    arrays: list[Array] = []
    for device in _devices(options):
        parts: dict[int, tuple[slice, ...]] = {}
        own = list(types)
        for position, text in enumerate(options.input):
            if RANK in text and position < len(types):
                parts[position] = _part_of_argument(function, position, text, device)
                own[position] = _type_of_part(types[position], parts[position])
        arrays = read_inputs([text.replace(RANK, str(device)) for text in options.input], own)
        for position, part in parts.items():
            if position not in wholes:
                # The operating system allocates no memory for pages that are never written.
                shape = types[position].shape or ()
                wholes[position] = np.zeros(shape, arrays[position].dtype)
            wholes[position][part] = arrays[position]
    return [wholes.get(position, array) for position, array in enumerate(arrays)]


def write_rank_results(
    options: RunOptions, function: AnyFunction, results: Sequence[Array]
) -> None:
    """Write the shards of the results on this rank's devices to their files.

    Raises UsageError.
    """
    for position, (text, array) in enumerate(zip(options.output, results, strict=False)):
        for device in _devices(options) if RANK in text else ():
            sharding = function.result_sharding(position, array.ndim)
            part = array[_part(sharding, array.shape, device)]
            write_array(text[1:].replace(RANK, str(device)), part, append=text.startswith("+"))


def _devices(options: RunOptions) -> range:
    """Return the numbers of this rank's devices."""
    count = options.devices_per_rank
    first = join_ranks().process * count
    return range(first, first + count)


def _part_of_argument(
    function: AnyFunction, position: int, text: str, device: int
) -> tuple[slice, ...]:
    kind = function.types.arguments[position]
    if not text.endswith(".npy") or kind.shape is None or min(kind.shape, default=0) < 0:
        raise UsageError(
            f"--input={text} needs an .npy file and an argument of static shape, found {kind}"
        )
    sharding = function.argument_sharding(position, len(kind.shape))
    return _part(sharding, kind.shape, device)


def _part(sharding: Sharding | None, shape: tuple[int, ...], device: int) -> tuple[slice, ...]:
    if sharding is None:
        return tuple(slice(0, size) for size in shape)
    if device >= sharding.grid.device_count():
        # The run itself reports that there are too many ranks.
        device = 0
    return slices(all_intervals(shape, sharding)[device])


def _type_of_part(whole: ValueType, part: tuple[slice, ...]) -> ValueType:
    shape = tuple(each.stop - each.start for each in part)
    text = f"{shape_text(shape)}x{whole.element}"
    return dataclasses.replace(whole, text=f"tensor<{text}>", shape=shape)

"""Files of single MPI ranks on the command line of `mesh-run`: `--input=@x.{rank}.npy`.

Such a file holds the part of an argument or a result that lies on the rank's device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..ir.usage_error import UsageError
from ..runtime.abi.arrays import Array, shape_text
from ..runtime.abi.shards import all_intervals, slices
from ..runtime.abi.value_types import ValueType
from ..sharding.sharding import Sharding
from .run_files import read_inputs
from .run_options import RANK, RunOptions
from .run_results import write_array

if TYPE_CHECKING:
    from ..api import Function
    from ..saved_programs import LoadedFunction

    AnyFunction = Function | LoadedFunction


def read_rank_inputs(options: RunOptions, function: AnyFunction, rank: int) -> list[Array]:
    """The inputs of a rank as whole arrays, of which its own parts are set. Raises UsageError."""
    types = list(function.types.arguments)
    parts: dict[int, tuple[slice, ...]] = {}
    for position, text in enumerate(options.input):
        if RANK not in text or position >= len(types):
            continue
        shape = types[position].shape
        if not text.endswith(".npy") or shape is None or min(shape, default=0) < 0:
            raise UsageError(
                f"--input={text} needs an .npy file and an argument of known sizes, which is"
                f" {types[position]}"
            )
        parts[position] = _part(function.argument_sharding(position, len(shape)), shape, rank)
        types[position] = _type_of_part(types[position], parts[position])
    arrays = read_inputs([text.replace(RANK, str(rank)) for text in options.input], types)
    for position, part in parts.items():
        # Memory that nobody writes to is not taken from the system.
        whole = np.zeros(function.types.arguments[position].shape or (), arrays[position].dtype)
        whole[part] = arrays[position]
        arrays[position] = whole
    return arrays


def write_rank_results(
    options: RunOptions, function: AnyFunction, results: Sequence[Array], rank: int
) -> None:
    """Write a rank's parts of results to the files that name the rank. Raises UsageError."""
    for position, (text, array) in enumerate(zip(options.output, results, strict=False)):
        if RANK in text:
            sharding = function.result_sharding(position, array.ndim)
            part = array[_part(sharding, array.shape, rank)]
            write_array(text[1:].replace(RANK, str(rank)), part, append=text.startswith("+"))


def _part(sharding: Sharding | None, shape: tuple[int, ...], rank: int) -> tuple[slice, ...]:
    if sharding is None:
        return tuple(slice(0, size) for size in shape)
    if rank >= sharding.grid.device_count():
        # The run says that there are too many ranks.
        rank = 0
    return slices(all_intervals(shape, sharding)[rank])


def _type_of_part(whole: ValueType, part: tuple[slice, ...]) -> ValueType:
    shape = tuple(each.stop - each.start for each in part)
    text = f"{shape_text(shape)}x{whole.element}"
    return dataclasses.replace(whole, text=f"tensor<{text}>", shape=shape)

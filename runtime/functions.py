"""Base classes of programs and their functions as Python callers see them.

Freshly compiled programs and programs loaded from files share them; subclasses define how a
function runs.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ..sharding.grid import Grid, extents_text
from ..sharding.sharding import Sharding
from .abi.arguments import InputError, InputTypes
from .abi.arrays import Array, FunctionTypes
from .abi.device_array import DeviceArray
from .checkpoints import Checkpoints
from .stepping import run_repeatedly


class CallableFunction(ABC):
    """A function of a program, called with global NumPy arrays."""

    def __init__(
        self, name: str, types: FunctionTypes, inputs: InputTypes, grid: Grid | None
    ) -> None:
        """Keep the types; `inputs` checks arguments and is computed once for all calls."""
        self.name = name
        self.types = types
        """The types of global arguments and results, without IR."""
        self.grid = grid
        self._inputs = inputs

    def __call__(
        self, *inputs: npt.ArrayLike | DeviceArray, **named: npt.ArrayLike | DeviceArray
    ) -> Any:
        """Run the function; return an array, a tuple of arrays for several results, or `None`.

        Arrays must have the arguments' element types and shapes. Python numbers and lists are
        converted, and arrays of other packages are used without a copy (DLPack). Arguments may be
        passed by their names in the program. Raises InputError, ExecutionError.
        """
        results = self.run(self._in_order(inputs, named) if named else inputs)
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    @property
    @abstractmethod
    def argument_names(self) -> list[str]:
        """Return the argument names of the program as it was read: `x` for `%x`."""

    def __repr__(self) -> str:
        """Return the name, the types and the grid."""
        named = zip(self.argument_names, self.types.arguments, strict=False)
        arguments = ", ".join(f"{name}: {kind}" for name, kind in named)
        results = ", ".join(map(str, self.types.results)) or "nothing"
        grid = self.grid
        where = ""
        if grid is not None:
            extents = extents_text(grid.shape)
            where = f" on grid @{grid.name} of {extents} devices"
        return f"<{type(self).__name__} @{self.name}({arguments}) -> {results}{where}>"

    def _in_order(
        self,
        inputs: Sequence[npt.ArrayLike | DeviceArray],
        named: Mapping[str, npt.ArrayLike | DeviceArray],
    ) -> list[npt.ArrayLike | DeviceArray]:
        """Return the inputs in argument order, positional ones first. Raises InputError."""
        names = self.argument_names
        for name in named:
            if name not in names:
                listing = ", ".join(names) or "none"
                raise InputError(f"@{self.name} has no argument '{name}', but {listing}")
            if name in names[: len(inputs)]:
                raise InputError(f"@{self.name} is given argument '{name}' twice")
        missing = [name for name in names[len(inputs) :] if name not in named]
        if missing:
            raise InputError(f"@{self.name} is not given {', '.join(missing)}")
        return [*inputs, *(named[name] for name in names[len(inputs) :])]

    @abstractmethod
    def run(self, inputs: Sequence[npt.ArrayLike | DeviceArray]) -> list[Array]:
        """Run the function and return all results."""

    @abstractmethod
    def run_on_devices(self, *inputs: npt.ArrayLike | DeviceArray) -> list[DeviceArray]:
        """Run the function and leave all results on the devices that compute them."""

    @abstractmethod
    def place(self, argument: int, array: Any) -> DeviceArray:
        """Scatter an array-like that supports `shape` and slicing, such as a file, for an argument.

        Each device reads its own shard only.
        """

    @abstractmethod
    def _boundary_sharding(self, side: int, index: int, grid: Grid, tensor_rank: int) -> Sharding:
        """Return the sharding of an argument (side 0) or a result (side 1) on a grid."""

    def argument_sharding(self, argument: int, tensor_rank: int) -> Sharding | None:
        """Return the sharding of an argument; `None` for a function on one device."""
        grid = self.grid
        return None if grid is None else self._boundary_sharding(0, argument, grid, tensor_rank)

    def result_sharding(self, result: int, tensor_rank: int) -> Sharding | None:
        """Return the sharding of a result; `None` for a function on one device."""
        grid = self.grid
        return None if grid is None else self._boundary_sharding(1, result, grid, tensor_rank)

    @abstractmethod
    def rounding(self) -> list[np.dtype[Any] | None]:
        """Return the least precise float type that computes each result; `None` if it has none."""

    def put(self, value: npt.ArrayLike, argument: int | str) -> DeviceArray:
        """Scatter an array to the devices for an argument, so that calls need not do it.

        `argument` is the number or the name of the argument. Raises InputError for an array that
        the argument does not accept.
        """
        if isinstance(argument, str):
            names = self.argument_names
            if argument not in names:
                raise InputError(f"@{self.name} has no argument '{argument}'")
            argument = names.index(argument)
        self._inputs.check_number(self.name, argument)
        return self.place(argument, self._inputs.array(argument, value))

    def run_steps(
        self,
        inputs: Sequence[npt.ArrayLike | DeviceArray],
        steps: int,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 1,
    ) -> list[DeviceArray]:
        """Run a function `steps` times, feeding the state in its results back to its arguments.

        See `runtime/stepping.py`. Every `every` steps the state is written to the folder
        `checkpoint`; a run resumes from a state that it finds there. Raises the errors of `run`,
        OSError and CheckpointError.
        """
        checkpoints = None if checkpoint is None else Checkpoints(checkpoint)
        call = self.run_on_devices
        return run_repeatedly(self, lambda own: call(*own), inputs, steps, checkpoints, every)

    def arrays(self, inputs: Sequence[npt.ArrayLike | DeviceArray]) -> Sequence[Any]:
        """Return the inputs as checked arrays; device arrays pass unchanged. Raises InputError."""
        return self._inputs.arrays(self.name, inputs)


AFunction = TypeVar("AFunction")


class FunctionsByName(ABC, Generic[AFunction]):
    """Base of programs: `program["main"]` and `program.main` are their functions."""

    @property
    @abstractmethod
    def functions(self) -> list[str]:
        """Return the names of the public functions."""

    @abstractmethod
    def __getitem__(self, name: str) -> AFunction:
        """Return a function by name. Raises KeyError if there is none."""

    def __getattr__(self, name: str) -> AFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as problem:
            raise AttributeError(problem.args[0]) from problem

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

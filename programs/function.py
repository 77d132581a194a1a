"""Functions of compiled programs: their signatures and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation

from ..dialects.shard.boundary import Boundary
from ..interpreter import global_values
from ..interpreter import run as interpreter
from ..interpreter.frames import Program as _Symbols
from ..interpreter.global_values import IrDeviceArray
from ..interpreter.rounding import roughest_types
from ..ir.diagnostics import OperationError
from ..ir.text.print_style import argument_names
from ..runtime.abi.arguments import InputTypes
from ..runtime.abi.arrays import Array, FunctionTypes
from ..runtime.abi.compare import Difference, compare
from ..runtime.abi.device_array import DeviceArray
from ..runtime.functions import CallableFunction
from ..sharding.grid import Grid
from ..sharding.sharding import Sharding
from .runnable import RunnableModule

if TYPE_CHECKING:
    from ..passes.sharding.cost.program_cost import Cost
    from ..sharding.machine import Machine


@dataclass(frozen=True, slots=True)
class Signature:
    """What is computed once per function: its operation, its grid and its global types."""

    operation: Operation
    grid: Grid | None
    arguments: list[Attribute]
    results: list[Attribute]
    inputs: InputTypes
    types: FunctionTypes
    boundaries: tuple[Sequence[Boundary | None], Sequence[Boundary | None]]
    """Those of the arguments and those of the results."""


def signature_of(program: RunnableModule, name: str) -> Signature:
    """Compute the signature of a function.

    Raises InputError if there is no such function with a body, and ExecutionError if a
    `shard.boundary` of its arguments or results is invalid.
    """
    operation = interpreter.find_function(_Symbols(program.module), name)
    with program.located():
        arguments, results = interpreter.boundaries(operation)
        grid = program.grid or interpreter.grid_of(program.module, operation)
    taken = global_values.global_types(interpreter.argument_types(operation), arguments)
    given = global_values.global_types(interpreter.result_types(operation), results)
    plain = (tuple(global_values.plain_types(each)) for each in (taken, given))
    types = FunctionTypes(*plain)
    inputs = InputTypes(types.arguments)
    return Signature(operation, grid, taken, given, inputs, types, (arguments, results))


class Function(CallableFunction):
    """A function of a compiled program, called with global NumPy arrays.

    It keeps its program alive, as a bound method keeps its object.
    """

    def __init__(self, program: RunnableModule, name: str, signature: Signature) -> None:
        super().__init__(name, signature.types, signature.inputs, signature.grid)
        self.program = program
        self._signature = signature

    @property
    def operation(self) -> Operation:
        """The function in the program's module."""
        return self._signature.operation

    @property
    def argument_types(self) -> list[Attribute]:
        """The global types of the arguments."""
        return self._signature.arguments

    @property
    def result_types(self) -> list[Attribute]:
        """The global types of the results."""
        return self._signature.results

    @property
    def argument_names(self) -> list[str]:
        """Return the argument names of the program as it was read: `x` for `%x`."""
        function = interpreter.find_function(_Symbols(self.program.source), self.name)
        return argument_names(function)

    def run(
        self, inputs: Sequence[npt.ArrayLike | DeviceArray], backend: str | None = None
    ) -> list[Array]:
        """Run the function with a backend (the program's by default) and return all results.

        Raises InputError for inputs of a wrong number or type, ExecutionError at the operation that
        fails on them, ValueError for an unknown backend.
        """
        program = self.program
        try:
            if backend is None and self.grid is None:
                direct = program.direct_calls.get(self.name)
                if direct is not None and (results := direct(inputs)) is not None:
                    return results
            run = program.backend(backend)
            return run(program, self.name, self.arrays(inputs))
        except OperationError as problem:
            raise program.located_error(problem) from problem

    def compile(self) -> None:
        """Compile the function's native code for the devices of this process before its first call.

        Raises ExecutionError at an operation without native code if the program requires native
        code.
        """
        with self.program.located():
            self.program.native().compile(self.name, self.program.grid)

    def place(self, argument: int, array: Any) -> DeviceArray:
        """Scatter an array-like that supports `shape` and slicing, such as a file, for an argument.

        Each device reads its own shard only.
        """
        sharding = self.argument_sharding(argument, len(array.shape))
        return IrDeviceArray.put(array, self.argument_types[argument], sharding)

    def _boundary_sharding(self, side: int, index: int, grid: Grid, tensor_rank: int) -> Sharding:
        """Return the sharding of an argument (side 0) or a result (side 1) on a grid.

        Raises ExecutionError if its `shard.boundary` does not fit.
        """
        boundary = self._signature.boundaries[side][index]
        with self.program.located():
            return global_values.boundary_sharding(self.operation, grid, boundary, tensor_rank)

    def run_on_devices(self, *inputs: npt.ArrayLike | DeviceArray) -> list[DeviceArray]:
        """Run the function as native code and leave all results on the devices that compute them.

        The results can be passed to other calls. Raises the same errors as `run`.
        """
        arrays = self.arrays(inputs)
        with self.program.located():
            native = self.program.native()
            return native.run_on_devices(self.name, arrays, self.program.grid)

    def reference(self, inputs: Sequence[npt.ArrayLike]) -> list[Array]:
        """Run the program as it was before all passes in the interpreter and return its results.

        Raises InputError, ExecutionError.
        """
        arrays = self.arrays(inputs)
        with self.program.located():
            return interpreter.run_partitioned(
                self.program.source, self.name, arrays, self.program.grid
            )

    def check(self, *inputs: npt.ArrayLike, backend: str | None = None) -> list[Difference]:
        """Compare each result with that of the program before all passes.

        Raises the same errors as `run`, and ValueError if a result has another shape or element
        type, or if there are more or fewer results.
        """
        expected = self.reference(inputs)
        results = self.run(inputs, backend)
        if len(results) != len(expected):
            raise ValueError(f"has {len(results)} results, expected {len(expected)}")
        return [
            compare(actual, wanted, through=through)
            for actual, wanted, through in zip(results, expected, self.rounding(), strict=True)
        ]

    def cost(self, machine: Machine | None = None) -> Cost:
        """Return the cost of one call per device: bytes, operations, memory, and time on a machine.

        `mesh_opt.sharding.machine_presets` has machines; `mesh_opt.ir.machine_files.read_machine`
        reads them from files. Raises MachineError if the machine has fewer devices than the grid.
        """
        from ..passes.sharding.cost.cost_report import module_costs

        return module_costs(self.program.module, machine)[self.name]

    def rounding(self) -> list[np.dtype[Any] | None]:
        """Return the least precise float type that computes each result; `None` if it has none.

        The program before all passes decides. The type determines the tolerance of comparisons.
        """
        symbols = _Symbols(self.program.source)
        return roughest_types(symbols, interpreter.find_function(symbols, self.name))

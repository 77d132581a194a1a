"""From a function of a module to a program of host code, and calls of it with arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...interpreter.entry_points import argument_types, result_types
from ...interpreter.machine import Program
from ...interpreter.run import functions, grid_of, public_functions
from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...runtime.commands import DeviceMemory, Statistics
from ...runtime.host.machine import Machine, MachineError
from ...runtime.host.pool import (
    ALLOCATED,
    DISPATCHES,
    INPUTS,
    MOST,
    RECEIVED,
    RESULTS,
    view,
)
from ...runtime.host.printer import print_program
from ...runtime.host.program import HostFunction, LinkedProgram
from ...sharding.grid import Grid
from . import resources
from .function_lowering import FunctionLowering
from .program_lowering import ProgramLowering
from .rules import load_rules
from .values import element_dtype, register_count, scalar_of, type_shape, word_of

Array = npt.NDArray[Any]

load_rules()


class HostEntry:
    """A function that is called with arrays: its program, and how its values are passed."""

    def __init__(
        self,
        symbols: Program,
        target: Operation,
        grid: Grid | None = None,
        process: int = 0,
        devices: Sequence[str] | None = None,
    ) -> None:
        """Lower a function and what it calls. Raises NotLowered for what has no host code."""
        self.target = target
        self._arguments = argument_types(target)
        self._results = result_types(target)
        self._returned = [
            (type_shape(each, target), element_dtype(each, target), register_count(each, target))
            for each in self._results
        ]
        self._shapes = [type_shape(each, target) for each in self._arguments]
        self._are_static = all(
            each is not None and min(each, default=0) >= 0 for each in self._shapes
        )
        lowering = ProgramLowering(symbols, grid, _lower, process, devices)
        self.lowering = lowering
        self.number = lowering.function(target, symbol_name(target) or "")
        self.program: LinkedProgram = lowering.link()

    @property
    def interpreted(self) -> Mapping[Operation, str]:
        """Operations that the interpreter carries out at each run, and why if that is known."""
        return self.lowering.interpreted

    def statistics(self, machine: Machine, own: int) -> Statistics:
        """What the last call, with results of `own` bytes, has run and held."""
        pool = machine.pool
        allocated = sum(pool.count(each, ALLOCATED) for each in range(len(self.lowering.devices)))
        return Statistics(machine.runs, max(pool.peak_bytes - own, 0), max(allocated - own, 0))

    def device_statistics(self, machine: Machine) -> Iterator[tuple[DeviceMemory, int, int]]:
        """Of each device of the program: its memory, dispatches and what it was sent."""
        devices = [(name, number) for number, name in enumerate(self.lowering.devices) if name]
        for name, number in sorted(devices):
            count = partial(machine.pool.count, number)
            results = count(RESULTS)
            memory = DeviceMemory(
                name,
                max(count(MOST) - results, 0),
                max(count(ALLOCATED) - results, 0),
                self.lowering.constants[number],
                count(INPUTS) + results,
            )
            yield memory, count(DISPATCHES), count(RECEIVED)

    def call(self, machine: Machine, inputs: Sequence[Array]) -> list[Array]:
        """Run the function on arrays that are checked already; returns new arrays.

        Raises OperationError, and CommandFailed for a kernel that failed.
        """
        try:
            found = machine.call(self.number, self._words(machine, inputs))
        except MachineError as error:
            source = error.source if isinstance(error.source, Operation) else self.target
            raise OperationError(source, error.message) from error
        results: list[Array] = []
        first = 0
        for static, dtype, count in self._returned:
            own = found[first : first + count]
            first += count
            if static is None:
                results.append(scalar_of(own[0], dtype))
            else:
                results.append(_array(machine, own, static, dtype))
        return results

    def _words(self, machine: Machine, inputs: Sequence[Array]) -> list[int]:
        """The registers of the arguments: of a tensor its address, no block, and open sizes."""
        if self._are_static:
            return [word for each in inputs for word in (machine.address(each), 0)]
        words: list[int] = []
        for array, static in zip(inputs, self._shapes, strict=True):
            if static is None:
                words.append(word_of(array))
            else:
                sizes = zip(array.shape, static, strict=True)
                words += (machine.address(array), 0, *(n for n, known in sizes if known < 0))
        return words


def _array(
    machine: Machine, words: Sequence[int], static: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """A result as an array: in its own block, or copied if others know the block."""
    address, block, *sizes = words
    rest = iter(sizes)
    shape = tuple(size if size >= 0 else next(rest) for size in static) if sizes else static
    if block == address and machine.pool.references(block) == 1:
        return machine.pool.array(block, shape, dtype)
    copied = view(address, prod(shape) * dtype.itemsize).copy()
    if block:
        machine.pool.release(block)
    return copied.view(dtype).reshape(shape)


def _lower(program: ProgramLowering, target: Operation, function: HostFunction) -> None:
    arguments, results = argument_types(target), result_types(target)
    lowering = FunctionLowering(program, function)
    lowering.destination = resources.destination
    lowering.lower_function(target, arguments, results)


def lowered(module: ModuleOp) -> Iterator[tuple[Operation, HostEntry | OperationError]]:
    """The public functions as host code, or why they have none."""
    symbols, public = Program(module), set(public_functions(module))
    for target in functions(module):
        if symbol_name(target) not in public:
            continue
        try:
            yield target, HostEntry(symbols, target, grid_of(module, target))
        except OperationError as error:
            yield target, error


def host_code_text(module: ModuleOp) -> str:
    """The host code of a module's public functions and what they call, as text.

    Raises NotLowered for what has no host code.
    """
    symbols = Program(module)
    grids = {op: grid_of(module, op) for op in functions(module)}
    grid = next((grid for grid in grids.values() if grid is not None), None)
    lowering = ProgramLowering(symbols, grid, _lower)
    public = set(public_functions(module))
    for target in functions(module):
        name = symbol_name(target)
        if name in public:
            lowering.function(target, name)
    return print_program(lowering.program)

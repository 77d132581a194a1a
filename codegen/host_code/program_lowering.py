"""Lower a module: its functions, and the tables of kernels, constants and checks they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region

from ...interpreter.constants import constant_array
from ...interpreter.devices import device_of, initial_memory
from ...interpreter.dialects.kernels import dispatched_kernel
from ...interpreter.frames import Frame, Process, Program
from ...interpreter.registry import find_entry, find_successor, is_terminator
from ...interpreter.spmd import run_lockstep
from ...interpreter.storage import Resource
from ...ir.attribute_access import operation_name, symbol
from ...ir.diagnostics import OperationError
from ...ir.host_programs import in_initializer
from ...runtime.abi.arrays import Array, Value
from ...runtime.host.program import (
    ArrayAddress,
    Constant,
    HostFunction,
    HostKernel,
    HostProgram,
    LinkedProgram,
    PythonCall,
    RegisterValues,
)
from ...runtime.host.size_rules import KnownSizes, SizeRules
from ...sharding.grid import Grid
from ..cache import compile_kernels
from ..kernels.elements.kernel_text import KernelText
from ..kernels.elements.static_values import constant_attribute
from ..kernels.equal_kernels import EqualKernels
from ..kernels.operations import is_kernel
from ..kernels.schedule import Schedule, schedule_block
from .liveness import BlockLiveness, region_liveness
from .overlap import overlapped
from .scalars import has_instructions
from .values import AlwaysFails, NotLowered

ON_HOST = frozenset(("tensor.insert",))
"""Operations that have a kernel, but take only a few instructions of host code."""


class ProgramLowering:
    """The functions of a module that have been lowered so far, for a grid if there is one."""

    def __init__(
        self,
        symbols: Program,
        grid: Grid | None,
        lower: Callable[[ProgramLowering, Operation, HostFunction], None],
        process: int = 0,
        devices: Sequence[str] | None = None,
    ) -> None:
        """`lower` writes a function's host code; `devices` are the kinds of available devices."""
        memory = initial_memory(symbols.module, devices, grid, process)
        self.frame = Frame(Process(symbols, grid, process, {**memory}))
        """The interpreter's frame, which holds devices and globals."""
        self.devices: list[str | None] = [None]
        """The devices that the program names; a resource's owner is an index into this list."""
        self.current_device = 0
        self.constants: Counter[int] = Counter()
        """The bytes of constants on each device."""
        self._resources: dict[int, tuple[Resource, ArrayAddress]] = {}
        self.interpreted: dict[Operation, str] = {}
        """Operations that run in the interpreter, with the reason, which may be empty."""
        self.symbols = symbols
        self.grid = grid
        self.program = HostProgram()
        self._lower = lower
        self._functions: dict[Operation, int] = {}
        self._kernels: dict[Hashable, int] = {}
        self._written: list[KernelText] = []
        self._equal_kernels = EqualKernels()
        self._texts: dict[Hashable, KernelText] = {}
        self._arrays: dict[Operation, tuple[Array, ArrayAddress]] = {}
        self._globals: dict[Operation | None, int] = {}
        self._schedules: dict[Block, Schedule] = {}
        self._liveness: dict[Region, dict[Block, BlockLiveness]] = {}

    def function(self, target: Operation, name: str) -> int:
        """Return the number of a function, and lower it on the first use."""
        number = self._functions.get(target)
        if number is None:
            number = self._functions[target] = len(self.program.functions)
            function = HostFunction(name)
            self.program.functions.append(function)
            self._lower(self, target, function)
        return number

    def link(self) -> LinkedProgram:
        """Return the program in executable form."""
        self.program.devices = len(self.devices)
        written = self._written
        self.program.compile_kernels = lambda numbers: compile_kernels(
            [written[each].function for each in numbers]
        )
        return LinkedProgram(self.program)

    def schedule(self, block: Block) -> Schedule:
        """Return the steps of a block, with collectives started early if there is a grid.

        Raises OperationError if a kernel cannot be written.
        """
        schedule = self._schedules.get(block)
        if schedule is None:
            schedule = schedule_block(block, _is_end, self._equal_kernels, _is_on_host)
            if self.grid is not None:
                schedule = overlapped(schedule, self.dispatched)
            self._schedules[block] = schedule
        return schedule

    def liveness(self, region: Region) -> dict[Block, BlockLiveness]:
        """Return the liveness of the values of a region, which may be lowered several times.

        Raises OperationError if a kernel cannot be written.
        """
        liveness = self._liveness.get(region)
        if liveness is None:
            liveness = self._liveness[region] = region_liveness(region, self.schedule)
        return liveness

    def dispatched(self, op: Operation) -> Operation:
        """Return the function that a dispatch runs. Raises OperationError if there is none."""
        return dispatched_kernel(op, self.frame)[0]

    def kernel(self, text: KernelText, operation: Operation) -> int:
        """Return the number of a kernel; a kernel with the same code and failures is shared."""
        key = text.function, text.failures
        number = self._kernels.get(key)
        if number is None:
            number = self._kernels[key] = len(self.program.kernels)
            name = f"{operation_name(operation)}_{number}"
            self.program.kernels.append(HostKernel(name, text.failures))
            self._written.append(text)
        return number

    def text(self, key: Hashable, write: Callable[[], KernelText]) -> KernelText:
        """Return a kernel that no schedule contains, such as one that copies a slice."""
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = write()
        return text

    def array(self, operation: Operation) -> tuple[Array, ArrayAddress]:
        """Return the value of a constant operation and its address."""
        found = self._arrays.get(operation)
        if found is None:
            array = constant_array(operation, constant_attribute(operation.results[0]))
            found = array, self.keep(array)
            self._arrays[operation] = found
        return found

    def keep(self, array: Array) -> ArrayAddress:
        """Add an array that must not change to the program's constants; return its address."""
        self.program.arrays.append(np.asarray(array, order="C"))
        return ArrayAddress(len(self.program.arrays) - 1)

    # Devices ----------------------------------------------------------------------------------

    def device(self, op: Operation, affinity: Attribute | None = None) -> int:
        """Return the number of the device that an operation runs on, or that an affinity names.

        Raises AlwaysFails for a device that the process does not have.
        """
        try:
            return self.device_named(device_of(op, self.frame, affinity))
        except OperationError as error:
            raise AlwaysFails(error.operation, error.message, error.notes) from error

    def device_named(self, name: str | None) -> int:
        """Return the number of a device; `None`, for no device, has number 0."""
        if name not in self.devices:
            self.devices.append(name)
        return self.devices.index(name)

    def resource(self, resource: Resource, owner: int) -> ArrayAddress:
        """Return the address of a resource that the interpreter has computed."""
        found = self._resources.get(id(resource))
        if found is None:
            # Keep the resource alive, so that its `id` is not used again.
            found = self._resources[id(resource)] = resource, self.keep(resource.contents)
            self.constants[owner] += resource.size
        return found[1]

    def global_value(self, op: Operation) -> Value:
        """Return the value of the global of a load or store when a run starts.

        The initializers have run then. Raises NotLowered if a load cannot be interpreted.
        """
        entry = find_entry("util.global.load")
        if entry is None or entry.run_regions is None:
            raise NotLowered(op, "loads a global, which has no host code")
        routine = entry.run_regions(op, (), self.frame)
        ((value,),) = run_lockstep([self.frame.process.run(routine)], op)
        return value

    def place_global(self, op: Operation, words: Callable[[], Sequence[Constant]]) -> int | None:
        """Return the index of a global's first word, `None` if no function stores to it.

        `words` returns its words at the start of a run.
        """
        definition = self._global(op)
        if definition not in self.stored_globals:
            return None
        found = self._globals.get(definition)
        if found is None:
            found = self._globals[definition] = len(self.program.globals)
            self.program.globals += words()
        return found

    @cached_property
    def stored_globals(self) -> frozenset[Operation | None]:
        """The globals that functions, other than initializers, store to."""
        return frozenset(
            self._global(op)
            for op in self.symbols.module.walk()
            if operation_name(op) == "util.global.store" and not in_initializer(op)
        )

    def _global(self, op: Operation) -> Operation | None:
        return self.symbols.lookup(op, symbol(op, "global"))

    # Tables -----------------------------------------------------------------------------------

    def failure(self, failure: Callable[[RegisterValues], Exception]) -> int:
        """Register an error; return its number. `failure` makes it from the operands of `fail`."""
        self.program.failures.append(failure)
        return len(self.program.failures) - 1

    def accepts(self, check: int, numbers: RegisterValues) -> bool:
        """Return whether a registered check accepts numbers."""
        try:
            self.program.checks[check](numbers)
        except OperationError:
            return False
        return True

    def check(self, check: Callable[[RegisterValues], None], rules: SizeRules | None = None) -> int:
        """Register a check of sizes; return its number. Sizes that fulfil `rules` pass it."""
        self.program.checks.append(check)
        self.program.known_sizes.append(KnownSizes(rules))
        return len(self.program.checks) - 1

    def python(
        self, name: str, function: Callable[[Any, RegisterValues], RegisterValues], *more: Any
    ) -> int:
        """Register a Python function; return its number. `more` are fields of `PythonCall`."""
        self.program.python.append(PythonCall(name, function, *more))
        return len(self.program.python) - 1


def _is_end(name: str) -> bool:
    return is_terminator(name) or find_successor(name) is not None


def _is_on_host(operation: Operation) -> bool:
    return operation.name in ON_HOST or (has_instructions(operation) and is_kernel(operation))


def callee_of(lowering: ProgramLowering, call: Operation, name: str) -> Operation:
    """Return the function that a call names.

    Raises OperationError if it is not defined, NotLowered if it has no body.
    """
    callee = lowering.symbols.lookup(call, name)
    if callee is None:
        raise OperationError(call, f"calls @{name}, which is not defined")
    if not callee.regions or not callee.regions[0].blocks:
        raise NotLowered(call, f"calls @{name}, which has no body to run")
    return callee

"""Lowering of a module: which functions there are, and the tables that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Operation

from ...interpreter.constants import constant_array
from ...interpreter.devices import place, provide
from ...interpreter.frames import Device, Frame, Program
from ...interpreter.kernels import dispatched_kernel
from ...interpreter.registry import find_brancher, find_entry, is_terminator
from ...interpreter.spmd import run_lockstep
from ...interpreter.storage import Resource
from ...ir.attribute_access import operation_name, symbol
from ...ir.diagnostics import OperationError
from ...runtime.abi.values import Array, Value
from ...runtime.host.program import (
    ArrayAddress,
    Constant,
    HostFunction,
    HostKernel,
    HostProgram,
    LinkedProgram,
    Numbers,
    PythonCall,
)
from ...runtime.host.size_rules import KnownSizes, SizeRules
from ...sharding.grid import Grid
from ..cache import compile_kernels
from ..kernels.equal_kernels import EqualKernels
from ..kernels.fusion import is_kernel
from ..kernels.kernel_text import KernelText
from ..kernels.schedule import Schedule, schedule_block
from ..kernels.static_values import constant_attribute
from .overlap import overlapped
from .scalars import has_instructions
from .values import AlwaysRefused, NotLowered

ON_HOST = frozenset(("tensor.insert",))
"""Operations with kernels that take only a few instructions."""


class ProgramLowering:
    """The functions of a module that are lowered so far, for a grid if there is one."""

    def __init__(
        self,
        symbols: Program,
        grid: Grid | None,
        lower: Callable[[ProgramLowering, Operation, HostFunction], None],
        process: int = 0,
        devices: Sequence[str] | None = None,
    ) -> None:
        """`lower` writes the host code of a function; `devices` are the kinds of those at hand."""
        memory = provide(symbols.module, devices, grid, process)
        self.frame = Frame(Device(symbols, grid, process, {**memory}))
        """Where the interpreter finds devices and globals."""
        self.devices: list[str | None] = [None]
        """The devices that the program names, by the numbers that resources have."""
        self.current_device = 0
        self.constants: Counter[int] = Counter()
        """The bytes of constants by device."""
        self._resources: dict[int, tuple[Resource, ArrayAddress]] = {}
        self.interpreted: dict[Operation, str] = {}
        """Operations that the interpreter carries out at each run, and why if that is known."""
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

    def function(self, target: Operation, name: str) -> int:
        """The number of a function, which is lowered on the first use."""
        number = self._functions.get(target)
        if number is None:
            number = self._functions[target] = len(self.program.functions)
            function = HostFunction(name)
            self.program.functions.append(function)
            self._lower(self, target, function)
        return number

    def link(self) -> LinkedProgram:
        """The program as it can be run."""
        self.program.devices = len(self.devices)
        written = self._written
        self.program.compile_kernels = lambda numbers: compile_kernels(
            [written[each].function for each in numbers]
        )
        return LinkedProgram(self.program)

    def schedule(self, block: Block) -> Schedule:
        """The steps of a block."""
        schedule = self._schedules.get(block)
        if schedule is None:
            schedule = schedule_block(block, _is_end, self._equal_kernels, _is_on_host)
            if self.grid is not None:
                schedule = overlapped(schedule, self.dispatched)
            self._schedules[block] = schedule
        return schedule

    def dispatched(self, op: Operation) -> Operation:
        """The function that a dispatch runs. Raises OperationError if there is none."""
        return dispatched_kernel(op, self.frame)[0]

    def kernel(self, text: KernelText, operation: Operation) -> int:
        """The number of a kernel."""
        key = text.function, text.failures
        number = self._kernels.get(key)
        if number is None:
            number = self._kernels[key] = len(self.program.kernels)
            name = f"{operation_name(operation)}_{number}"
            self.program.kernels.append(HostKernel(name, text.failures))
            self._written.append(text)
        return number

    def text(self, key: Hashable, write: Callable[[], KernelText]) -> KernelText:
        """A kernel of the host's own, written on the first use."""
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = write()
        return text

    def array(self, operation: Operation) -> tuple[Array, ArrayAddress]:
        """The value of a constant operation, and where it will lie."""
        found = self._arrays.get(operation)
        if found is None:
            array = constant_array(operation, constant_attribute(operation.results[0]))
            found = array, self.keep(array)
            self._arrays[operation] = found
        return found

    def keep(self, array: Array) -> ArrayAddress:
        """Where an array will lie that must not change."""
        self.program.arrays.append(np.asarray(array, order="C"))
        return ArrayAddress(len(self.program.arrays) - 1)

    # Devices ----------------------------------------------------------------------------------

    def device(self, op: Operation, affinity: Attribute | None = None) -> int:
        """The number of the device that an operation runs on, or an affinity means.

        Raises AlwaysRefused for a device that the process does not have.
        """
        try:
            return self.device_named(place(op, self.frame, affinity))
        except OperationError as error:
            raise AlwaysRefused(error.operation, error.message, error.notes) from error

    def device_named(self, name: str | None) -> int:
        """The number of a device; 0 for nobody."""
        if name not in self.devices:
            self.devices.append(name)
        return self.devices.index(name)

    def resource(self, resource: Resource, owner: int) -> ArrayAddress:
        """Where bytes will lie that the interpreter has made."""
        found = self._resources.get(id(resource))
        if found is None:
            # The resource is kept, so that its identity stays its own.
            found = self._resources[id(resource)] = resource, self.keep(resource.contents)
            self.constants[owner] += resource.size
        return found[1]

    def global_value(self, op: Operation) -> Value:
        """What a global holds when a run begins: what initializers have stored to it."""
        entry = find_entry("util.global.load")
        if entry is None or entry.drive is None:
            raise NotLowered(op, "loads a global, which has no host code")
        routine = entry.drive(op, (), self.frame)
        ((value,),) = run_lockstep([self.frame.device.run(routine)], op)
        return value

    def place_global(self, op: Operation, words: Callable[[], Sequence[Constant]]) -> int | None:
        """Where among the words of globals one begins, `None` if no function stores to it.

        `words` gives those that it has when a run begins.
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
        """The globals that functions store to."""
        return frozenset(
            self._global(op)
            for op in self.symbols.module.walk()
            if operation_name(op) == "util.global.store" and not _is_initializing(op)
        )

    def _global(self, op: Operation) -> Operation | None:
        return self.symbols.lookup(op, symbol(op, "global"))

    # Tables -----------------------------------------------------------------------------------

    def failure(self, failure: Callable[[Numbers], Exception]) -> int:
        """The number of an error."""
        self.program.failures.append(failure)
        return len(self.program.failures) - 1

    def accepts(self, check: int, numbers: Numbers) -> bool:
        """Whether a check accepts numbers."""
        try:
            self.program.checks[check](numbers)
        except OperationError:
            return False
        return True

    def check(self, check: Callable[[Numbers], None], rules: SizeRules | None = None) -> int:
        """The number of a check of sizes, with rules that surely fulfil it."""
        self.program.checks.append(check)
        self.program.known_sizes.append(KnownSizes(rules))
        return len(self.program.checks) - 1

    def python(self, name: str, function: Callable[[Any, Numbers], Numbers], *more: Any) -> int:
        """The number of a Python function; `more` are fields of `PythonCall`."""
        self.program.python.append(PythonCall(name, function, *more))
        return len(self.program.python) - 1


def _is_initializing(op: Operation) -> bool:
    """Whether an operation is in an initializer."""
    scope = op.parent_op()
    while scope is not None and operation_name(scope) != "util.initializer":
        scope = scope.parent_op()
    return scope is not None


def _is_end(name: str) -> bool:
    return is_terminator(name) or find_brancher(name) is not None


def _is_on_host(operation: Operation) -> bool:
    return operation.name in ON_HOST or (has_instructions(operation) and is_kernel(operation))


def callee_of(lowering: ProgramLowering, call: Operation, name: str) -> Operation:
    """The function that a call names. Raises OperationError if it has no body."""
    callee = lowering.symbols.lookup(call, name)
    if callee is None:
        raise OperationError(call, f"calls @{name}, which is not defined")
    if not callee.regions or not callee.regions[0].blocks:
        raise NotLowered(call, f"calls @{name}, which has no body to run")
    return callee

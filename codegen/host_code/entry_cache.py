"""Functions as host code: lowered on the first call, with a machine for each device."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...interpreter import func
from ...interpreter.devices import device_globals
from ...interpreter.machine import Program
from ...ir.diagnostics import OperationError
from ...runtime.communicator import Communicator
from ...runtime.host.machine import Machine, MachineError
from ...runtime.workers import Team
from ...sharding.grid import Grid
from .lowering import Array, HostEntry
from .values import NotLowered

RUNS_STREAM_PROGRAMS = False
"""Whether programs with devices of their own run as host code. They are lowered, but what a device
holds at its peak is not counted by device yet, and products of unpacked operands need more."""


class HostCode:
    """The host code of a module's functions."""

    def __init__(self, symbols: Program) -> None:
        self._symbols = symbols
        self._entries: dict[tuple[Operation, Grid | None], HostEntry | None] = {}
        self._machines: dict[tuple[HostEntry, Communicator | None], Machine] = {}

    def entry(self, target: Operation, grid: Grid | None = None) -> HostEntry | None:
        """A function as host code, `None` if something in it is not lowered yet."""
        key = target, grid
        if key not in self._entries:
            try:
                if not RUNS_STREAM_PROGRAMS and device_globals(self._symbols.module):
                    raise NotLowered(target, "is a program with devices of its own")
                self._entries[key] = HostEntry(self._symbols, target, grid)
            except OperationError:
                self._entries[key] = None
        return self._entries[key]

    def machine(
        self,
        entry: HostEntry,
        communicator: Communicator | None = None,
        team: Team | None = None,
    ) -> Machine:
        """What runs a function on a device, with a team of workers if there is one."""
        key = entry, communicator
        machine = self._machines.get(key)
        if machine is None:
            process = communicator.process if communicator is not None else 0
            cancel = communicator.state if communicator is not None else None
            depth = func.MAXIMAL_DEPTH
            machine = Machine(entry.program, process, cancel, communicator, depth, team)
            self._machines[key] = machine
        return machine

    def run(
        self,
        entry: HostEntry,
        inputs: Sequence[Array],
        communicator: Communicator | None = None,
        team: Team | None = None,
    ) -> list[Array]:
        """Run a function. Raises OperationError, and CommandFailed for a kernel that failed."""
        machine = self.machine(entry, communicator, team)
        try:
            return entry.call(machine, inputs)
        except MachineError as error:
            source = error.source if isinstance(error.source, Operation) else entry.target
            raise OperationError(source, error.message) from error

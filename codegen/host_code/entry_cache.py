"""Functions as host code: lowered on the first call, with a virtual machine for each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from ...interpreter import func
from ...interpreter.devices import grid_with_devices
from ...interpreter.frames import Program
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import ForeignFault
from ...ir.garbage_collection import without_garbage_collection
from ...ir.nesting_limits import deep_recursion
from ...runtime.communicator import Communicator
from ...runtime.host.team import Team
from ...runtime.host.timeline import Timeline
from ...runtime.host.virtual_machine import VirtualMachine
from ...sharding.grid import Grid
from .lowering import HostEntry

REQUIRED = "native code is required"


class HostCode:
    """The host code of a module's functions."""

    def __init__(
        self,
        symbols: Program,
        devices: Sequence[str] | None = None,
        *,
        guard: bool = False,
        trace: Callable[[str], object] | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        """`devices` are the kinds of those at hand, `None` if there is whatever is asked for.
        With `guard`, whatever writes outside of its memory is an error. `trace` is given a line
        about each instruction that a device has carried out, and `timeline` when kernels ran."""
        self._trace = trace
        self._timeline = timeline
        self._symbols = symbols
        self._guard = guard
        self._devices = devices
        self._entries: dict[tuple[Operation, Grid | None], list[HostEntry] | None] = {}
        self._errors: dict[tuple[Operation, Grid | None], OperationError] = {}
        self._machines: dict[tuple[HostEntry, Communicator | None], VirtualMachine] = {}

    def entry(
        self, target: Operation, grid: Grid | None = None, process: int = 0
    ) -> HostEntry | None:
        """A function as a process runs it, `None` if for some process it has no host code."""
        key = target, grid
        if key not in self._entries:
            self._entries[key] = self._lowered(target, grid)
        found = self._entries[key]
        return None if found is None else found[process % len(found)]

    def entries(self, target: Operation, grid: Grid | None) -> list[HostEntry] | OperationError:
        """A function as processes run it, by their numbers modulo the length, or why it has no
        host code."""
        self.entry(target, grid)
        return self._entries[target, grid] or self._errors[target, grid]

    def close(self) -> None:
        """Forget the machines, with what they keep between calls."""
        self._machines.clear()

    def require(self, target: Operation, grid: Grid | None) -> None:
        """Raise OperationError for what a function leaves to the interpreter."""
        self.entry(target, grid)
        error = self._errors.get((target, grid))
        if error is not None:
            raise OperationError(error.operation, f"{error.message} ({REQUIRED})", error.notes)
        for entry in self._entries[target, grid] or ():
            for operation in entry.interpreted:
                raise OperationError(
                    operation, f"has no kernel and runs in the interpreter ({REQUIRED})"
                )

    def _lowered(self, target: Operation, grid: Grid | None) -> list[HostEntry] | None:
        """One entry for all processes, or for each of a grid that names their devices."""
        count = 1
        if grid is not None and grid_with_devices(self._symbols.module, grid) is not None:
            count = grid.device_count()
        try:
            with without_garbage_collection(), deep_recursion():
                return [
                    HostEntry(self._symbols, target, grid, process, self._devices)
                    for process in range(count)
                ]
        except ForeignFault:
            raise
        except OperationError as error:
            self._errors[target, grid] = error
            return None

    def machine(
        self, entry: HostEntry, communicator: Communicator | None = None
    ) -> VirtualMachine | None:
        """What has run a function on a device before."""
        return self._machines.get((entry, communicator))

    def new_machine(
        self, entry: HostEntry, communicator: Communicator | None, team: Team | None
    ) -> VirtualMachine:
        """What runs a function on a device, with a team of workers if there is one."""
        machine = self._machines[entry, communicator] = VirtualMachine(
            entry.program,
            0 if communicator is None else communicator.process,
            None if communicator is None else communicator.state,
            communicator,
            func.MAXIMAL_DEPTH,
            team,
            guard=self._guard,
            trace=self._trace_of(communicator),
            timeline=self._timeline,
        )
        return machine

    def _trace_of(self, communicator: Communicator | None) -> Callable[[str], object] | None:
        trace = self._trace
        if trace is None or communicator is None:
            return trace
        return lambda line: trace(f"[{communicator.process}] {line}")

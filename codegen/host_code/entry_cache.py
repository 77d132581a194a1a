"""Cache the host code of functions; it is lowered at the first call."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects.linalg.structured_view import remembered_views
from ...interpreter.devices import grid_with_devices
from ...interpreter.frames import Program
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import ForeignFault
from ...ir.garbage_collection import without_garbage_collection
from ...ir.nesting_limits import deep_recursion
from ...sharding.grid import Grid
from .lowering import HostEntry

REQUIRED = "native code is required"


class EntryCache:
    """The host code of a module's functions."""

    def __init__(self, symbols: Program, devices: Sequence[str] | None = None) -> None:
        """`devices` are the kinds of available devices; `None` if all named devices are."""
        self._symbols = symbols
        self._devices = devices
        self._entries: dict[tuple[Operation, Grid | None], list[HostEntry] | OperationError] = {}

    def entry(
        self, target: Operation, grid: Grid | None = None, process: int = 0
    ) -> HostEntry | None:
        """Return a function's host code for a process, `None` if some process has none."""
        found = self.entries(target, grid)
        return None if isinstance(found, OperationError) else found[process % len(found)]

    def entries(self, target: Operation, grid: Grid | None) -> list[HostEntry] | OperationError:
        """Return a function's host code, or the error that says why it has none.

        Process `p` uses the entry at index `p` modulo the length of the list.
        """
        found = self._entries.get((target, grid))
        if found is None:
            found = self._entries[target, grid] = self._lowered(target, grid)
        return found

    def require(self, target: Operation, grid: Grid | None) -> None:
        """Raise OperationError if part of a function runs in the interpreter."""
        found = self.entries(target, grid)
        if isinstance(found, OperationError):
            raise OperationError(found.operation, f"{found.message} ({REQUIRED})", found.notes)
        for entry in found:
            for operation in entry.interpreted:
                raise OperationError(
                    operation, f"has no kernel and runs in the interpreter ({REQUIRED})"
                )

    def _lowered(self, target: Operation, grid: Grid | None) -> list[HostEntry] | OperationError:
        """Lower a function: once for each process if the grid names devices, otherwise once."""
        count = 1
        if grid is not None and grid_with_devices(self._symbols.module, grid) is not None:
            count = grid.device_count()
        try:
            with without_garbage_collection(), deep_recursion(), remembered_views():
                return [
                    HostEntry(self._symbols, target, grid, process, self._devices)
                    for process in range(count)
                ]
        except ForeignFault:
            raise
        except OperationError as error:
            return error

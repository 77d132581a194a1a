"""Lower functions of a module to programs of host code, each at its first call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.linalg.structured_view import remembered_views
from ...interpreter.devices import grid_with_devices
from ...interpreter.frames import Program
from ...interpreter.function_signatures import argument_types, result_types
from ...interpreter.run import functions, grid_of, public_functions
from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import ForeignFault
from ...ir.garbage_collection import without_garbage_collection
from ...ir.nesting_limits import deep_recursion
from ...runtime.host.entry import EntryPoint, PassedResult
from ...runtime.host.printer import print_program
from ...runtime.host.program import HostFunction
from ...sharding.grid import Grid
from .function_lowering import FunctionLowering, load_rules
from .program_lowering import ProgramLowering
from .values import element_dtype, type_shape

load_rules()


class HostEntry(EntryPoint):
    """A public function of a module: its host program, and how arguments and results are passed."""

    def __init__(
        self,
        symbols: Program,
        target: Operation,
        grid: Grid | None = None,
        process: int = 0,
        devices: Sequence[str] | None = None,
    ) -> None:
        """Lower a function and its callees for a process.

        Raises NotLowered if an operation has no host code.
        """
        self.target = target
        self.grid = grid
        arguments, results = argument_types(target), result_types(target)
        given = [
            PassedResult(type_shape(each, target), element_dtype(each, target)) for each in results
        ]
        taken = [type_shape(each, target) for each in arguments]
        lowering = ProgramLowering(symbols, grid, _lower_body, process, devices)
        number = lowering.function(target, symbol_name(target) or "")
        self.lowering = lowering
        super().__init__(
            lowering.link(), number, taken, given, lowering.devices, lowering.constants
        )

    @property
    def interpreted(self) -> Mapping[Operation, str]:
        """Operations that run in the interpreter, with the reason, which may be empty."""
        return self.lowering.interpreted


def _lower_body(program: ProgramLowering, target: Operation, function: HostFunction) -> None:
    arguments, results = argument_types(target), result_types(target)
    FunctionLowering(program, function).lower_function(target, arguments, results)


def host_entries(module: ModuleOp) -> Iterator[tuple[Operation, HostEntry | OperationError]]:
    """Yield each public function with its host code, or the error that says why it has none."""
    symbols, public = Program(module), set(public_functions(module))
    for target in functions(module):
        if symbol_name(target) not in public:
            continue
        try:
            yield target, HostEntry(symbols, target, grid_of(module, target))
        except OperationError as error:
            yield target, error


def host_code_text(module: ModuleOp) -> str:
    """Return the host code of a module's public functions and their callees as text.

    Raises NotLowered if an operation has no host code.
    """
    symbols = Program(module)
    # All functions are in one program, which has one grid; those that do not communicate name none.
    grids = (grid_of(module, target) for target in functions(module))
    grid = next((grid for grid in grids if grid is not None), None)
    lowering = ProgramLowering(symbols, grid, _lower_body)
    public = set(public_functions(module))
    for target in functions(module):
        name = symbol_name(target)
        if name in public:
            lowering.function(target, name)
    return print_program(lowering.program)


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
            found = self._entries[target, grid] = self._lower_all(target, grid)
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

    def _lower_all(self, target: Operation, grid: Grid | None) -> list[HostEntry] | OperationError:
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

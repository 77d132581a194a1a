"""From a function of a module to a program of host code, and calls of it with arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...interpreter.entry_points import argument_types, result_types
from ...interpreter.frames import Program
from ...interpreter.run import functions, grid_of, public_functions
from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...runtime.host.entry import Entry, PassedResult
from ...runtime.host.printer import print_program
from ...runtime.host.program import HostFunction
from ...sharding.grid import Grid
from . import resources
from .function_lowering import FunctionLowering
from .program_lowering import ProgramLowering
from .rules import load_rules
from .values import element_dtype, register_count, type_shape

load_rules()


class HostEntry(Entry):
    """A function of a module: its program, and how its values are passed."""

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
        self.grid = grid
        arguments, results = argument_types(target), result_types(target)
        given = [
            PassedResult(
                type_shape(each, target), element_dtype(each, target), register_count(each, target)
            )
            for each in results
        ]
        taken = [type_shape(each, target) for each in arguments]
        lowering = ProgramLowering(symbols, grid, _lower, process, devices)
        number = lowering.function(target, symbol_name(target) or "")
        self.lowering = lowering
        super().__init__(
            lowering.link(), number, taken, given, lowering.devices, lowering.constants
        )

    @property
    def interpreted(self) -> Mapping[Operation, str]:
        """Operations that the interpreter carries out at each run, and why if that is known."""
        return self.lowering.interpreted


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

"""Lower functions of a module to programs of host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...interpreter.frames import Program
from ...interpreter.function_signatures import argument_types, result_types
from ...interpreter.run import functions, grid_of, public_functions
from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...runtime.host.entry import EntryPoint, PassedResult
from ...runtime.host.printer import print_program
from ...runtime.host.program import HostFunction
from ...sharding.grid import Grid
from .function_lowering import FunctionLowering
from .program_lowering import ProgramLowering
from .rules import load_rules
from .values import element_dtype, register_count, type_shape

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
        """Operations that run in the interpreter, with the reason, which may be empty."""
        return self.lowering.interpreted


def _lower(program: ProgramLowering, target: Operation, function: HostFunction) -> None:
    arguments, results = argument_types(target), result_types(target)
    lowering = FunctionLowering(program, function)
    lowering.lower_function(target, arguments, results)


def lowered(module: ModuleOp) -> Iterator[tuple[Operation, HostEntry | OperationError]]:
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
    grids = {op: grid_of(module, op) for op in functions(module)}
    grid = next((grid for grid in grids.values() if grid is not None), None)
    lowering = ProgramLowering(symbols, grid, _lower)
    public = set(public_functions(module))
    for target in functions(module):
        name = symbol_name(target)
        if name in public:
            lowering.function(target, name)
    return print_program(lowering.program)

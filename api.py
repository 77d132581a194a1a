"""mesh-opt from Python: compile a program, call its functions on NumPy arrays, see its stages.

    from mesh_opt.api import compile

    program = compile(Path("mlp.mlir"), pipeline="spmd")
    y = program.main(x, w1, w2)          # or program["main"](...): global arrays in and out
    print(program.stages[-1].text)       # the IR after the last pass

A partitioned function runs on all devices of its grid: its global inputs are scattered, its
results gathered, and copies of one shard on several devices are compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ParseError

from .dialects.shard.boundary import Boundary
from .interpreter import run as interpreter
from .interpreter.device_array import DeviceArray
from .interpreter.machine import Program as _Symbols
from .interpreter.parameters import Parameter, Parameters, provide_parameters
from .interpreter.rounding import roughest_types
from .ir.diagnostics import OperationError
from .ir.text.parser import parse_module
from .ir.text.print_style import location_name
from .ir.text.printer import print_operation
from .ir.text.source import Source
from .ir.verification import verification_errors
from .passes.imports.import_annotations import MANUAL_COMPUTATION, import_annotations
from .passes.manager.pass_manager import (
    InternalFault,
    Observer,
    PassFailure,
    Step,
    build_root_steps,
    run_steps,
)
from .passes.manager.pipeline_text import PipelineError, parse_pipeline
from .passes.registry import all_passes
from .passes.stablehlo.convert_stablehlo_to_linalg import (
    ConvertStablehloToLinalgPass,
    is_stablehlo,
)
from .runtime.abi.arguments import InputError, InputTypes
from .runtime.abi.compare import Difference, compare
from .runtime.abi.errors import CompilationError, ExecutionError
from .runtime.abi.value_types import FunctionTypes
from .runtime.checkpoints import Checkpoints
from .runtime.host.timeline import Timeline
from .runtime.stepping import run_repeatedly
from .sharding.grid import Grid
from .tools.diagnostics import (
    Diagnostic,
    describe_place,
    error,
    from_operation_error,
    from_parse_error,
    place_of,
    render,
)
from .tools.driver import new_context
from .tools.parameter_files import mapped_arrays
from .tools.plugins import PassesOfAll

if TYPE_CHECKING:
    from .codegen.compile import CompiledProgram, DeviceStatistics
    from .passes.sharding.cost_report import Cost
    from .passes.sharding.placed_values import PlacedGroup
    from .sharding.machine import Machine

__all__ = [
    "BACKENDS",
    "CompilationError",
    "DeviceArray",
    "ExecutionError",
    "Function",
    "InputError",
    "Parameter",
    "Program",
    "Stage",
    "compile",
    "mapped_arrays",
]

Array = npt.NDArray[Any]
Backend = Callable[["Program", str, Sequence[Array]], list[Array]]
"""Runs a function of a program, by its name, on global inputs."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The program after one pass; the first stage, `input`, is the program as it was read."""

    name: str
    text: str

    def __repr__(self) -> str:
        """Its name and length: the text is to be printed."""
        return f"<Stage {self.name}, {self.text.count(chr(10)) + 1} lines>"


def _run_with_interpreter(program: Program, function: str, inputs: Sequence[Array]) -> list[Array]:
    return interpreter.run_partitioned(
        program.module, function, inputs, program.grid, program.devices
    )


def _run_with_numba(program: Program, function: str, inputs: Sequence[Array]) -> list[Array]:
    return program.native().run_partitioned(function, inputs, program.grid)


def _run_with_mpi(program: Program, function: str, inputs: Sequence[Array]) -> list[Array]:
    from .codegen.ranks import RankError, run_on_ranks

    try:
        return run_on_ranks(
            program.native(),
            function,
            [np.asarray(each) for each in inputs],
            program.grid,
            program.inputs_per_rank,
        )
    except RankError as problem:
        raise ExecutionError(str(problem)) from problem


BACKENDS: dict[str, Backend] = {
    "interpreter": _run_with_interpreter,
    "numba": _run_with_numba,
    "mpi": _run_with_mpi,
}
"""What programs can be run with; `mpi` is for the ranks of `mpiexec -n N python -m mpi4py ...`."""


@dataclass(frozen=True, slots=True)
class _Signature:
    """What is looked up once of a function: its operation, its grid and its global types."""

    operation: Operation
    grid: Grid | None
    arguments: list[Attribute]
    results: list[Attribute]
    inputs: InputTypes
    types: FunctionTypes
    boundaries: Sequence[Boundary | None]


class Function:
    """A function of a compiled program: call it with global NumPy arrays.

    It keeps its program alive, as a bound method keeps its object.
    """

    def __init__(self, program: Program, name: str, signature: _Signature) -> None:
        self.program = program
        self.name = name
        self.operation = signature.operation
        self.grid = signature.grid
        self.argument_types = signature.arguments
        self.result_types = signature.results
        self.types = signature.types
        """The same types without the IR."""
        self._inputs = signature.inputs
        self._boundaries = signature.boundaries

    def __call__(
        self, *inputs: npt.ArrayLike | DeviceArray, **named: npt.ArrayLike | DeviceArray
    ) -> Any:
        """Run the function; returns an array, a tuple of arrays for several results, or None.

        Arrays must have the arguments' element types and shapes; Python numbers and lists are
        converted, and arrays of other packages taken as they are (DLPack). Arguments may be given
        by the names that they have in the program. Raises InputError, ExecutionError.
        """
        results = self.run(self._in_order(inputs, named) if named else inputs)
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    @property
    def argument_names(self) -> list[str]:
        """What the arguments are called in the program as it was read: `%x` is `x`."""
        function = interpreter.find_function(_Symbols(self.program.source), self.name)
        body = function.regions[0].blocks
        arguments = body[0].args if body else ()
        return [
            location_name(argument) or argument.name_hint or f"arg{index}"
            for index, argument in enumerate(arguments)
        ]

    def _in_order(
        self,
        inputs: Sequence[npt.ArrayLike | DeviceArray],
        named: Mapping[str, npt.ArrayLike | DeviceArray],
    ) -> list[npt.ArrayLike | DeviceArray]:
        """Inputs by position, and then those by name. Raises InputError."""
        names = self.argument_names
        for name in named:
            if name not in names:
                listing = ", ".join(names) or "none"
                raise InputError(f"@{self.name} has no argument '{name}', but {listing}")
            if name in names[: len(inputs)]:
                raise InputError(f"@{self.name} is given argument '{name}' twice")
        missing = [name for name in names[len(inputs) :] if name not in named]
        if missing:
            raise InputError(f"@{self.name} is not given {', '.join(missing)}")
        return [*inputs, *(named[name] for name in names[len(inputs) :])]

    def __repr__(self) -> str:
        """Its name with types, and where it runs."""
        arguments = ", ".join(
            f"{name}: {kind}"
            for name, kind in zip(self.argument_names, self.argument_types, strict=False)
        )
        results = ", ".join(map(str, self.result_types)) or "nothing"
        grid = self.grid
        where = ""
        if grid is not None:
            extents = "x".join("?" if n is None else str(n) for n in grid.shape)
            where = f" on grid @{grid.name} of {extents} devices"
        return f"<Function @{self.name}({arguments}) -> {results}{where}>"

    def run(
        self, inputs: Sequence[npt.ArrayLike | DeviceArray], backend: str | None = None
    ) -> list[Array]:
        """Run the function with a backend (the program's by default); returns all results.

        Raises InputError for inputs that it does not take, ExecutionError at the operation that
        cannot be executed on them, ValueError for an unknown backend.
        """
        run = self.program.backend(backend)
        arrays = self.arrays(inputs)
        with self.program.located():
            return run(self.program, self.name, arrays)

    def put(self, value: npt.ArrayLike, argument: int | str) -> DeviceArray:
        """Copy an array to the devices for an argument, so that calls need not scatter it.

        The argument is told by its number or its name. Raises InputError for an array that the
        argument does not take.
        """
        if isinstance(argument, str):
            names = self.argument_names
            if argument not in names:
                raise InputError(f"@{self.name} has no argument '{argument}'")
            argument = names.index(argument)
        self._inputs.check_number(self.name, argument)
        array = self._inputs.array(argument, value)
        return self.place(argument, array)

    def place(self, argument: int, array: Any) -> DeviceArray:
        """The same with what slices of whole arrays are read from, such as a file, for an argument
        that takes it: each device reads its own part."""
        with self.program.located():
            sharding = interpreter.argument_sharding(
                self.operation, self._boundaries, argument, len(array.shape), self.grid
            )
            return DeviceArray.put(array, self.argument_types[argument], sharding)

    def run_steps(
        self,
        inputs: Sequence[npt.ArrayLike | DeviceArray],
        steps: int,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 1,
    ) -> list[DeviceArray]:
        """Run a function that maps a state to a state so many times (`runtime/stepping.py`).

        Every `every` steps the state is written to the folder `checkpoint`; from what is there the
        run goes on. Raises what `run` does, OSError and CheckpointError.
        """
        checkpoints = None if checkpoint is None else Checkpoints(checkpoint)
        call = self.run_on_devices
        return run_repeatedly(self, lambda own: call(*own), inputs, steps, checkpoints, every)

    def run_on_devices(self, *inputs: npt.ArrayLike | DeviceArray) -> list[DeviceArray]:
        """Run the function in native code; all results stay where they are computed.

        They may be given to other calls. Raises what `run` does.
        """
        arrays = self.arrays(inputs)
        with self.program.located():
            native = self.program.native()
            return native.run_on_devices(self.name, arrays, self.program.grid)

    def reference(self, inputs: Sequence[npt.ArrayLike]) -> list[Array]:
        """What the interpreter makes of the program as it was before all passes.

        Raises InputError, ExecutionError.
        """
        arrays = self.arrays(inputs)
        with self.program.located():
            return interpreter.run_partitioned(
                self.program.source, self.name, arrays, self.program.grid
            )

    def check(self, *inputs: npt.ArrayLike, backend: str | None = None) -> list[Difference]:
        """How far each result is from that of the program before all passes.

        Raises what `run` does, and ValueError where a result has another shape or element type.
        """
        expected = self.reference(inputs)
        results = self.run(inputs, backend)
        return [
            compare(actual, wanted, through=through)
            for actual, wanted, through in zip(results, expected, self.rounding(), strict=True)
        ]

    def cost(self, machine: Machine | None = None) -> Cost:
        """What one call costs one device: bytes, operations, memory, and time on a machine.

        Machines are in `mesh_opt.sharding.machine_presets`, and read from files by
        `mesh_opt.ir.machine_files.read_machine`. Raises MachineError for one that is too small.
        """
        from .passes.sharding.cost_report import module_costs

        return module_costs(self.program.module, machine)[self.name]

    def rounding(self) -> list[np.dtype[Any] | None]:
        """For each result, the least precise float type that the program before all passes
        computes on its way, which says how far it may differ; `None` for none.
        """
        symbols = _Symbols(self.program.source)
        return roughest_types(symbols, interpreter.find_function(symbols, self.name))

    def arrays(self, inputs: Sequence[npt.ArrayLike | DeviceArray]) -> list[Any]:
        """Inputs as arrays of the arguments' types, or those on devices. Raises InputError."""
        return self._inputs.arrays(self.name, inputs)


class Program:
    """A compiled program: `program["main"]` and `program.main` are its functions."""

    def __init__(
        self,
        source: ModuleOp,
        module: ModuleOp,
        stages: Sequence[Stage],
        texts: Sequence[Source],
        backend: str,
        grid: Grid | None,
        run_again: Callable[[ModuleOp, Sequence[Observer]], None] | None = None,
    ) -> None:
        """`run_again` runs the passes once more on a copy of `source`."""
        self.source = source
        """The program before all passes."""
        self.module = module
        """The program after all passes."""
        self.stages = tuple(stages)
        self.grid = grid
        """Extents for a grid that the program leaves open."""
        self.devices: tuple[str, ...] | None = None
        """The kinds of the devices at hand; `None`: whatever the program names exists."""
        self.inputs_per_rank = False
        """With the backend `mpi`: whether each rank takes its part of whole arrays of its own, of
        the same shapes; else all must be given the same, which is looked at."""
        self.guard: bool | None = None
        """Whether native code runs with guards around its buffers; as in `compile_program`."""
        self.workers: int | None = None
        """How many threads share the work of each device of native code; `None`: the cores at
        hand, shared out over the devices."""
        self.require_native = False
        """Whether it is an error if the interpreter has to carry out an operation."""
        self.trace_host: Callable[[str], object] | None = None
        """What is given a line about each instruction of host code that was carried out."""
        self.timeline: Timeline | None = None
        """What is told when kernels, copies and collectives of native code began and ended."""
        self._run_again = run_again
        self._texts = tuple(texts)
        self._backend = backend
        self._signatures: dict[str, _Signature] = {}
        self._native: dict[object, CompiledProgram] = {}
        self.backend()

    @property
    def functions(self) -> list[str]:
        """The names of the public functions."""
        return interpreter.public_functions(self.module)

    @property
    def shardings(self) -> ShardingMaps:
        """How the values of the program lie on its grid: as text, and in a notebook as pictures.

        Raises ExecutionError for annotations that make no sense.
        """
        from .passes.sharding.placed_values import placed_groups

        with self.located():
            return ShardingMaps(placed_groups(self.module))

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page of HTML about all stages, as `mesh-opt --report` writes it; also into a file.

        It has changes, values, shardings, collectives, costs and remarks. The passes run again for
        it. Raises ExecutionError, OSError.
        """
        from .tools.report.page import recorded_pipeline, render_page

        module = self.source.clone()
        with self.located(), recorded_pipeline(module) as recorder:
            if self._run_again is not None:
                self._run_again(module, [recorder])
        name = self._texts[0].name if self._texts else ", ".join(self.functions)
        page = render_page(f"mesh-opt {name}", recorder.stages)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __repr__(self) -> str:
        """Its functions and stages."""
        functions = ", ".join(f"@{name}" for name in self.functions) or "nothing"
        count = len(self.stages)
        stages = f", {count} stage{'' if count == 1 else 's'}" if count else ""
        return f"<Program of {functions}{stages}, backend {self._backend}>"

    def _repr_html_(self) -> str:
        """Its functions and shardings, for notebooks."""
        functions = (f"<li><code>{escape(repr(self[name]))}</code></li>" for name in self.functions)
        pictures = self.shardings.html()
        return f"<ul>{''.join(functions)}</ul>{pictures}"

    def __getitem__(self, name: str) -> Function:
        """A function by name.

        Raises KeyError where there is none to run, ExecutionError where what its arguments are
        shards of is no such thing.
        """
        signature = self._signatures.get(name)
        if signature is None:
            try:
                signature = self._signatures[name] = self._signature(name)
            except InputError as problem:
                raise KeyError(str(problem)) from problem
        # Not kept: a function knows its program, which would then only end in a search for cycles.
        return Function(self, name, signature)

    def _signature(self, name: str) -> _Signature:
        operation = interpreter.find_function(_Symbols(self.module), name)
        with self.located():
            arguments, results = interpreter.boundaries(operation)
            grid = self.grid or interpreter.grid_of(self.module, operation)
        taken = interpreter.global_types(interpreter.argument_types(operation), arguments)
        given = interpreter.global_types(interpreter.result_types(operation), results)
        plain = (tuple(interpreter.plain_types(each)) for each in (taken, given))
        types = FunctionTypes(*plain)
        inputs = InputTypes(types.arguments)
        return _Signature(operation, grid, taken, given, inputs, types, arguments)

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as problem:
            raise AttributeError(problem.args[0]) from problem

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def backend(self, name: str | None = None) -> Backend:
        """A backend by name, the program's own by default. Raises ValueError."""
        found = BACKENDS.get(name or self._backend)
        if found is None:
            raise ValueError(
                f"there is no backend '{name or self._backend}'; there are {', '.join(BACKENDS)}"
            )
        return found

    def choose_backend(self, name: str) -> None:
        """Let functions run with another backend. Raises ValueError if there is none."""
        self.backend(name)
        self._backend = name

    def statistics(self) -> list[DeviceStatistics]:
        """What each device did and held in the last run of native code.

        Empty before the first one. With the backend `mpi` all ranks must ask.
        """
        if self._backend == "mpi" and self.native().device_statistics:
            from .codegen.ranks import statistics_on_ranks

            return statistics_on_ranks(self.native())
        return self.native().device_statistics

    def native(self) -> CompiledProgram:
        """The program as native code for the devices at hand, made when it is first asked for.

        Its functions raise OperationError and InputError; in `located` these have places.
        """
        key = (
            self.devices,
            self.guard,
            self.workers,
            self.require_native,
            self.trace_host,
            self.timeline,
        )
        found = self._native.get(key)
        if found is None:
            # The backend takes time to import: only for who wants it.
            from .codegen.compile import compile_program

            found = self._native[key] = compile_program(
                self.module,
                self.workers,
                self.devices,
                self.guard,
                self.require_native,
                self.trace_host,
                self.timeline,
            )
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program with its native code to a file, which `mesh_opt.load` reads.

        Raises OSError, and ExecutionError at the first operation that runs in Python if
        `require_native` is set; else functions with one are compiled when they are run.
        """
        from .codegen.saving import save_program

        texts = [(each.name, each.content) for each in self._texts]
        with self.located():
            save_program(
                path,
                self.native(),
                self.source,
                texts,
                self.functions,
                self.grid,
                describe_place,
            )

    @property
    def host_code(self) -> str:
        """The instructions that run the functions on a device, as text.

        Raises ExecutionError at the first operation that has none.
        """
        from .codegen.host_code.lowering import host_code_text

        with self.located():
            return host_code_text(self.module)

    def located(self) -> _Located:
        """A `with` block in which errors of operations become ExecutionErrors."""
        return _Located(self._texts)


@dataclass(frozen=True, slots=True)
class ShardingMaps:
    """Pictures of the shardings of a program: `print` shows them, and notebooks draw them."""

    groups: Sequence[PlacedGroup]

    def __str__(self) -> str:
        from .passes.sharding.placed_values import render_shardings

        return render_shardings(self.groups)

    __repr__ = __str__

    def html(self) -> str:
        """The pictures for a page."""
        from .passes.sharding.placed_values import shardings_html

        return shardings_html(self.groups)

    _repr_html_ = html


@dataclass(frozen=True, slots=True)
class _Located:
    """Turns OperationErrors into ExecutionErrors with a place and an excerpt of the source."""

    texts: tuple[Source, ...]

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, OperationError):
            text = render(from_operation_error(problem), self.texts).rstrip()
            raise ExecutionError(text) from problem


class _StageKeeper:
    """Keeps the text of the program after each pass."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    def before(self, current: ModulePass, operation: Operation) -> None: ...

    def after(self, current: ModulePass, operation: Operation) -> None:
        self.stages.append(Stage(current.name, print_operation(operation)))

    def failed(self, current: ModulePass, operation: Operation) -> None: ...

    def enter(self, anchor: str) -> None: ...

    def leave(self, anchor: str) -> None: ...


def compile(
    source: str | os.PathLike[str] | ModuleOp | Source,
    pipeline: str | Sequence[ModulePass] = "",
    *,
    backend: str = "numba",
    grid: Grid | None = None,
    stages: bool = True,
    context: Context | None = None,
    parameters: Parameters | None = None,
    observers: Sequence[Observer] = (),
) -> Program:
    """Read a program and run a pipeline of passes on it.

    - `source`: MLIR text, the path of a file (a `Path`, or a string that ends in `.mlir`), or a
      module, which is copied;
    - `pipeline`: as mesh-opt's `--pass-pipeline` or `-p`, for example `"spmd"`, or pass objects;
    - `backend`: what the functions run with: `numba` (native code), `interpreter` (the reference,
      in NumPy), or `mpi` (native code, this process being one of the ranks);
    - `grid`: extents where the program leaves those of its grid open;
    - `stages`: whether to keep the text after each pass;
    - `context`: the dialects to read with; ours by default;
    - `parameters`: the contents of what the program names as parameters, by scope and key;
    - `observers`: what else is told of each pass.

    Raises CompilationError for a bad program or pipeline, OSError for a file that cannot be
    read, ValueError for an unknown backend.
    """
    context = context or new_context()
    steps = _steps(pipeline)
    module, texts = _read(source, context)
    _verify(module, texts)
    keeper = _StageKeeper()
    if stages:
        keeper.stages.append(Stage("input", print_operation(module)))
    watching: list[Observer] = [*observers, *([keeper] if stages else [])]
    try:
        if is_stablehlo(module):
            # What the program means is what its conversion computes.
            run_steps(context, module, [ConvertStablehloToLinalgPass()], watching)
            _verify(module, texts)
        original = module.clone()
        if any(operation.name == MANUAL_COMPUTATION for operation in original.walk()):
            # It has a meaning on all devices only, which is what its import makes of it.
            import_annotations(original)
            if not steps:
                module = original.clone()
        run_steps(context, module, steps, watching)
    except OperationError as failure:
        raise _compilation_error(from_operation_error(failure), texts) from failure
    except PassFailure as failure:
        message = f"pass '{failure.failed.name}' failed: {failure.message}"
        raise _compilation_error(error(message, place_of(failure.operation)), texts) from failure
    except InternalFault as fault:
        diagnostic = error(fault.describe(), place_of(fault.operation))
        raise _compilation_error(diagnostic, texts) from fault
    if steps:
        _verify(module, texts)
    if parameters is not None:
        try:
            provide_parameters(module, parameters)
            provide_parameters(original, parameters)
        except OperationError as failure:
            raise _compilation_error(from_operation_error(failure), texts) from failure

    def run_again(copy: ModuleOp, observers: Sequence[Observer]) -> None:
        run_steps(context, copy, steps, observers)

    return Program(original, module, keeper.stages, texts, backend, grid, run_again)


def _steps(pipeline: str | Sequence[ModulePass]) -> Sequence[Step]:
    if not isinstance(pipeline, str):
        return tuple(pipeline)
    if not pipeline.strip():
        return ()
    try:
        return build_root_steps(parse_pipeline(pipeline), pipeline, PassesOfAll(all_passes()))
    except PipelineError as problem:
        text = Source(problem.text, "pass-pipeline")
        line, column = text.line_and_column(problem.offset)
        raise CompilationError(
            f"pass-pipeline:{line}:{column}: error: {problem.message}"
        ) from problem


def _read(
    source: str | os.PathLike[str] | ModuleOp | Source, context: Context
) -> tuple[ModuleOp, list[Source]]:
    if isinstance(source, ModuleOp):
        return source.clone(), []
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and source.endswith(".mlir") and "\n" not in source
    ):
        path = Path(cast(str, source))
        source = Source(path.read_text(encoding="utf-8"), str(path))
    elif isinstance(source, str):
        source = Source(source, "<string>")
    try:
        return parse_module(context, source), [source]
    except ParseError as failure:
        raise _compilation_error(from_parse_error(failure), [source]) from failure


def _verify(module: ModuleOp, texts: Sequence[Source]) -> None:
    for failure in verification_errors(module):
        raise _compilation_error(from_operation_error(failure), texts) from failure


def _compilation_error(diagnostic: Diagnostic, texts: Sequence[Source]) -> CompilationError:
    return CompilationError(render(diagnostic, texts).rstrip())

"""`mesh-run`: run a function of an MLIR program and print its results as iree-run-module does.

`main` keeps no state between calls. Slow imports (NumPy, the interpreter, the backends) happen
after the arguments are parsed.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING, TextIO, TypeVar

from ..ir.activity import activity
from ..ir.usage_error import UsageError
from .command_line import option_hint
from .console import exit_at_once, fault_text, is_for_console, run_console
from .pass_watching import new_watchers, timed_stage
from .remarks import wants
from .run.options import INTRODUCTION, RANK, RunOptions, check_options, parse_command_line
from .run.ranks import MPI, run_on_ranks, runs_on_ranks
from .shared_options import information_text

if TYPE_CHECKING:
    from ..api import Function, Program
    from ..interpreter.parameters import Parameters
    from ..ir.text.source import Source
    from ..passes.manager.pass_options import PassTable
    from ..runtime.abi.arrays import Array
    from ..runtime.functions import FunctionsByName
    from ..saved_programs import LoadedProgram
    from .diagnostics import Diagnostic
    from .observers import Watchers
    from .run.program_cache import CachedProgram
    from .run.results import AnyFunction

OneFunction = TypeVar("OneFunction")

MAIN = "main"
"""The default function if there are several."""


def main(
    argv: Sequence[str],
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    caches_programs: bool = False,
) -> int:
    """Run the tool on the arguments after its name.

    Returns 0, or 1 if there was an error or an unexpected result. With `caches_programs`, compiled
    programs are cached for later runs.
    """
    try:
        options = parse_command_line(argv)
        information = information_text(options, "mesh-run", INTRODUCTION, _all_passes)
        if information is not None:
            stdout.write(information)
            return 0
        if options.measure_machine:
            return _measure_machine(stdout)
        if options.ranks is not None:
            from .run.start_ranks import start_ranks

            check_options(options)
            return start_ranks(options.ranks, argv, stdout, stderr, options.devices_per_rank)
        check_options(options)
        writes_output = options.backend != MPI or _check_ranks(options)
        return _Run(options, stdout, stderr, writes_output).start(stdin, caches_programs)
    except UsageError as problem:
        stderr.write(f"mesh-run: {problem}\n")
    except Exception as problem:
        if is_for_console(problem):
            raise
        stderr.write(_describe(problem))
    if "--debug" in argv:
        stderr.write(traceback.format_exc())
    return 1


def main_console() -> None:
    """Run `main` on the process's own arguments and streams (the console script)."""
    if runs_on_ranks(sys.argv[1:]):
        sys.exit(run_on_ranks(main))  # MPI is finalized at exit.
    exit_at_once(run_console(partial(main, caches_programs=True)))


def _describe(problem: Exception) -> str:
    from ..runtime.abi.arguments import InputError
    from ..runtime.abi.arrays import UnsupportedType
    from ..runtime.abi.errors import CompilationError, ExecutionError
    from ..runtime.checkpoints import CheckpointError
    from ..runtime.saved.fields import SavedFileError

    if isinstance(problem, CompilationError | ExecutionError):
        unknown = getattr(problem.__cause__, "unknown_pass", None)
        return f"{problem}{option_hint(unknown, RunOptions)}\n"
    if isinstance(problem, CheckpointError | InputError | SavedFileError | UnsupportedType):
        return f"mesh-run: {_printable(str(problem))}\n"
    if isinstance(problem, MemoryError):
        return f"mesh-run: out of memory: {problem}\n"
    return fault_text("mesh-run", problem)


@cache
def _compile_runtime() -> None:
    """Compile the native runtime in the background if it is not cached.

    This thread parses the program meanwhile, since LLVM releases the interpreter's lock.
    """

    def compile() -> None:
        from ..runtime.device_machines import compile_machine_functions

        # The code that runs a program reports errors.
        with suppress(Exception):
            compile_machine_functions()

    Thread(target=compile, name="mesh-run runtime", daemon=True).start()


def _measure_machine(stdout: TextIO) -> int:
    from ..sharding.machine import machine_text
    from .run.measure_machine import measured_machine

    stdout.write(machine_text(measured_machine()))
    return 0


@dataclass(frozen=True)
class _Run:
    """One run with its options. Most methods return the exit code."""

    options: RunOptions
    stdout: TextIO
    stderr: TextIO
    writes_output: bool
    """Whether this rank prints the results and writes files."""

    def start(self, stdin: TextIO, caches_programs: bool) -> int:
        """Run the program of the command line. Raises UsageError."""
        from .run.saved import is_saved

        options = self.options
        if is_saved(options.file):
            return self._run_saved_file()
        from ..ir.text.source import read_source

        source = read_source(options.file, stdin)
        options.check_watched(_all_passes() if options.watches_passes else {})
        if not options.remarks:
            from .run.program_cache import cached_run

            cached = cached_run(options, source) if caches_programs else None
            if cached is not None:
                loaded = cached.load(lambda: _compile(options, source, None)[0], options.workers)
                if loaded is not None:
                    return self._run_loaded(loaded)
            return self._run_source(source, cached)
        from ..ir.diagnostics import remarks_to
        from .diagnostics import render
        from .remarks import remark_sink

        def report(diagnostic: Diagnostic) -> None:
            self.stderr.write(render(diagnostic, [source]))

        with remarks_to(remark_sink(options.remarks, report)):
            return self._run_source(source, None)

    def _run_source(self, source: Source, cached: CachedProgram | None) -> int:
        """Compile and run a program, then store it in the cache `cached`."""
        options = self.options
        watchers = new_watchers(options, self.stderr)
        if options.backend != "interpreter":
            _compile_runtime()
        with timed_stage(watchers, "Compilation"):
            program, is_transformed = _compile(options, source, watchers)
        if options.device == ("list",):
            from .run.devices import list_devices

            self.stdout.write(list_devices(program.module))
            return 0
        with timed_stage(watchers, "Execution"):
            if options.backend != "interpreter" and wants(options.remarks, "backend"):
                from ..codegen.explain import explain_kernels

                explain_kernels(program.module)
            code = self._run_program(program, is_transformed)
        if watchers is not None:
            watchers.report()
        if cached is not None and not code:
            self.stdout.flush()
            cached.store(program)
        return code

    def _run_program(self, program: Program, is_transformed: bool) -> int:
        """Run a program; `is_transformed` is whether passes have run on it."""
        options = self.options
        program.inputs_per_rank = options.inputs_per_rank
        program.devices_per_rank = options.devices_per_rank
        function = _chosen_function(options, program)
        if options.extents is not None:
            from .run.devices import given_grid

            program.grid = function.grid = given_grid(options.extents, function)
        if options.simulate:
            return _simulate(options, function, self.stdout)
        inputs = _inputs(options, function)
        reference = None
        if options.check is not None:
            reference = _reference(options, function, is_transformed)
        program.guard = options.guard or None
        program.workers, program.require_native = options.workers, options.require_native
        if options.trace_host:
            program.trace_host = self.stderr.write
        if options.per_device:
            self.stdout.write(f"EXEC @{_printable(function.name)}\n")
            return _run_per_device(function, inputs, options, self.stdout)
        results, code = self._run_function(function, inputs)
        if reference is not None:
            from .run.results import compare_reference

            with activity("running the reference interpreter"):
                expected = reference.reference(inputs)
            rounding = reference.rounding()
            agrees = compare_reference(function, results, expected, rounding, options, self.stdout)
            return code if agrees else 1
        return code

    def _run_saved_file(self) -> int:
        """Run a saved program, or its IR if the options need the compiler."""
        from .run.saved import load_program, needs_compiler

        loaded = load_program(self.options, self.stderr)
        if needs_compiler(self.options):
            program = loaded.compiled()
            program.choose_backend(self.options.backend or "")
            return self._run_program(program, True)
        return self._run_loaded(loaded)

    def _run_loaded(self, loaded: LoadedProgram) -> int:
        function = _chosen_function(self.options, loaded)
        return self._run_function(function, _inputs(self.options, function))[1]

    def _run_function(
        self, function: AnyFunction, inputs: Sequence[Array]
    ) -> tuple[list[Array], int]:
        """Run a function, write and compare its results; return them and the exit code."""
        from .run.results import check_outputs, compare_expected, write_results, write_statistics
        from .run.steps import run_function

        options, stdout = self.options, self.stdout
        check_outputs(function, options)
        stdout.write(f"EXEC @{_printable(function.name)}\n")
        results = run_function(options, function, inputs, self.writes_output)
        if any(RANK in text for text in options.output):
            from .run.rank_files import write_rank_results

            write_rank_results(options, function, results)
        if self.writes_output:
            write_results(function, results, options, stdout)
        if options.statistics:
            write_statistics(function.program.statistics(), stdout)
        agrees = True
        if options.expected_output:
            agrees = compare_expected(function, results, options, stdout)
        return results, 0 if agrees else 1


def _compile(
    options: RunOptions, source: Source, watchers: Watchers | None
) -> tuple[Program, bool]:
    """Compile the program; return it and whether any passes ran."""
    from ..api import compile

    parameters, pipeline = _parameters(options), options.pipeline
    observers = watchers.observers if watchers is not None else ()
    backend = options.backend or ""
    build = partial(compile, source, backend=backend, parameters=parameters)
    # Without passes, the devices of the program may require some.
    program = build(pipeline, observers=observers if pipeline or not options.device else ())
    if options.device and options.device != ("list",):
        from .run.devices import check_kinds, pipeline_to_devices

        check_kinds(options.device)
        if not pipeline and (pipeline := pipeline_to_devices(program.module)):
            program = build(pipeline, observers=observers)
        program.devices = options.device
    return program, bool(pipeline)


def _simulate(options: RunOptions, function: Function, stdout: TextIO) -> int:
    """Print the predicted time of a run on a machine. Raises UsageError."""
    from ..ir.machine_files import read_machine
    from ..passes.sharding.cost.simulate import simulate
    from ..sharding.machine import MachineError
    from .output_files import write_output

    assert options.machine is not None
    machine = read_machine(options.machine)
    program = function.program
    try:
        with program.located():
            simulation = simulate(program.module, function.name, machine)
    except MachineError as problem:
        raise UsageError(f"--machine={options.machine}: the machine {problem}") from problem
    stdout.write(simulation.text())
    if options.simulated_trace is not None:
        write_output(options.simulated_trace, simulation.trace())
    return 0


def _all_passes() -> PassTable:
    from ..passes.registry import all_passes
    from .plugins import PassLookup

    return PassLookup(all_passes())


def _parameters(options: RunOptions) -> Parameters | None:
    """Return the parameters in the given files; `None` if there are none."""
    from .run.parameter_files import read_parameters

    return read_parameters(options.parameters) if options.parameters else None


def _check_ranks(options: RunOptions) -> bool:
    """Check the options of a run on ranks; return whether this rank writes the output.

    All ranks have the same results, so one of them is enough. Raises UsageError.
    """
    from importlib.util import find_spec

    if options.per_device:
        raise UsageError("--per-device runs all devices in one process, not with --backend=mpi")
    if options.inputs_per_rank and options.check is not None:
        raise UsageError("--check runs on one set of inputs, not with --inputs-per-rank")
    if find_spec("mpi4py") is None:
        return True
    from ..runtime.mpi.rank_supervisor import supervisor

    ranks = supervisor()
    if options.timeout is not None:
        ranks.timeout = options.timeout
    if ranks.size > 1 and options.file == "-":
        raise UsageError("only one rank has standard input: name the file of the program")
    return ranks.rank == 0


def _printable(text: str) -> str:
    """Escape control characters other than newlines, which a terminal would execute."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\{ord(c):02X}" for c in text)


def _chosen_function(options: RunOptions, program: FunctionsByName[OneFunction]) -> OneFunction:
    name = options.function
    if name is None:
        public = program.functions
        if len(public) != 1 and MAIN in public:
            public = [MAIN]
        if len(public) != 1:
            if not public:
                raise UsageError(f"'{options.file}' has no public function to run")
            known = ", ".join(f"@{each}" for each in public)
            raise UsageError(f"--function= must say which function to run; there are {known}")
        (name,) = public
    try:
        return program[name]
    except KeyError as problem:
        raise UsageError(str(problem.args[0])) from problem


def _inputs(options: RunOptions, function: AnyFunction) -> list[Array]:
    from .run.inputs import missing_inputs, random_inputs, read_inputs

    types = function.types.arguments
    if any(RANK in text for text in options.input):
        from .run.rank_files import read_rank_inputs

        function.program.inputs_per_rank = True
        inputs = read_rank_inputs(options, function)
    else:
        inputs = read_inputs(options.input, types)
    if options.random_inputs is not None:
        seed, extent = options.random_inputs, options.random_extent
        inputs += random_inputs(seed, types, len(inputs), extent)
    elif len(inputs) < len(types):
        what = missing_inputs(types, len(inputs))
        raise UsageError(f"@{_printable(function.name)} {what}")
    return list(function.arrays(inputs))


def _reference(options: RunOptions, function: Function, is_transformed: bool) -> Function:
    """Return the function before all passes, for the reference result. Raises UsageError."""
    from ..api import compile
    from ..ir.text.source import read_source

    if not options.check:
        if not is_transformed and function.grid is not None:
            raise UsageError(
                f"@{function.name} is partitioned already: --check=FILE must name the program"
                " before that, or --pass-pipeline the passes to run here"
            )
        return function
    if options.check == "-":
        raise UsageError("--check= needs a file, not standard input")
    parameters = _parameters(options)
    program = compile(read_source(options.check), parameters=parameters)
    try:
        original = program[function.name]
    except KeyError as problem:
        raise UsageError(f"--check={options.check}: {problem.args[0]}") from problem
    if list(map(str, original.argument_types)) != list(map(str, function.argument_types)):
        raise UsageError(
            f"--check={options.check}: @{function.name} takes different inputs from the program "
            "that is run"
        )
    return original


def _run_per_device(
    function: Function, inputs: Sequence[Array], options: RunOptions, stdout: TextIO
) -> int:
    from ..interpreter.global_values import GlobalValues, plain_types
    from ..interpreter.run import boundaries, result_types, run_spmd
    from .run.value_text import format_result

    if function.grid is None:
        raise UsageError(f"--per-device: @{function.name} runs on a single device")
    program = function.program
    types = plain_types(result_types(function.operation))
    with program.located():
        shards = boundaries(function.operation)
        local = GlobalValues(function.operation, *shards, function.grid).scattered(inputs)
        outputs = run_spmd(program.module, function.name, local, function.grid, program.devices)
    for device, results in enumerate(outputs):
        for index, (array, value_type) in enumerate(zip(results, types, strict=True)):
            text = format_result(index, array, value_type, options.output_max_element_count)
            stdout.write(f"device[{device}] {text}\n")
    return 0


if __name__ == "__main__":
    main_console()

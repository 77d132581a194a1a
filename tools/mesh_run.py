"""`mesh-run`: runs a function of an MLIR program and prints its results as iree-run-module does.

`main` keeps no state between calls. What is heavy (NumPy, the interpreter, the backends) is
imported when the arguments have been understood.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING, TextIO, overload

from ..ir.activity import activity
from ..ir.usage_error import UsageError
from .command_line import option_hint, version_text
from .console import fault_text, is_for_console, run_console
from .ranks import MPI, run_on_ranks, runs_on_ranks
from .remarks import wants
from .run_options import RANK, RunOptions, check_options, help_of_options, parse_command_line

if TYPE_CHECKING:
    from ..api import Function, Program
    from ..interpreter.parameters import Parameters
    from ..ir.text.source import Source
    from ..passes.manager.pass_options import PassTable
    from ..runtime.abi.arrays import Array
    from ..saved_programs import LoadedFunction, LoadedProgram
    from .diagnostics import Diagnostic
    from .kept_programs import KeptProgram
    from .observers import Watchers

    AnyFunction = Function | LoadedFunction

MAIN = "main"
"""The function that runs where none is named and there are several."""


def main(
    argv: Sequence[str],
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    keeps_programs: bool = False,
) -> int:
    """Run the tool with the arguments behind its name. Returns 0, or 1 if there was an error or a
    result was not as expected. If it `keeps_programs`, what it compiles serves later runs, too.
    """
    try:
        options = parse_command_line(argv)
        information = _information(options)
        if information is not None:
            stdout.write(information)
            return 0
        if options.measure_machine:
            return _measure_machine(stdout)
        if options.ranks is not None:
            from .start_ranks import start_ranks

            check_options(options)
            return start_ranks(options.ranks, argv, stdout, stderr, options.devices_per_rank)
        check_options(options)
        is_heard = options.backend != MPI or _check_ranks(options)
        return _Run(options, stdout, stderr, is_heard).start(stdin, keeps_programs)
    except UsageError as problem:
        stderr.write(f"mesh-run: {problem}\n")
    except Exception as problem:
        if is_for_console(problem):
            raise
        stderr.write(_describe(problem))
    if "--debug" in argv:
        stderr.write(traceback.format_exc())
    return 1


def _information(options: RunOptions) -> str | None:
    """What an option that only asks for information prints; None if there is work to do."""
    if options.help or options.help_list:
        return help_of_options(options)
    if options.version:
        return version_text()
    if options.shell_completion is not None:
        from ..passes.registry import all_passes
        from .completion import completion_script

        return completion_script("mesh-run", options.shell_completion, RunOptions, all_passes())
    return None


def main_console() -> None:
    """The console script: `main` on the process's own arguments and streams."""
    sys.exit(
        run_on_ranks(main)
        if runs_on_ranks(sys.argv[1:])
        else run_console(partial(main, keeps_programs=True))
    )


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
    """Let the native code that runs every program be compiled, if it is not in the cache yet,
    while this thread reads the program: LLVM does not hold the interpreter's lock."""

    def compile() -> None:
        from ..runtime.host.virtual_machine import prepare

        # Whoever runs a program tells what is wrong.
        with suppress(Exception):
            prepare()

    Thread(target=compile, name="mesh-run runtime", daemon=True).start()


def _measure_machine(stdout: TextIO) -> int:
    from ..sharding.machine import machine_text
    from .measure_machine import measured_machine

    stdout.write(machine_text(measured_machine()))
    return 0


@dataclass(frozen=True)
class _Run:
    """One run as the options ask for it. Its exit code is what most methods return."""

    options: RunOptions
    stdout: TextIO
    stderr: TextIO
    is_heard: bool
    """Whether this rank writes the results."""

    def start(self, stdin: TextIO, keeps_programs: bool) -> int:
        """Run the program of the command line. Raises UsageError."""
        from .run_saved import is_saved

        options = self.options
        if is_saved(options.file):
            return self._saved()
        from ..ir.text.source import read_source

        source = read_source(options.file, stdin)
        options.check_pass_names(_all_passes() if options.watches_passes else {})
        if not options.remarks:
            kept = _kept(options, source) if keeps_programs else None
            if kept is not None:
                loaded = kept.load(lambda: _compile(options, source, None)[0], options.workers)
                if loaded is not None:
                    return self._loaded(loaded)
            return self._source(source, kept)
        from ..ir.diagnostics import remarks_to
        from .diagnostics import render
        from .remarks import remark_sink

        def report(diagnostic: Diagnostic) -> None:
            self.stderr.write(render(diagnostic, [source]))

        with remarks_to(remark_sink(options.remarks, report)):
            return self._source(source, None)

    def _source(self, source: Source, kept: KeptProgram | None) -> int:
        """Run a program, and keep it."""
        options = self.options
        watchers = _watchers(options, self.stderr)
        if options.backend != "interpreter":
            _compile_runtime()
        with _stage(watchers, "Compilation"):
            program, is_transformed = _compile(options, source, watchers)
        if options.device == ("list",):
            from .run_devices import list_devices

            self.stdout.write(list_devices(program.module))
            return 0
        with _stage(watchers, "Execution"):
            if options.backend != "interpreter" and wants(options.remarks, "backend"):
                from ..codegen.explain import explain_kernels

                explain_kernels(program.module)
            code = self._program(program, is_transformed)
        if watchers is not None:
            watchers.report()
        if kept is not None and not code:
            self.stdout.flush()
            kept.keep(program)
        return code

    def _program(self, program: Program, is_transformed: bool) -> int:
        """Run a program; passes have made it what it is if it `is_transformed`."""
        options = self.options
        program.inputs_per_rank = options.inputs_per_rank
        program.devices_per_rank = options.devices_per_rank
        function = _function(options, program)
        if options.extents is not None:
            from .run_devices import given_grid

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
        results, code = self._function(function, inputs)
        if reference is not None:
            from .run_results import compare_reference

            with activity("running the reference interpreter"):
                expected = reference.reference(inputs)
            rounding = reference.rounding()
            agrees = compare_reference(function, results, expected, rounding, options, self.stdout)
            return code if agrees else 1
        return code

    def _saved(self) -> int:
        """Run a saved program: its native code, or its IR if options need that."""
        from .run_saved import load_program, needs_compiler

        loaded = load_program(self.options, self.stderr)
        if needs_compiler(self.options):
            program = loaded.compiled()
            program.choose_backend(self.options.backend or "")
            return self._program(program, True)
        return self._loaded(loaded)

    def _loaded(self, loaded: LoadedProgram) -> int:
        function = _function(self.options, loaded)
        return self._function(function, _inputs(self.options, function))[1]

    def _function(self, function: AnyFunction, inputs: Sequence[Array]) -> tuple[list[Array], int]:
        """Run a function, and write and compare what it gives; returns that and the exit code."""
        from .run_results import check_outputs, compare_expected, write_results, write_statistics
        from .run_steps import run_as_asked

        options, stdout = self.options, self.stdout
        check_outputs(function, options)
        stdout.write(f"EXEC @{_printable(function.name)}\n")
        results = run_as_asked(options, function, inputs, self.is_heard)
        if any(RANK in text for text in options.output):
            from .rank_files import write_rank_results

            write_rank_results(options, function, results)
        if self.is_heard:
            write_results(function, results, options, stdout)
        if options.statistics:
            write_statistics(function.program.statistics(), stdout)
        agrees = True
        if options.expected_output:
            agrees = compare_expected(function, results, options, stdout)
        return results, 0 if agrees else 1


def _kept(options: RunOptions, source: Source) -> KeptProgram | None:
    from .kept_programs import kept_run

    return kept_run(options, source)


def _compile(
    options: RunOptions, source: Source, watchers: Watchers | None
) -> tuple[Program, bool]:
    """The program after its passes, and whether there were any."""
    from ..api import compile

    parameters, pipeline = _parameters(options), options.pipeline
    observers = watchers.observers if watchers is not None else ()
    backend = options.backend or ""
    build = partial(compile, source, backend=backend, stages=False, parameters=parameters)
    # Without passes, the devices of the program may ask for some.
    program = build(pipeline, observers=observers if pipeline or not options.device else ())
    if options.device and options.device != ("list",):
        from .run_devices import check_kinds, pipeline_to_devices

        check_kinds(options.device)
        if not pipeline and (pipeline := pipeline_to_devices(program.module)):
            program = build(pipeline, observers=observers)
        program.devices = options.device
    return program, bool(pipeline)


def _simulate(options: RunOptions, function: Function, stdout: TextIO) -> int:
    """Print what a run on a machine would take, without one. Raises UsageError."""
    from ..ir.machine_files import read_machine
    from ..passes.sharding.simulate import simulate
    from ..sharding.machine import MachineError
    from .output_files import open_output

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
        with open_output(options.simulated_trace) as file:
            file.write(simulation.trace().encode())
    return 0


def _all_passes() -> PassTable:
    from ..passes.registry import all_passes
    from .plugins import PassesOfAll

    return PassesOfAll(all_passes())


def _watchers(options: RunOptions, stderr: TextIO) -> Watchers | None:
    if not options.watches_passes:
        return None
    from .driver import print_as
    from .observers import Watchers

    return Watchers(options, stderr, partial(print_as, options))


def _stage(watchers: Watchers | None, name: str) -> AbstractContextManager[None]:
    timing = watchers.timing if watchers is not None else None
    return timing.stage(name) if timing is not None else nullcontext()


def _parameters(options: RunOptions) -> Parameters | None:
    """The contents of the files that are given; `None` if there are none."""
    from .parameter_files import read_parameters

    return read_parameters(options.parameters) if options.parameters else None


def _check_ranks(options: RunOptions) -> bool:
    """Look at what only one process can do; returns whether this rank writes the results.

    All ranks have the same, so one of them is enough. Raises UsageError.
    """
    from importlib.util import find_spec

    if options.per_device:
        raise UsageError("--per-device runs all devices in one process, not with --backend=mpi")
    if options.inputs_per_rank and options.check is not None:
        raise UsageError("--check runs on one set of inputs, not with --inputs-per-rank")
    if find_spec("mpi4py") is None:
        return True
    from ..runtime.mpi.supervisor import supervisor

    ranks = supervisor()
    if options.timeout is not None:
        ranks.timeout = options.timeout
    if ranks.size > 1 and options.file == "-":
        raise UsageError("only one rank has standard input: name the file of the program")
    return ranks.rank == 0


def _printable(text: str) -> str:
    """A text without characters that a terminal would obey, but for the ends of lines."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\{ord(c):02X}" for c in text)


@overload
def _function(options: RunOptions, program: Program) -> Function: ...
@overload
def _function(options: RunOptions, program: LoadedProgram) -> LoadedFunction: ...
def _function(options: RunOptions, program: Program | LoadedProgram) -> AnyFunction:
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
    from .run_files import missing_inputs, random_inputs, read_inputs

    types = function.types.arguments
    if any(RANK in text for text in options.input):
        from .rank_files import read_rank_inputs

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
    """The function whose meaning before all passes is compared with. Raises UsageError."""
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
    program = compile(read_source(options.check), stages=False, parameters=parameters)
    try:
        original = program[function.name]
    except KeyError as problem:
        raise UsageError(f"--check={options.check}: {problem.args[0]}") from problem
    if list(map(str, original.argument_types)) != list(map(str, function.argument_types)):
        raise UsageError(
            f"--check={options.check}: @{function.name} takes other inputs than the program run"
        )
    return original


def _run_per_device(
    function: Function, inputs: Sequence[Array], options: RunOptions, stdout: TextIO
) -> int:
    from ..interpreter.global_values import GlobalValues, plain_types
    from ..interpreter.run import boundaries, result_types, run_spmd
    from .value_text import format_result

    if function.grid is None:
        raise UsageError(f"--per-device: @{function.name} runs on one device alone")
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

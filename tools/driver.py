"""Run `mesh-opt` on one input: parse, run passes, report, print."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from ..dialects.registry import register_dialects
from ..ir.activity import activity
from ..ir.diagnostics import Note, OperationError, pass_output_to, remark, remarks_to
from ..ir.flags import run_with
from ..ir.nesting_limits import deep_recursion
from ..ir.text.parser import parse_module
from ..ir.text.printer import print_operation
from ..ir.text.source import Source
from ..ir.usage_error import UsageError
from ..ir.verification import verification_errors
from ..passes.manager.pass_manager import (
    InternalFault,
    Observer,
    PassFailure,
    Step,
    describe_steps,
    run_steps,
)
from .diagnostics import (
    Diagnostic,
    SourcePosition,
    describe_position,
    error,
    from_parse_error,
    position_of,
    render,
)
from .opt.reporter import Reporter
from .output_files import write_output
from .pass_watching import new_watchers, timed_stage
from .plugins import PluginContext, load_dialects
from .remarks import remark_sink, wants, yaml_sink

if TYPE_CHECKING:
    from ..dialects.iree_encoding.interfaces import Spelling
    from .observers import EncodedTensors
    from .opt.options import Options
    from .pass_records import LastPass


class Driver:
    """Processes the pieces of one input and collects their diagnostics."""

    def __init__(
        self, options: Options, steps: tuple[Step, ...], whole: Source, stderr: TextIO
    ) -> None:
        self._options = options
        self._steps = steps
        self._whole = whole
        self._stderr = stderr
        self._watchers = new_watchers(options, stderr)
        self._last_pass = _new_last_pass() if options.mlir_pass_pipeline_local_reproducer else None
        self._remark_texts: list[str] = []
        self._reporter = Reporter(options, whole, stderr)
        self._report = self._reporter.report

    @property
    def has_errors(self) -> bool:
        """Return whether any error was reported so far."""
        return self._reporter.has_errors

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Return all diagnostics so far."""
        return self._reporter.diagnostics

    def report_measures(self) -> None:
        """Write the timing report and all other measurements."""
        if self._watchers is not None:
            self._watchers.report()
        if self._options.remark_format == "yaml":
            write_output(self._options.remarks_output_file, "".join(self._remark_texts))

    def process(self, source: Source) -> str | None:
        """Process a piece of the input and return the output text; `None` if there was an error."""
        try:
            with self._run_context():
                return self._process(source)
        except RecursionError:
            self._report(
                error("the program is nested too deeply", SourcePosition(source.name, 1, 1))
            )
            self._show_traceback()
        return None

    def _process(self, source: Source) -> str | None:
        context = new_context(self._options.allow_unregistered_dialect)
        load_dialects(context, self._options.load_dialect_plugin)
        with timed_stage(self._watchers, "Parser"):
            module = self._read(context, source)
        if module is None:
            return None
        self._remark_ignored(module)
        encoded = _new_encoded_tensors() if self._options.encoding_report else None
        watching = self._watchers.observers if self._watchers is not None else []
        more = [each for each in (encoded, self._last_pass) if each is not None]
        before = self._runnable(module) if self._options.emit == "program" else None
        if not self._run(context, module, source, [*watching, *more]):
            return None
        if not self._report_on(module, encoded):
            return None
        if before is not None:
            self._save(before, module, source)
            return None
        return self._output(module)

    def _remark_ignored(self, module: ModuleOp) -> None:
        """Remark on the options that have no effect."""
        if self._options.ignored:
            from .opt.iree_options import IGNORED

            for name in self._options.ignored:
                remark("backend", module, f"--{name} is ignored: {IGNORED[name].reason}")

    def _report_on(self, module: ModuleOp, encoded: EncodedTensors | None) -> bool:
        """Write the requested reports on the program after all passes; return whether all can be.

        `encoded` has the encoded tensors that a pass has lowered to bytes.
        """
        if wants(self._options.remarks, "backend"):
            from ..codegen.explain import explain_kernels
            from ..passes.imports.conversions import for_kernels

            explain_kernels(for_kernels(module))
        if self._options.shard_cost_report is not None and not self._report_costs(module):
            return False
        if self._options.show_shardings:
            self._show_shardings(module)
        if encoded is not None:
            from ..passes.encoding.encoding_report import encoded_tensors, render_report

            rows = list(encoded_tensors(module)) if encoded.rows is None else encoded.rows
            self._stderr.write(render_report(rows))
        return True

    def _output(self, module: ModuleOp) -> str:
        """Return the text of the program, or that of its host code."""
        if self._options.emit == "host-code":
            # Importing the backend takes time.
            from ..codegen.host_code.lowering import host_code_text
            from ..passes.imports.conversions import for_kernels

            return host_code_text(for_kernels(module))
        if self._options.spelling != "as-read":
            from ..dialects.iree_encoding.respelling import respell

            respell(module, cast("Spelling", self._options.spelling))
        with timed_stage(self._watchers, "Output"):
            return print_operation(module, self._options.style()) + "\n"

    def _report_costs(self, module: ModuleOp) -> bool:
        """Write the cost report; return whether the machine is large enough for the program."""
        from ..ir.machine_files import read_machine
        from ..passes.sharding.cost.cost_report import render_json, render_report
        from ..sharding.machine import MachineError

        name = self._options.machine
        machine = None if name is None else read_machine(name)
        render = render_json if self._options.shard_cost_report == "json" else render_report
        try:
            self._stderr.write(render(module, machine))
        except MachineError as problem:
            self._report(error(f"machine {name} {problem}"))
            return False
        return True

    def _show_shardings(self, module: ModuleOp) -> None:
        from ..passes.sharding.annotations.placed_values import placed_groups, render_shardings

        groups = placed_groups(module)
        self._stderr.write(render_shardings(groups, color=self._reporter.color))

    def _runnable(self, module: ModuleOp) -> ModuleOp:
        """Return a copy of a program to compare with, with imported dialects converted.

        The meaning of a StableHLO program is that of its conversion.
        """
        from ..passes.imports.conversions import convert_imported

        convert_imported(module)
        return module.clone()

    def _save(self, before: ModuleOp, module: ModuleOp, source: Source) -> None:
        """Save a program and its form before the passes to the file of `-o`. Raises UsageError."""
        from ..codegen.compile import CompiledProgram
        from ..codegen.saving import save_program
        from ..interpreter.run import public_functions
        from ..passes.imports.conversions import for_kernels

        module = for_kernels(module)
        path, names = self._options.output, public_functions(module)
        texts = [(source.name, source.content)]
        program = CompiledProgram(module)
        try:
            save_program(path, program, before, texts, names, None, describe_position)
        except OSError as problem:
            raise UsageError(f"cannot write '{path}': {problem.strerror}") from problem

    def _read(self, context: Context, source: Source) -> ModuleOp | None:
        try:
            with activity(f"reading {source.name}"):
                module = parse_module(
                    context, source, implicit_module=not self._options.no_implicit_module
                )
        except ParseError as failure:
            self._report(from_parse_error(failure))
            self._show_traceback()
            return None
        is_trusted = self._options.mlir_very_unsafe_disable_verifier_on_parsing
        if not is_trusted and not self._verify(module):
            return None
        if self._options.verify_roundtrip and not self._verify_roundtrip(context, module):
            return None
        return module

    def _verify(self, module: ModuleOp, *notes: Note) -> bool:
        failures = list(verification_errors(module))
        for failure in failures:
            failure.notes += notes
            self._reporter.report_operation_error(failure)
        return not failures

    def _verify_roundtrip(self, context: Context, module: ModuleOp) -> bool:
        for generic in (False, True):
            text = print_operation(module, generic=generic)
            form = "generic" if generic else "custom"
            try:
                again = parse_module(context, Source(text, f"<{form} form>"))
            except ParseError as failure:
                diagnostic = from_parse_error(failure)
                self._report(error(f"the {form} form does not parse: {diagnostic.message}"))
                self._stderr.write(render(diagnostic, [Source(text, f"<{form} form>")]))
                return False
            if not module.is_structurally_equivalent(again):
                self._report(error(f"the {form} form reads as different IR", position_of(module)))
                return False
        return True

    def _run(
        self,
        context: Context,
        module: ModuleOp,
        source: Source,
        observers: Sequence[Observer],
    ) -> bool:
        options = self._options
        if options.mlir_generate_reproducer is not None:
            self._write_reproducer(source, options.mlir_generate_reproducer)
        try:
            if options.report is None:
                run_steps(context, module, self._steps, observers)
            else:
                self._run_reported(context, module, observers, options.report)
        except OperationError as failure:
            self._reporter.report_operation_error(failure)
            self._after_failure(source)
            return False
        except PassFailure as failure:
            diagnostic = error(failure.describe(), position_of(failure.operation))
            self._reporter.error_at(failure.operation, diagnostic, failure)
            self._after_failure(source)
            return False
        except InternalFault as fault:
            self._report(error(fault.describe(), position_of(fault.operation)))
            self._show_traceback()
            self._write_reproducer(source, options.mlir_pass_pipeline_crash_reproducer)
            return False
        left_behind = Note("the passes produced this; --verify-each shows which one")
        return not self._steps or self._verify(module, left_behind)

    def _run_reported(
        self, context: Context, module: ModuleOp, observers: Sequence[Observer], path: str
    ) -> None:
        """Run the passes and write the HTML report, also if a pass fails."""
        from .html_report.page import recorded_pipeline, render_page

        with recorded_pipeline(module) as recorder:
            try:
                run_steps(context, module, self._steps, [*observers, recorder])
            finally:
                write_output(path, render_page(f"mesh-opt {self._whole.name}", recorder.stages))

    def _after_failure(self, source: Source) -> None:
        self._show_traceback()
        if self._options.mlir_pass_pipeline_crash_reproducer is not None:
            self._write_reproducer(source, self._options.mlir_pass_pipeline_crash_reproducer)

    def _write_reproducer(self, source: Source, path: str | None) -> None:
        from .opt.reproducer import write_reproducer

        program, pipeline = source.content, describe_steps(self._steps)
        if self._last_pass is not None and self._last_pass.pipeline:
            program, pipeline = self._last_pass.program, self._last_pass.pipeline
        try:
            written = write_reproducer(program, pipeline, path)
        except UsageError as failure:
            self._stderr.write(f"mesh-opt: no reproducer: {failure}\n")
        else:
            self._stderr.write(
                f"mesh-opt: wrote {written}; `mesh-opt --run-reproducer {written}` runs it again\n"
            )

    def _show_traceback(self) -> None:
        if self._options.debug:
            self._stderr.write(traceback.format_exc())

    @contextmanager
    def _run_context(self) -> Generator[None]:
        """Set up the context of a run: recursion limit, remarks, reports and flags.

        An OperationError in the `with` block is reported.
        """
        with (
            deep_recursion(),
            self._remarks(),
            pass_output_to(self._stderr.write),
            run_with(self._options.flags()),
        ):
            try:
                yield
            except OperationError as failure:
                self._reporter.report_operation_error(failure)

    @contextmanager
    def _remarks(self) -> Generator[None]:
        wanted = self._options.remarks
        if not wanted:
            yield
            return

        repeats = self._options.remark_policy == "all"
        if self._options.remark_format == "yaml":
            sink = yaml_sink(wanted, self._remark_texts, repeats=repeats)
        else:
            sink = remark_sink(wanted, self._report, repeats=repeats)
        with remarks_to(sink):
            yield


def _new_encoded_tensors() -> EncodedTensors:
    from .observers import EncodedTensors

    return EncodedTensors()


def _new_last_pass() -> LastPass:
    from .pass_records import LastPass

    return LastPass()


def new_context(allow_unregistered: bool = False) -> Context:
    """Return a context with all dialects of the tools registered and none loaded."""
    context = PluginContext(allow_unregistered=allow_unregistered)
    register_dialects(context)
    return context

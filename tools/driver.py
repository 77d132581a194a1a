"""From options and text to text: the work of `mesh-opt` on one input."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from ..dialects.registry import register_dialects
from ..ir.diagnostics import OperationError, remarks_to
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
    Place,
    Severity,
    error,
    from_operation_error,
    from_parse_error,
    place_of,
    render,
)
from .options import Options
from .plugins import PluginContext
from .remarks import remark_sink, wants
from .shared_options import Printing

if TYPE_CHECKING:
    from ..dialects.iree_encoding.interfaces import Spelling
    from .observers import EncodedTensors, Timing


class Driver:
    """Processes the pieces of one input and collects what there is to say about them."""

    def __init__(
        self, options: Options, steps: tuple[Step, ...], whole: Source, stderr: TextIO
    ) -> None:
        self._options = options
        self._steps = steps
        self._whole = whole
        self._stderr = stderr
        self._timing = _new_timing() if options.mlir_timing else None
        self.diagnostics: list[Diagnostic] = []

    @property
    def has_errors(self) -> bool:
        """Whether any error was found so far."""
        return any(one.severity is Severity.ERROR for one in self.diagnostics)

    def report(self, diagnostic: Diagnostic) -> None:
        """Take note of a diagnostic, and print it at once unless it will be checked instead."""
        self.diagnostics.append(diagnostic)
        if not self._options.verify_diagnostics:
            self._stderr.write(render(diagnostic, [self._whole]))

    def report_timing(self) -> None:
        """Print where the time went, if that is wanted."""
        if self._timing is not None:
            self._timing.report(self._stderr)

    def process(self, source: Source) -> str | None:
        """The text of what a piece of the input becomes; None if there was an error."""
        try:
            with deep_recursion(), self._remarks():
                return self._process(source)
        except RecursionError:
            self.report(error("the program is nested too deeply", Place(source.name, 1, 1)))
            self._show_traceback()
            return None

    def _process(self, source: Source) -> str | None:
        context = new_context(self._options.allow_unregistered_dialect)
        with self._stage("Parser"):
            module = self._read(context, source)
        encoded = _new_encoded_tensors() if self._options.encoding_report else None
        observers = [*self._observers(), *([] if encoded is None else [encoded])]
        if module is None or not self._run(context, module, source, observers):
            return None
        if wants(self._options.remarks, "backend"):
            from ..codegen.explain import explain_kernels

            explain_kernels(module)
        if self._options.shard_cost_report:
            from ..passes.sharding.cost_report import render_report

            self._stderr.write(render_report(module))
        if encoded is not None:
            from ..passes.encoding.encoding_report import encoded_tensors
            from ..passes.encoding.encoding_report import render_report as render_encodings

            rows = list(encoded_tensors(module)) if encoded.rows is None else encoded.rows
            self._stderr.write(render_encodings(rows))
        if self._options.emit == "host-code":
            return self._host_code(module)
        if not self._respell(module):
            return None
        with self._stage("Output"):
            return self.print_ir(module) + "\n"

    def _host_code(self, module: ModuleOp) -> str | None:
        # The backend takes time to import: only for who wants it.
        from ..codegen.host_code.lowering import host_code_text

        try:
            return host_code_text(module)
        except OperationError as failure:
            self.report(from_operation_error(failure))
            return None

    def print_ir(self, operation: Operation) -> str:
        """The text of an operation in the form that the options ask for."""
        return print_as(self._options, operation)

    def _read(self, context: Context, source: Source) -> ModuleOp | None:
        try:
            module = parse_module(
                context, source, implicit_module=not self._options.no_implicit_module
            )
        except ParseError as failure:
            self.report(from_parse_error(failure))
            self._show_traceback()
            return None
        if not self._verify(module):
            return None
        if self._options.verify_roundtrip and not self._survives_roundtrip(context, module):
            return None
        return module

    def _respell(self, module: ModuleOp) -> bool:
        """Give the encoding dialects the names that were asked for."""
        if self._options.spelling == "as-read":
            return True
        from ..dialects.iree_encoding.respelling import respell

        try:
            respell(module, cast("Spelling", self._options.spelling))
        except OperationError as failure:
            self.report(from_operation_error(failure))
            return False
        return True

    def _verify(self, module: ModuleOp) -> bool:
        failures = list(verification_errors(module))
        for failure in failures:
            self.report(from_operation_error(failure))
        return not failures

    def _survives_roundtrip(self, context: Context, module: ModuleOp) -> bool:
        for generic in (False, True):
            text = print_operation(module, generic=generic)
            form = "generic" if generic else "custom"
            try:
                again = parse_module(context, Source(text, f"<{form} form>"))
            except ParseError as failure:
                diagnostic = from_parse_error(failure)
                self.report(error(f"the {form} form does not parse: {diagnostic.message}"))
                self._stderr.write(render(diagnostic, [Source(text, f"<{form} form>")]))
                return False
            if not module.is_structurally_equivalent(again):
                self.report(error(f"the {form} form reads as different IR", place_of(module)))
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
            run_steps(context, module, self._steps, observers)
        except OperationError as failure:
            self.report(from_operation_error(failure))
            self._after_failure(source)
            return False
        except PassFailure as failure:
            message = f"pass '{failure.failed.name}' failed: {failure.message}"
            self.report(error(message, place_of(failure.operation)))
            self._after_failure(source)
            return False
        except InternalFault as fault:
            self._report_fault(fault, source)
            return False
        return not self._steps or self._verify(module)

    def _observers(self) -> list[Observer]:
        options = self._options
        if not options.watches_passes:
            return []
        from .observers import observers_of

        return observers_of(options, self._stderr, self.print_ir, self._timing)

    def _report_fault(self, fault: InternalFault, source: Source) -> None:
        self.report(error(fault.describe(), place_of(fault.operation)))
        self._show_traceback()
        self._write_reproducer(source, self._options.mlir_pass_pipeline_crash_reproducer)

    def _after_failure(self, source: Source) -> None:
        self._show_traceback()
        if self._options.mlir_pass_pipeline_crash_reproducer is not None:
            self._write_reproducer(source, self._options.mlir_pass_pipeline_crash_reproducer)

    def _write_reproducer(self, source: Source, path: str | None) -> None:
        from .reproducer import write_reproducer

        try:
            written = write_reproducer(source.content, describe_steps(self._steps), path)
        except UsageError as failure:
            self._stderr.write(f"mesh-opt: no reproducer: {failure}\n")
        else:
            self._stderr.write(
                f"mesh-opt: wrote {written}; `mesh-opt --run-reproducer {written}` runs it again\n"
            )

    def _show_traceback(self) -> None:
        if self._options.debug:
            self._stderr.write(traceback.format_exc())

    def _stage(self, name: str) -> AbstractContextManager[None]:
        return self._timing.stage(name) if self._timing is not None else nullcontext()

    @contextmanager
    def _remarks(self) -> Generator[None]:
        wanted = self._options.remarks
        if not wanted:
            yield
            return

        with remarks_to(remark_sink(wanted, self.report)):
            yield


def print_as(options: Printing, operation: Operation) -> str:
    """The text of an operation in the form that the options ask for."""
    return print_operation(operation, options.style())


def _new_encoded_tensors() -> EncodedTensors:
    from .observers import EncodedTensors

    return EncodedTensors()


def _new_timing() -> Timing:
    from .observers import Timing

    return Timing()


def new_context(allow_unregistered: bool = False) -> Context:
    """A context in which every dialect that our tools read is registered, and none is loaded."""
    context = PluginContext(allow_unregistered=allow_unregistered)
    register_dialects(context)
    return context

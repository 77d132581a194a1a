"""Collect and print the diagnostics of a run."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, TextIO

from xdsl.ir import Operation

from ...ir.diagnostics import OperationError
from ...ir.text.print_style import PrintStyle
from ...ir.text.printer import print_operation
from ...ir.text.source import Source
from ..diagnostics import (
    Diagnostic,
    Severity,
    from_operation_error,
    position_of,
    render,
    with_notes,
)

if TYPE_CHECKING:
    from .options import Diagnostics

_LEVELS = {
    "errors": (Severity.ERROR,),
    "warnings": (Severity.ERROR, Severity.WARNING),
    "remarks": tuple(Severity),
}


class Reporter:
    """Collects the diagnostics of a run, and prints them without `--verify-diagnostics`."""

    def __init__(self, options: Diagnostics, whole: Source, stderr: TextIO) -> None:
        self._options = options
        self._whole = whole
        self._stderr = stderr
        self.color = stderr.isatty() if options.color is None else options.color
        self.diagnostics: list[Diagnostic] = []

    @property
    def has_errors(self) -> bool:
        """Return whether any error was reported so far."""
        return any(one.severity is Severity.ERROR for one in self.diagnostics)

    def report(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic, and print it unless `--verify-diagnostics` will check it."""
        options = self._options
        self.diagnostics.append(diagnostic)
        if options.verify_diagnostics is not None:
            return
        if diagnostic.severity not in _LEVELS[options.mlir_diagnostic_verbosity_level]:
            return
        if options.mlir_disable_diagnostic_notes:
            diagnostic = with_notes(diagnostic, ())
        self._stderr.write(render(diagnostic, [self._whole], color=self.color))

    def report_operation_error(self, failure: OperationError) -> None:
        """Report an OperationError of a pass or the verifier, with all errors attached to it."""
        for each in (failure, *failure.others):
            self.error_at(each.operation, from_operation_error(each), each)

    def error_at(self, operation: Operation, diagnostic: Diagnostic, cause: Exception) -> None:
        """Report an error at an operation, with the additional notes that the options request."""
        notes = [*diagnostic.notes]
        if self._options.mlir_print_op_on_diagnostic:
            style = PrintStyle(generic=True, aliases=False)
            text = f"see current operation: {print_operation(operation, style)}"
            notes.append(Diagnostic(Severity.NOTE, text, position_of(operation)))
        if self._options.mlir_print_stacktrace_on_diagnostic:
            frames = traceback.format_tb(cause.__traceback__) or traceback.format_stack()
            text = f"diagnostic emitted with trace:\n{''.join(frames).rstrip()}"
            notes.append(Diagnostic(Severity.NOTE, text, position_of(operation)))
        self.report(with_notes(diagnostic, notes))

"""Observers of passes: printing IR, timing, verification, and their set-up from options."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.attribute_access import operation_name, symbol_name
from ..ir.diagnostics import Note, OperationError
from ..ir.regions import outermost
from ..ir.text.print_style import PrintStyle
from ..ir.text.printer import print_operation
from ..ir.verification import verify
from ..passes.manager.pass_manager import Observer
from .pass_records import ActionLog, ActionProfile, IrTree, PassStatistics, heading, write_text

if TYPE_CHECKING:
    from ..passes.encoding.encoding_report import EncodedTensor
    from .opt.options import Options
    from .run.options import RunOptions


@dataclass(frozen=True, kw_only=True)
class PrintFilter:
    """Before and after which passes to print the IR."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    only_changes: bool = False
    only_failures: bool = False

    @property
    def nothing(self) -> bool:
        """Return whether no IR is printed at all."""
        return not (self.before or self.after or self.before_all or self._any_after)

    @property
    def _any_after(self) -> bool:
        return self.after_all or self.only_changes or self.only_failures

    def shown_before(self, name: str) -> bool:
        """Return whether the IR is printed before a pass."""
        return self.before_all or name in self.before

    def shown_after(self, name: str) -> bool:
        """Return whether the IR may be printed after a pass."""
        if self.after and not self.after_all:
            return name in self.after
        return self._any_after


class IrPrinting(Observer):
    """Prints the IR before and after passes, with the headings of `mlir-opt`.

    With `module_scope` the whole module is printed. With a `tree` the IR goes to its files.
    """

    def __init__(
        self,
        print_filter: PrintFilter,
        stream: TextIO,
        style: PrintStyle,
        *,
        module_scope: bool = False,
        tree: IrTree | None = None,
    ) -> None:
        self._filter = print_filter
        self._stream = stream
        self._style = style
        self._module_scope = module_scope
        self._tree = tree
        self._text_before = ""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Print the IR if requested. Store its text if only changes are printed."""
        if self._filter.shown_before(current.name):
            self._print("Before", current, operation, self._text(operation))
        if self._filter.only_changes and self._filter.shown_after(current.name):
            self._text_before = self._text(operation)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Print the IR if requested."""
        if not self._filter.only_failures and self._filter.shown_after(current.name):
            text = self._text(operation)
            if not self._filter.only_changes or text != self._text_before:
                self._print("After", current, operation, text)
        if self._tree is not None:
            self._tree.count(operation)

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Print the IR left by a failed pass."""
        if self._filter.shown_after(current.name):
            self._print("After", current, operation, self._text(operation), " Failed")

    def enter(self, anchor: str) -> None:
        """Start separate file numbers for a nested pipeline."""
        if self._tree is not None:
            self._tree.enter()

    def leave(self, anchor: str) -> None:
        """Return to the file numbers of the outer pipeline."""
        if self._tree is not None:
            self._tree.leave()

    def _text(self, operation: Operation) -> str:
        shown = outermost(operation) if self._module_scope else operation
        return print_operation(shown, self._style)

    def _print(
        self, when: str, current: ModulePass, operation: Operation, text: str, verdict: str = ""
    ) -> None:
        if self._tree is not None:
            suffix = "" if when == "After" else "_before"
            self._tree.write(f"{current.name}{suffix}", operation, text)
            return
        where = ""
        if self._module_scope:
            symbol = symbol_name(operation)
            where = f" ('{operation_name(operation)}' operation{f': @{symbol}' if symbol else ''})"
        title = f"IR Dump {when} {type(current).__name__}{verdict} ({current.name}){where}"
        self._stream.write(f"// -----// {title} //----- //\n{text}\n\n")


class EncodedTensors(Observer):
    """Records the rows of the encoding report before a pass lowers encoded tensors to bytes."""

    def __init__(self) -> None:
        self.rows: list[EncodedTensor] | None = None
        """`None` if no such pass has run."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Record the encoded tensors if this pass lowers them to bytes."""
        from ..passes.encoding.encoding_report import encoded_tensors
        from ..passes.stream.encode_host_tensors import encode_host_tensors

        if isinstance(current, encode_host_tensors) and isinstance(operation, ModuleOp):
            self.rows = [*(self.rows or ()), *encoded_tensors(operation)]


class VerifyingEach(Observer):
    """Verifies the IR after every pass."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Verify the IR. Raises OperationError with a note that names the pass."""
        try:
            verify(operation)
        except OperationError as failure:
            raise OperationError(
                failure.operation,
                failure.message,
                [*failure.notes, Note(f"pass '{current.name}' produced this")],
            ) from failure


class Watchers:
    """The observers of passes that the options request, and their reports."""

    def __init__(self, options: Options | RunOptions, stream: TextIO) -> None:
        self._options = options
        self._stream = stream
        self.timing = Timing() if options.mlir_timing else None
        self._profile = ActionProfile() if options.profile_actions_to is not None else None
        self._statistics = (
            PassStatistics(options.mlir_pass_statistics_display)
            if options.mlir_pass_statistics
            else None
        )
        self._log: list[str] = []
        self.observers = [*self._checks(), *self._records()]

    def _checks(self) -> list[Observer]:
        options = self._options
        observers: list[Observer] = []
        print_filter = PrintFilter(
            before=frozenset(options.mlir_print_ir_before),
            after=frozenset(options.mlir_print_ir_after),
            before_all=options.mlir_print_ir_before_all,
            after_all=options.mlir_print_ir_after_all,
            only_changes=options.mlir_print_ir_after_change,
            only_failures=options.mlir_print_ir_after_failure,
        )
        if options.verify_each:
            observers.append(VerifyingEach())
        if not print_filter.nothing:
            folder = options.mlir_print_ir_tree_dir
            tree = IrTree(folder) if folder is not None else None
            scope = options.mlir_print_ir_module_scope
            observers.append(
                IrPrinting(
                    print_filter, self._stream, options.style(), module_scope=scope, tree=tree
                )
            )
        return observers

    def _records(self) -> list[Observer]:
        path = self._options.log_actions_to
        observers: list[Observer] = []
        if path is not None:
            write = self._stream.write if path == "-" else self._log.append
            observers.append(ActionLog(write, self._options.log_mlir_actions_filter))
        measured = (self._statistics, self._profile, self.timing)
        return [*observers, *(each for each in measured if each is not None)]

    def report(self) -> None:
        """Write all measurements. Raises UsageError for a file that cannot be written."""
        options = self._options
        if self._statistics is not None:
            self._statistics.report(self._stream)
        if self._profile is not None and options.profile_actions_to is not None:
            write_text(options.profile_actions_to, self._profile.text(), self._stream)
        if self._log and options.log_actions_to is not None:
            write_text(options.log_actions_to, "".join(self._log), self._stream)
        if self.timing is not None:
            self.timing.report(
                self._stream, options.mlir_timing_display, options.mlir_output_format
            )


@dataclass
class Timer:
    """The time spent under a name, with nested timers."""

    seconds: float = 0.0
    children: dict[str, Timer] = field(default_factory=dict[str, "Timer"])

    def child(self, name: str) -> Timer:
        """Return the nested timer of a name."""
        return self.children.setdefault(name, Timer())


class Timing(Observer):
    """Measures wall time by pass and pipeline, and reports it as MLIR's `--mlir-timing` does."""

    def __init__(self) -> None:
        self._root = Timer()
        self._begin = time.perf_counter()
        self._open: list[tuple[Timer, float]] = [(self._root, self._begin)]

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Measure the time of the `with` block under a name."""
        self._start(name)
        try:
            yield
        finally:
            self._stop()

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Start the timer of a pass."""
        self._start(type(current).__name__)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Stop the timer of a pass."""
        self._stop()

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Stop the timer of a pass."""
        self._stop()

    def enter(self, anchor: str) -> None:
        """Start the timer of a nested pipeline."""
        self._start(f"'{anchor}' Pipeline")

    def leave(self, anchor: str) -> None:
        """Stop the timer of a nested pipeline."""
        self._stop()

    def _start(self, name: str) -> None:
        self._open.append((self._open[-1][0].child(name), time.perf_counter()))

    def _stop(self) -> None:
        timer, begin = self._open.pop()
        timer.seconds += time.perf_counter() - begin

    def report(self, stream: TextIO, display: str = "tree", form: str = "text") -> None:
        """Write the timing report as a tree or a list, in text or JSON."""
        total = time.perf_counter() - self._begin
        rows = list(_rows(self._root)) if display == "tree" else _listed(self._root)
        rest = total - sum(timer.seconds for timer in self._root.children.values())
        rows += [(0, "Rest", rest), (0, "Total", total)]
        if form == "json":
            entries = [
                json.dumps({"wall": _wall(seconds, total), "name": name, "depth": depth})
                for depth, name, seconds in rows
            ]
            stream.write("[\n" + ",\n".join(entries) + "\n]\n")
            return
        stream.write(heading("Execution time report"))
        stream.write(f"  Total Execution Time: {total:.4f} seconds\n\n")
        stream.write("  ----Wall Time----  ----Name----\n")
        for depth, name, seconds in rows:
            share = _share(seconds, total)
            stream.write(f"  {seconds:8.4f} ({share:5.1f}%)  {'  ' * depth}{name}\n")


def _share(seconds: float, total: float) -> float:
    return 100 * seconds / total if total else 0.0


def _wall(seconds: float, total: float) -> dict[str, float]:
    share = round(_share(seconds, total), 1)
    return {"duration": round(seconds, 6), "percentage": share}


def _rows(timer: Timer, depth: int = 0) -> Iterator[tuple[int, str, float]]:
    for name, child in timer.children.items():
        yield depth, name, child.seconds
        yield from _rows(child, depth + 1)


def _listed(timer: Timer) -> list[tuple[int, str, float]]:
    """Return the total time of each name, longest first; times include nested timers.

    A timer inside of one with the same name is a part of that one's time.
    """
    sums: dict[str, float] = {}

    def add(timer: Timer, outer: frozenset[str]) -> None:
        for name, child in timer.children.items():
            if name not in outer:
                sums[name] = sums.get(name, 0.0) + child.seconds
            add(child, outer | {name})

    add(timer, frozenset())
    return sorted(((0, name, each) for name, each in sums.items()), key=lambda row: -row[2])

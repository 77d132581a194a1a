"""What can be watched while passes run: the IR, the clock, and whether the IR stays valid."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.diagnostics import Note, OperationError
from ..ir.verification import verify

if TYPE_CHECKING:
    from ..passes.encoding.encoding_report import EncodedTensor
    from ..passes.manager.pass_manager import Observer
    from .shared_options import Watching


class QuietObserver:
    """An observer that does nothing; the base of those that do something."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Nothing to do."""

    def enter(self, anchor: str) -> None:
        """Nothing to do."""

    def leave(self, anchor: str) -> None:
        """Nothing to do."""


@dataclass(frozen=True, kw_only=True)
class WhatToPrint:
    """Around which passes the IR is printed."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    only_changes: bool = False
    only_failures: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no pass is printed at all."""
        return not (self.before or self.after or self.before_all or self._any_after)

    @property
    def _any_after(self) -> bool:
        return self.after_all or self.only_changes or self.only_failures

    def shown_before(self, name: str) -> bool:
        """Whether the IR is printed before a pass."""
        return self.before_all or name in self.before

    def shown_after(self, name: str) -> bool:
        """Whether the IR may be printed after a pass."""
        if self.after and not self.after_all:
            return name in self.after
        return self._any_after


class IrPrinting(QuietObserver):
    """Prints the IR before and after passes, under headings as `mlir-opt` prints them."""

    def __init__(
        self, wanted: WhatToPrint, stream: TextIO, print_ir: Callable[[Operation], str]
    ) -> None:
        self._wanted = wanted
        self._stream = stream
        self._print_ir = print_ir
        self._text_before = ""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Print the IR if it is wanted; keep it if only changes are."""
        if self._wanted.shown_before(current.name):
            self._print("Before", current, self._print_ir(operation))
        if self._wanted.only_changes and self._wanted.shown_after(current.name):
            self._text_before = self._print_ir(operation)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Print the IR if it is wanted."""
        if self._wanted.only_failures or not self._wanted.shown_after(current.name):
            return
        text = self._print_ir(operation)
        if not self._wanted.only_changes or text != self._text_before:
            self._print("After", current, text)

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Print what a failing pass left behind."""
        if self._wanted.shown_after(current.name):
            self._print("After", current, self._print_ir(operation), " Failed")

    def _print(self, when: str, current: ModulePass, text: str, verdict: str = "") -> None:
        title = f"IR Dump {when} {type(current).__name__}{verdict} ({current.name})"
        self._stream.write(f"// -----// {title} //----- //\n{text}\n\n")


class EncodedTensors(QuietObserver):
    """Takes down what the encoding report lists, before a pass turns tensors into bytes."""

    def __init__(self) -> None:
        self.rows: list[EncodedTensor] | None = None
        """None if no pass has done that."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """List the encoded tensors if the pass makes bytes of them."""
        from ..passes.encoding.encoding_report import encoded_tensors
        from ..passes.stream.encode_host_tensors import EncodeHostTensorsPass

        if isinstance(current, EncodeHostTensorsPass) and isinstance(operation, ModuleOp):
            self.rows = [*(self.rows or ()), *encoded_tensors(operation)]


class VerifyingEach(QuietObserver):
    """Verifies the IR after every pass."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Raise OperationError if a pass left invalid IR behind."""
        try:
            verify(operation)
        except OperationError as failure:
            raise OperationError(
                failure.operation,
                failure.message,
                [*failure.notes, Note(f"pass '{current.name}' left this behind")],
            ) from failure


def observers_of(
    options: Watching,
    stream: TextIO,
    print_ir: Callable[[Operation], str],
    timing: Timing | None,
) -> list[Observer]:
    """What watches the passes, as the options ask for."""
    observers: list[Observer] = []
    wanted = WhatToPrint(
        before=frozenset(options.mlir_print_ir_before),
        after=frozenset(options.mlir_print_ir_after),
        before_all=options.mlir_print_ir_before_all,
        after_all=options.mlir_print_ir_after_all,
        only_changes=options.mlir_print_ir_after_change,
        only_failures=options.mlir_print_ir_after_failure,
    )
    if options.verify_each:
        observers.append(VerifyingEach())
    if not wanted.nothing:
        observers.append(IrPrinting(wanted, stream, print_ir))
    if timing is not None:
        observers.append(timing)
    return observers


@dataclass
class Timer:
    """Time spent under one name, and under the names inside it."""

    seconds: float = 0.0
    children: dict[str, Timer] = field(default_factory=dict[str, "Timer"])

    def child(self, name: str) -> Timer:
        """The timer of a name inside this one."""
        return self.children.setdefault(name, Timer())


class Timing(QuietObserver):
    """Measures wall time by pass and pipeline, and reports it as `--mlir-timing` of MLIR does."""

    def __init__(self) -> None:
        self._root = Timer()
        self._begin = time.perf_counter()
        self._open: list[tuple[Timer, float]] = [(self._root, self._begin)]

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Measure what happens in the `with` block."""
        self._start(name)
        try:
            yield
        finally:
            self._stop()

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Start the clock of a pass."""
        self._start(type(current).__name__)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Stop the clock of a pass."""
        self._stop()

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Stop the clock of a pass."""
        self._stop()

    def enter(self, anchor: str) -> None:
        """Start the clock of a nested pipeline."""
        self._start(f"'{anchor}' Pipeline")

    def leave(self, anchor: str) -> None:
        """Stop the clock of a nested pipeline."""
        self._stop()

    def _start(self, name: str) -> None:
        self._open.append((self._open[-1][0].child(name), time.perf_counter()))

    def _stop(self) -> None:
        timer, begin = self._open.pop()
        timer.seconds += time.perf_counter() - begin

    def report(self, stream: TextIO) -> None:
        """Write the table of all that was measured."""
        total = time.perf_counter() - self._begin
        line = "===" + "-" * 73 + "===\n"
        stream.write(f"{line}{'... Execution time report ...':^79}".rstrip() + f"\n{line}")
        stream.write(f"  Total Execution Time: {total:.4f} seconds\n\n")
        stream.write("  ----Wall Time----  ----Name----\n")

        def row(name: str, seconds: float, depth: int) -> None:
            share = 100 * seconds / total if total else 0.0
            stream.write(f"  {seconds:8.4f} ({share:5.1f}%)  {'  ' * depth}{name}\n")

        def rows(timer: Timer, depth: int) -> None:
            for name, child in timer.children.items():
                row(name, child.seconds, depth)
                rows(child, depth + 1)

        rows(self._root, 0)
        row("Rest", total - sum(t.seconds for t in self._root.children.values()), 0)
        row("Total", total, 0)

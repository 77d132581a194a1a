"""Observers that record a pass run: IR files, statistics, an action log, a reproducer."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.attribute_access import operation_name, symbol_name
from ..ir.regions import enclosing, outermost
from ..ir.text.printer import print_operation
from ..ir.usage_error import UsageError
from ..passes.manager.pass_manager import Observer, describe_steps
from .diagnostics import position_of
from .output_files import write_output

HEAVY_LINE = "===" + "-" * 73 + "===\n"


def heading(title: str) -> str:
    """Return the heading of a report in MLIR's style."""
    return f"{HEAVY_LINE}{f'... {title} ...':^79}".rstrip() + f"\n{HEAVY_LINE}"


class IrTree:
    """Files of IR in one folder per operation that passes run on, named as by `mlir-opt`."""

    def __init__(self, folder: str) -> None:
        self._root = Path(folder)
        self._counts: list[dict[str, int]] = [{}]
        self._outer: list[int] = []
        """The numbers of the enclosing pipelines."""

    def enter(self) -> None:
        """Enter a nested pipeline, which counts as one pass."""
        self._outer.append(self._counts[-1].get("", 0))
        self._counts.append({})

    def leave(self) -> None:
        """Leave a nested pipeline."""
        self._counts.pop()
        self._counts[-1][""] = self._outer.pop() + 1

    def write(self, name: str, operation: Operation, text: str) -> None:
        """Write the IR before or after a pass. Raises UsageError if it cannot be written."""
        folder = self._folder(operation)
        number = self._counts[-1].get(self._key(operation), 0)
        path = folder / f"{'_'.join(map(str, [*self._outer, number]))}_{name}.mlir"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageError(f"cannot make '{folder}': {problem.strerror}") from problem
        write_output(str(path), f"{text}\n")

    def count(self, operation: Operation) -> None:
        """Count a pass that has finished on an operation."""
        key, counts = self._key(operation), self._counts[-1]
        counts[key] = counts.get(key, 0) + 1

    def _key(self, operation: Operation) -> str:
        return str(self._folder(operation)) if self._outer else ""

    def _folder(self, operation: Operation) -> Path:
        return self._root.joinpath(*self._folders_of(operation))

    def _folders_of(self, operation: Operation) -> list[str]:
        names = [
            f"{operation_name(each)}_{symbol_name(each) or 'no-symbol-name'}"
            for each in enclosing(operation)
        ]
        return [re.sub(r"[^\w-]", "_", name) for name in reversed(names)]


class PassStatistics(Observer):
    """The number of operations before and after each pass."""

    def __init__(self, display: str) -> None:
        self._display = display
        self._rows: list[tuple[str, int, int, int]] = []
        self._depth = 0
        self._before = 0

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Count the operations before the pass."""
        self._before = _size(operation)

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Count the operations after the pass."""
        row = type(current).__name__, self._depth, self._before, _size(operation)
        self._rows.append(row)

    def enter(self, anchor: str) -> None:
        """Indent the passes of a nested pipeline."""
        self._rows.append((f"'{anchor}' Pipeline", self._depth, -1, -1))
        self._depth += 1

    def leave(self, anchor: str) -> None:
        """End the indentation of a nested pipeline."""
        self._depth -= 1

    def report(self, stream: TextIO) -> None:
        """Write the counts by pass, or summed up and sorted by name."""
        stream.write(heading("Pass statistics report"))
        rows = self._rows if self._display == "pipeline" else self._summed()
        for name, depth, found, left in rows:
            indent = "  " * (depth if self._display == "pipeline" else 0)
            stream.write(f"{indent}{name}\n")
            if found >= 0:
                stream.write(f"{indent}  (S) {found} num-ops-before - Operations before it\n")
                stream.write(f"{indent}  (S) {left} num-ops-after - Operations after it\n")

    def _summed(self) -> list[tuple[str, int, int, int]]:
        sums: dict[str, tuple[int, int]] = {}
        for name, _, found, left in self._rows:
            if found >= 0:
                before, after = sums.get(name, (0, 0))
                sums[name] = before + found, after + left
        return [(name, 0, *sums[name]) for name in sorted(sums)]


def _size(operation: Operation) -> int:
    return sum(1 for _ in operation.walk())


class ActionLog(Observer):
    """Logs a line when a pass begins and one when it ends."""

    def __init__(self, write: Callable[[str], object], places: tuple[str, ...]) -> None:
        self._write = write
        self._places = places

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Log the beginning of a pass."""
        if self._is_logged(operation):
            self._write(
                f"[thread {threading.current_thread().name}] begins Action `pass-execution` running"
                f" `{type(current).__name__}` on Operation `{operation_name(operation)}`\n"
            )

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Log the end of a pass."""
        if self._is_logged(operation):
            thread = threading.current_thread().name
            self._write(f"[thread {thread}] completed `pass-execution`\n")

    def _is_logged(self, operation: Operation) -> bool:
        position = f"{position_of(operation)}:"
        return not self._places or any(position.startswith(f"{each}:") for each in self._places)


class ActionProfile(Observer):
    """Records passes as trace events for Perfetto or chrome://tracing."""

    def __init__(self) -> None:
        self._events: list[dict[str, object]] = []

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Record the beginning of a pass."""
        name, place = type(current).__name__, operation_name(operation)
        what = f"`pass-execution` running `{name}` on Operation `{place}`"
        self._event("B", args={"desc": what, "pass": current.name})

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Record the end of a pass."""
        self._event("E")

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Record the end of a failed pass."""
        self._event("E")

    def _event(self, phase: str, **more: object) -> None:
        event = {"name": "pass-execution", "cat": "PERF", "ph": phase, "pid": 0}
        thread = threading.get_ident()
        self._events.append({**event, "tid": thread, "ts": time.perf_counter_ns() // 1000, **more})

    def text(self) -> str:
        """Return all events as JSON."""
        events = ",\n".join(map(json.dumps, self._events))
        return f"[{events}]\n"


@dataclass
class LastPass(Observer):
    """The last pass that started and the program before it, for a local reproducer."""

    program: str = ""
    pipeline: str = ""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Store the program before the pass."""
        root = outermost(operation)
        self.program = print_operation(root if isinstance(root, ModuleOp) else operation)
        self.pipeline = describe_steps([current])


def write_text(path: str, text: str, stderr: TextIO) -> None:
    """Write text to a file, or to standard error for `-`. Raises UsageError."""
    if path == "-":
        stderr.write(text)
        return
    write_output(path, text)

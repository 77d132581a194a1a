"""Timelines of devices for Perfetto and Chrome: kernels, copies, collectives, waits, compilation.

The loop returns to Python after each instruction, so gaps between kernels are longer than without a
timeline; the times of kernels and collectives themselves are not affected.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, BinaryIO

ROWS = 1 << 8
"""Rows reserved per process: one for each of its devices."""


_UNITS = {"kernel": "tiles", "compile": "kernels"}
"""Units of events' amounts, where they are not bytes."""


@dataclass(frozen=True, slots=True)
class Event:
    """An interval of a device's activity; times are in nanoseconds.

    - `kind`: `kernel`, `copy`, `collective` or `compile`;
    - `device`: the device's number in its process, 0 if the program names none;
    - `amount`: bytes of a copy or of a collective's result, tiles of a kernel, compiled kernels;
    - `group`: the participants of a collective;
    - `number`: (instruction, how many times the process has executed it) of a collective.
    """

    kind: str
    name: str
    process: int
    device: int
    start: int
    end: int
    amount: int
    group: tuple[int, ...] = ()
    number: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Span:
    """An interval in a row of the timeline; `kind` may also be `wait`."""

    row: int
    kind: str
    name: str
    start: int
    end: int
    details: dict[str, Any]


class Timeline:
    """The events of a program's runs on all devices of this process."""

    def __init__(self, events: Sequence[Event] = (), origin: int | None = None) -> None:
        self._events = list(events)
        self._occurrences: Counter[tuple[int, int]] = Counter()
        self._lock = threading.Lock()
        self.origin = perf_counter_ns() if origin is None else origin
        """The time that is written as 0."""

    def add(self, event: Event) -> None:
        """Record an event; thread-safe."""
        with self._lock:
            self._events.append(event)

    def next_occurrence(self, process: int, instruction: int) -> tuple[int, int]:
        """Return the number of a process's next collective at an instruction.

        It is the same on all participants.
        """
        with self._lock:
            self._occurrences[process, instruction] += 1
            return instruction, self._occurrences[process, instruction]

    @property
    def events(self) -> list[Event]:
        """All events so far, ordered by their start."""
        with self._lock:
            return sorted(self._events, key=lambda each: each.start)

    def rows(self) -> dict[int, str]:
        """Return the names of devices with events, by row number."""
        found = sorted({(each.process, each.device) for each in self.events})
        return {
            process * ROWS + device: f"process {process}" + (f", device {device}" if device else "")
            for process, device in found
        }

    def spans(self) -> list[Span]:
        """Return events as spans; a collective is preceded by a wait for its last participant."""
        events, arrivals = self.events, dict[object, int]()
        for each in events:
            arrivals[each.group, each.number] = each.start
        return [span for each in events for span in _spans(each, arrivals)]

    def write(self, file: BinaryIO) -> None:
        """Write Chrome's trace event format."""
        rows: list[dict[str, Any]] = [
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": row, "args": {"name": name}}
            for row, name in self.rows().items()
        ]
        for span in self.spans():
            named = {"name": span.name, "cat": span.kind, "ph": "X", "pid": 0, "tid": span.row}
            times = {"ts": (span.start - self.origin) / 1000, "dur": (span.end - span.start) / 1000}
            rows.append({**named, **times, "args": span.details})
        file.write(json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"}).encode())


def _spans(event: Event, arrivals: Mapping[object, int]) -> Iterator[Span]:
    row, began = event.process * ROWS + event.device, event.start
    if event.group:
        began = min(event.end, max(event.start, arrivals[event.group, event.number]))
        if began > event.start:
            yield Span(row, "wait", "wait", event.start, began, {"for": event.name})
    unit = _UNITS.get(event.kind, "bytes")
    details: dict[str, Any] = {unit: event.amount}
    if event.group:
        details["devices"] = list(event.group)
    yield Span(row, event.kind, event.name, began, event.end, details)

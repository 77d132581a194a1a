"""When devices did what, for Perfetto and Chrome: kernels, copies, collectives, waits, and the
compilation of kernels before their first run.

The loop returns after each instruction, so what is between kernels takes longer than without a
timeline; the times of kernels and collectives are their own.
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
"""Rows of a process: one for each of its own devices."""


_UNITS = {"kernel": "tiles", "compile": "kernels"}
"""What the amounts of events count, if not bytes."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a device did, from one time in nanoseconds to another.

    - `kind`: `kernel`, `copy`, `collective` or `compile`;
    - `device`: which of the process's own, 0 if its program names none;
    - `amount`: bytes of a copy or of what a collective gave, tiles of a kernel, compiled kernels;
    - `group`: of a collective, who met;
    - `number`: which meeting of that group at that instruction it was.
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
    """A piece of a row of the timeline: `kind` may also be `wait`."""

    row: int
    kind: str
    name: str
    start: int
    end: int
    details: dict[str, Any]


class Timeline:
    """The events of the runs of a program, on all devices of this process."""

    def __init__(self, events: Sequence[Event] = (), origin: int | None = None) -> None:
        self._events = list(events)
        self._meetings: Counter[tuple[int, int]] = Counter()
        self._lock = threading.Lock()
        self.origin = perf_counter_ns() if origin is None else origin
        """The time that is 0 in what is written."""

    def add(self, event: Event) -> None:
        """Note an event; devices may do so at the same time."""
        with self._lock:
            self._events.append(event)

    def meeting(self, process: int, instruction: int) -> tuple[int, int]:
        """The number of a process's next meeting at an instruction: others have the same there."""
        with self._lock:
            self._meetings[process, instruction] += 1
            return instruction, self._meetings[process, instruction]

    @property
    def events(self) -> list[Event]:
        """All events so far, in the order of their beginning."""
        with self._lock:
            return sorted(self._events, key=lambda each: each.start)

    def rows(self) -> dict[int, str]:
        """The devices that did something: the number of a row for each, and its name."""
        found = sorted({(each.process, each.device) for each in self.events})
        return {
            process * ROWS + device: f"process {process}" + (f", device {device}" if device else "")
            for process, device in found
        }

    def spans(self) -> list[Span]:
        """What the rows show: events, and before collectives the time until the last one came."""
        events, arrivals = self.events, dict[object, int]()
        for each in events:
            arrivals[each.group, each.number] = each.start
        return [span for each in events for span in _spans(each, arrivals)]

    def write(self, file: BinaryIO) -> None:
        """Write the trace event format of Chrome."""
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

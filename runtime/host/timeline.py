"""When devices did what, for Perfetto and Chrome: kernels, copies, collectives and waits.

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


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a device did, from one time in nanoseconds to another.

    - `kind`: `kernel`, `copy` or `collective`;
    - `device`: which of the process's own, 0 if its program names none;
    - `amount`: bytes of a copy or of what a collective gave, tiles of a kernel;
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

    def write(self, file: BinaryIO) -> None:
        """Write the trace event format of Chrome."""
        arrivals: dict[object, int] = {}
        for each in self.events:
            arrivals[each.group, each.number] = each.start
        slices = (row for each in self.events for row in self._slices(each, arrivals))
        rows = [*self._names(), *slices]
        file.write(json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"}).encode())

    def _names(self) -> Iterator[dict[str, Any]]:
        for process, device in sorted({(each.process, each.device) for each in self.events}):
            name = f"process {process}" + (f", device {device}" if device else "")
            named = {"name": "thread_name", "ph": "M", "pid": 0, "tid": _row(process, device)}
            yield {**named, "args": {"name": name}}

    def _slices(self, event: Event, arrivals: Mapping[object, int]) -> Iterator[dict[str, Any]]:
        """An event, and before it the time for which a collective waited for the last to come."""
        began = event.start
        if event.group:
            began = min(event.end, max(event.start, arrivals[event.group, event.number]))
            if began > event.start:
                yield self._slice(event, "wait", "wait", event.start, began, {"for": event.name})
        unit = "tiles" if event.kind == "kernel" else "bytes"
        details: dict[str, Any] = {unit: event.amount}
        if event.group:
            details["devices"] = list(event.group)
        yield self._slice(event, event.kind, event.name, began, event.end, details)

    def _slice(
        self, event: Event, kind: str, name: str, start: int, end: int, details: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "name": name,
            "cat": kind,
            "ph": "X",
            "pid": 0,
            "tid": _row(event.process, event.device),
            "ts": (start - self.origin) / 1000,
            "dur": (end - start) / 1000,
            "args": details,
        }


def _row(process: int, device: int) -> int:
    return process * ROWS + device

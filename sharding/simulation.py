"""Simulate the schedule of one device's program: when each step begins and ends. No IR.

A device computes one kernel at a time, and each of its networks carries one collective at a time.
Two schedules bound what a runtime can achieve: sequential execution in program order, and full
overlap, where each step begins as soon as its inputs are ready and its lanes are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

COMPUTE = "compute"
"""The lane of kernels; the lanes of networks are called `network N`."""


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """One kernel or collective, or a loop with all its iterations.

    - `lanes`: the resources that it occupies; empty for a step that takes no time;
    - `serial`, `overlapped`: seconds in the two schedules, which differ for loops;
    - `reads`: indices of the steps whose results it needs.
    """

    name: str
    lanes: tuple[str, ...]
    serial: float
    overlapped: float
    reads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatedSpan:
    """When a step runs, in seconds from the start."""

    step: int
    begin: float
    end: float


def without_overlap(steps: Sequence[SimulatedStep]) -> list[SimulatedSpan]:
    """Schedule all steps sequentially."""
    spans: list[SimulatedSpan] = []
    now = 0.0
    for index, step in enumerate(steps):
        spans.append(SimulatedSpan(index, now, now + step.serial))
        now += step.serial
    return spans


def with_overlap(steps: Sequence[SimulatedStep]) -> list[SimulatedSpan]:
    """Schedule each step as early as possible; program order breaks ties.

    The spans are returned in the order of the steps.
    """
    waiting = [len(set(step.reads)) for step in steps]
    readers: list[list[int]] = [[] for _ in steps]
    for index, step in enumerate(steps):
        for source in set(step.reads):
            readers[source].append(index)
    ready: dict[tuple[str, ...], list[int]] = {}
    for index, count in enumerate(waiting):
        if not count:
            heappush(ready.setdefault(steps[index].lanes, []), index)
    free: dict[str, float] = {}
    begins = [0.0] * len(steps)
    running: list[tuple[float, int]] = []
    now = 0.0
    while True:
        while (index := _startable(ready, free, now)) is not None:
            begins[index] = now
            end = now + steps[index].overlapped
            for lane in steps[index].lanes:
                free[lane] = end
            heappush(running, (end, index))
        if not running:
            break
        now, index = heappop(running)
        for reader in readers[index]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready.setdefault(steps[reader].lanes, []), reader)
    return [
        SimulatedSpan(index, begin, begin + step.overlapped)
        for index, (begin, step) in enumerate(zip(begins, steps, strict=True))
    ]


def _startable(
    ready: dict[tuple[str, ...], list[int]], free: dict[str, float], now: float
) -> int | None:
    """Remove and return the first ready step whose lanes are free; `None` if there is none."""
    best: tuple[str, ...] | None = None
    for lanes, queue in ready.items():
        if (
            queue
            and all(free.get(lane, 0.0) <= now for lane in lanes)
            and (best is None or queue[0] < ready[best][0])
        ):
            best = lanes
    return None if best is None else heappop(ready[best])


def makespan(spans: Sequence[SimulatedSpan]) -> float:
    """Return when the last step ends, in seconds."""
    return max((span.end for span in spans), default=0.0)


def busy_seconds(
    steps: Sequence[SimulatedStep], spans: Sequence[SimulatedSpan]
) -> dict[str, float]:
    """Return for how many seconds each lane is occupied."""
    found: dict[str, float] = {}
    for step, span in zip(steps, spans, strict=True):
        for lane in step.lanes:
            found[lane] = found.get(lane, 0.0) + span.end - span.begin
    return dict(sorted(found.items()))

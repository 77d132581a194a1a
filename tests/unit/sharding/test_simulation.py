"""Steps on lanes: one after the other, or as soon as they can."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from mesh_opt.sharding.simulation import (
    COMPUTE,
    SimulatedStep,
    busy_seconds,
    makespan,
    with_overlap,
    without_overlap,
)


def step(lane: str, seconds: float, *reads: int) -> SimulatedStep:
    return SimulatedStep("step", (lane,) if lane else (), seconds, seconds, reads)


def test_independent_work_overlaps_collective() -> None:
    steps = [
        step(COMPUTE, 1.0),
        step("network 0", 5.0, 0),
        step(COMPUTE, 2.0, 1),
        step(COMPUTE, 4.0, 0),
    ]
    assert makespan(without_overlap(steps)) == 12
    spans = with_overlap(steps)
    assert [(span.begin, span.end) for span in spans] == [(0, 1), (1, 6), (6, 8), (1, 5)]
    assert busy_seconds(steps, spans) == {COMPUTE: 7, "network 0": 5}


def test_collectives_of_one_network_take_turns_and_of_two_do_not() -> None:
    one = [step("network 0", 3.0), step("network 0", 4.0)]
    two = [step("network 0", 3.0), step("network 1", 4.0)]
    both = [*two, SimulatedStep("both", ("network 0", "network 1"), 2.0, 2.0)]
    assert makespan(with_overlap(one)) == 7
    assert makespan(with_overlap(two)) == 4
    assert makespan(with_overlap(both)) == 6


def test_free_operations_forward_their_inputs() -> None:
    steps = [step(COMPUTE, 1.0), step("", 0.0, 0), step(COMPUTE, 1.0, 1)]
    assert makespan(with_overlap(steps)) == 2
    assert with_overlap([]) == []
    assert makespan([]) == 0


@pytest.mark.parametrize("number", range(20))
def test_schedules_are_schedules(number: int) -> None:
    generator = random.Random(number)
    lanes = (COMPUTE, "network 0", "network 1", "")
    steps: list[SimulatedStep] = []
    for index in range(40):
        lane = generator.choice(lanes)
        reads = generator.sample(range(index), min(index, generator.randint(0, 3)))
        steps.append(step(lane, generator.random() if lane else 0.0, *reads))
    spans = with_overlap(steps)
    for span, each in zip(spans, steps, strict=True):
        assert all(spans[source].end <= span.begin for source in each.reads)
    for lane in lanes[:3]:
        mine = sorted(
            (span.begin, span.end)
            for span, each in zip(spans, steps, strict=True)
            if lane in each.lanes
        )
        assert all(one[1] <= other[0] for one, other in pairwise(mine))
    least = max(busy_seconds(steps, spans).values())
    assert least - 1e-9 <= makespan(spans) <= makespan(without_overlap(steps)) + 1e-9

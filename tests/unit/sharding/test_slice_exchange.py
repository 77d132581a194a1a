"""Exchanges of pieces: every process ends with its section, and rounds are permutations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.sharding.factors import Window
from mesh_opt.sharding.local_shape import default_offsets
from mesh_opt.sharding.slice_exchange import (
    MAX_PROCESSES,
    HaloWidths,
    Interval,
    PieceCopy,
    SliceExchange,
    cheapest_exchange,
    plan_joined_exchange,
    plan_slice_exchange,
    window_bytes,
)


def owned_by(size: int, parts: int) -> list[Interval]:
    return list(pairwise(default_offsets(size, parts)))


def sections(
    exchange: SliceExchange, owned: Sequence[Interval], count: int
) -> list[dict[int, int]]:
    """By process: what is where in its section, elements being named by their places."""
    found: list[dict[int, int]] = [{} for _ in range(count)]

    def put(process: int, copy: PieceCopy, held: Sequence[int]) -> None:
        first, place = copy.source_offsets[process], copy.section_offsets[process]
        for step in range(copy.lengths[process]):
            assert place + step not in found[process]
            found[process][place + step] = held[first + step]

    for process, interval in enumerate(owned):
        for copy in exchange.own:
            put(process, copy, range(*interval))
    for each in exchange.rounds:
        assert sorted(each.receivers) == sorted(each.senders) == list(range(count))
        for process, sender in enumerate(each.senders):
            assert each.receivers[sender] == process
            start, stop = owned[sender]
            sent = range(start, stop)[each.send_offsets[sender] :][: each.width]
            assert len(sent) == each.width
            put(process, each.copy, sent)
    return found


@pytest.mark.parametrize("seed", range(200))
def test_every_process_has_its_section(seed: int) -> None:
    generator = random.Random(seed)
    count = generator.randint(1, 6)
    size = generator.randint(count, 30)
    owned = owned_by(size, count)
    wanted: list[Interval] = []
    for _ in range(count):
        first, end = sorted(generator.randint(0, size) for _ in range(2))
        wanted.append((first, end))
    exchange = plan_slice_exchange(owned, wanted)
    if exchange is None:
        smallest = min(stop - start for start, stop in owned)
        assert any(
            min(end, stop) - max(first, start) > smallest
            for first, end in wanted
            for start, stop in owned
        )
        return
    for found, (first, end) in zip(sections(exchange, owned, count), wanted, strict=True):
        assert found == dict(enumerate(range(first, end)))


def test_a_reversal_is_one_round() -> None:
    owned = owned_by(12, 4)
    exchange = plan_slice_exchange(owned, owned[::-1])
    assert exchange is not None
    assert [each.senders for each in exchange.rounds] == [(3, 2, 1, 0)]
    assert exchange.sent == 3
    assert exchange.own == ()


@pytest.mark.parametrize("seed", range(200))
def test_sections_of_several_intervals(seed: int) -> None:
    """Intervals may overlap, and a process may hold several of its own."""
    generator = random.Random(seed)
    count = generator.randint(1, 6)
    size = generator.randint(count, 30)
    owned = owned_by(size, count)
    wanted: list[list[Interval]] = []
    for _ in range(count):
        ends = [sorted(generator.randint(0, size) for _ in range(2)) for _ in range(3)]
        wanted.append([(first, end) for first, end in ends[: generator.randint(0, 3)]])
    exchange = plan_joined_exchange(owned, wanted)
    if exchange is None:
        return
    for found, intervals in zip(sections(exchange, owned, count), wanted, strict=True):
        places = [place for first, end in intervals for place in range(first, end)]
        assert found == dict(enumerate(places))


def test_a_rotation_is_one_round() -> None:
    """The last element comes first: each process sends one in a ring."""
    wanted = [[(15, 16), (0, 3)], [(3, 7)], [(7, 11)], [(11, 15)]]
    exchange = plan_joined_exchange(owned_by(16, 4), wanted)
    assert exchange is not None
    assert [(each.width, each.senders) for each in exchange.rounds] == [(1, (3, 0, 1, 2))]


def test_half_of_a_dimension() -> None:
    """Elements 8 to 16 of 16 in four shards: two rounds, of two elements each."""
    wanted = [(8, 10), (10, 12), (12, 14), (14, 16)]
    exchange = plan_slice_exchange(owned_by(16, 4), wanted)
    assert exchange is not None
    assert [each.width for each in exchange.rounds] == [2, 2]


def test_nothing_to_fetch() -> None:
    owned = owned_by(10, 3)
    exchange = plan_slice_exchange(owned, owned)
    assert exchange is not None
    assert exchange.rounds == ()
    assert exchange.sent == 0


def test_pieces_longer_than_a_shard_are_not_sent() -> None:
    assert plan_slice_exchange([(0, 5), (5, 6)], [(5, 6), (0, 4)]) is None


QUARTERS = [(0, 4), (4, 8), (8, 12), (12, 16)]


@pytest.mark.parametrize(
    ("wanted", "way", "sent"),
    [
        ([(0, 5), (3, 9), (7, 13), (11, 16)], (1, 1), 2),
        (QUARTERS, (0, 0), 0),
        # Nothing is wanted but by the last, of whom all are neighbours in turn.
        ([(0, 0), (0, 0), (0, 0), (0, 1)], SliceExchange, 1),
        ([(12, 16), (8, 12), (4, 8), (0, 4)], SliceExchange, 4),
        ([(0, 16)] * 4, None, 12),
    ],
    ids=["borders", "own", "one", "reversed", "all"],
)
def test_best_way(
    wanted: list[Interval], way: HaloWidths | type[SliceExchange] | None, sent: int
) -> None:
    found, elements = cheapest_exchange(QUARTERS, wanted)
    if isinstance(way, type):
        assert isinstance(found, way)
    else:
        assert found == way
    assert elements == sent


def test_many_parts_are_not_matched_with_each_other() -> None:
    parts = MAX_PROCESSES + 1
    owned = [(part, part + 1) for part in range(parts)]
    assert cheapest_exchange(owned, owned[::-1]) == (None, parts - 1)


@given(
    parts=st.sampled_from([2, 3, 4, 8]),
    own=st.integers(1, 12),
    turns=st.integers(1, 10),
    stride=st.integers(-3, 3).filter(bool),
    first=st.integers(-10, 20),
    length=st.integers(1, 6),
)
def test_window_bytes(
    parts: int, own: int, turns: int, stride: int, first: int, length: int
) -> None:
    """Never more than to gather, nor less than what the neediest process lacks in its turn."""
    extent = own * parts
    window = Window(0, 0, extent, stride, first, length)
    needs = 0
    for part in range(parts):
        read = {
            element
            for turn in range(turns * part, turns * (part + 1))
            for element in range(turn * stride + first, turn * stride + first + length)
            if 0 <= element < extent
        }
        start, end = window.read(turns * part, turns * (part + 1))
        assert read <= set(range(start, end)) <= set(range(extent))
        assert abs(stride) > 1 or len(read) == end - start
        needs += len(set(range(start, end)) - set(range(own * part, own * (part + 1))))
    sent = window_bytes(window, turns * parts, parts, 4 * extent / parts)
    assert needs / parts <= sent / 4 + 1e-9 <= own * (parts - 1) + 1e-6

"""Buffers that live at the same time never overlap, and those that do not share memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.runtime import arena
from mesh_opt.runtime.arena import ALIGNMENT, Lifetime, place
from mesh_opt.runtime.buffers import Buffer, Storage, allocate
from mesh_opt.runtime.commands import CommandBuffer, HostCommand, Place
from mesh_opt.runtime.communicator import copy_command

lifetimes = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 20),
        st.integers(0, 8),
    ),
    max_size=30,
)


@given(lifetimes, st.sampled_from([place, arena._place_in_time]))
def test_placement(buffers: list[Lifetime], way: Callable) -> None:
    placement = way(buffers)
    for i, (left, at) in enumerate(zip(buffers, placement.offsets, strict=True)):
        assert at % ALIGNMENT == 0
        assert at + left.size <= placement.size
        for right, other in zip(buffers[:i], placement.offsets[:i], strict=True):
            if left.first <= right.last and right.first <= left.last and left.size and right.size:
                assert at + left.size <= other or other + right.size <= at


def test_a_chain_needs_two_buffers() -> None:
    chain = [Lifetime(640, position, position + 1) for position in range(10)]
    assert place(chain).size == 2 * 640


def test_memory_is_aligned() -> None:
    assert all(allocate(size).ctypes.data % ALIGNMENT == 0 for size in (1, 64, 100))


def test_commands_run_in_order_with_new_outputs_each_time() -> None:
    given_ = Buffer(16, Storage.INPUT, 0)
    middle = Buffer(16, Storage.TRANSIENT)
    wanted = Buffer(16, Storage.OUTPUT, 0)

    def double(data: np.ndarray) -> None:
        data[:16] *= 2

    commands = [
        copy_command(Place(given_), Place(middle), 16, "first"),
        HostCommand(double, (Place(middle),), "second"),
        copy_command(Place(middle), Place(wanted), 16, "third"),
    ]
    buffer = CommandBuffer(commands, [16])
    first = buffer.run([np.arange(16, dtype=np.uint8)])
    second = buffer.run([np.ones(16, np.uint8)])
    assert np.array_equal(first[0], np.arange(16) * 2)
    assert np.array_equal(second[0], np.full(16, 2))
    assert buffer.statistics.arena_bytes == 64

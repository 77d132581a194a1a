"""Buffers that live at the same time never overlap, and those that do not share memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.runtime import arena
from mesh_opt.runtime.arena import ALIGNMENT, Lifetime, place
from mesh_opt.runtime.buffers import Buffer, Storage, allocate
from mesh_opt.runtime.commands import (
    Command,
    CommandBuffer,
    CommandFailed,
    HostCommand,
    Place,
)
from mesh_opt.runtime.communicator import copy_command
from mesh_opt.runtime.guards import OVERWRITTEN, Guards
from mesh_opt.runtime.native import native_function
from mesh_opt.runtime.sharing import Use, fill_results, lifetimes_of, merged, take_over

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


# Sharing -----------------------------------------------------------------------------------------


def transient(size: int = 64) -> Buffer:
    return Buffer(size, Storage.TRANSIENT)


def homes(*uses: Use) -> dict[Buffer, Buffer]:
    return take_over(uses, lifetimes_of(uses))


def test_a_result_takes_over_an_operand_that_nothing_reads_later() -> None:
    first, second, third = transient(), transient(), transient()
    chain = [
        Use((first,)),
        Use((second, first), ((second, first),)),
        Use((third, second), ((third, second),)),
    ]
    assert homes(*chain) == {second: first, third: first}
    lifetimes = lifetimes_of(chain)
    assert merged(lifetimes, take_over(chain, lifetimes)) == {first: Lifetime(64, 0, 2)}


@pytest.mark.parametrize("hazard", ["later", "elsewhere", "size", "device", "input"])
def test_a_result_takes_over_nothing_that_is_needed(hazard: str) -> None:
    operand, result = transient(), transient()
    named = [result, operand]
    if hazard == "elsewhere":
        # The same kernel reads the same buffer in another order, too.
        named.append(operand)
    elif hazard == "size":
        result.size = 32
    elif hazard == "device":
        result.owner = "another"
    elif hazard == "input":
        operand.storage = Storage.INPUT
    uses = [Use((operand,)), Use(tuple(named), ((result, operand),))]
    if hazard == "later":
        uses.append(Use((operand,)))
    assert not homes(*uses)


def test_one_operand_is_taken_over_once() -> None:
    operand, left, right = transient(), transient(), transient()
    pairs = ((left, operand), (right, operand))
    assert homes(Use((operand,)), Use((left, right, operand), pairs)) == {}
    other = transient()
    both = Use((left, operand, other), ((left, operand), (left, other)))
    assert homes(Use((operand, other)), both) == {left: operand}


def test_a_result_of_the_program_takes_its_operand_in() -> None:
    operand, result = transient(), Buffer(64, Storage.OUTPUT, 0)
    assert homes(Use((operand,)), Use((result, operand), ((result, operand),))) == {operand: result}


def test_results_are_filled_before_they_are_written() -> None:
    early, late, large = transient(), transient(), transient(128)
    result = Buffer(64, Storage.OUTPUT, 0)
    uses = [Use((early, large)), Use((result, early, late)), Use((late,))]
    assert fill_results(lifetimes_of(uses)) == {}
    uses = [Use((early, large)), Use((early,)), Use((late, large)), Use((result, large))]
    assert fill_results(lifetimes_of(uses)) == {early: result, late: result}


@given(lifetimes)
def test_no_placement_needs_less_than_the_peak(buffers: list[Lifetime]) -> None:
    assert place(buffers).size >= arena.peak(buffers)


# Guards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place_of_error", [-1, 16, 20])
def test_guards_catch_who_writes_outside(place_of_error: int) -> None:
    given_, wanted = Buffer(16, Storage.INPUT, 0), Buffer(16, Storage.OUTPUT, 0)
    middle = Buffer(16, Storage.TRANSIENT)
    spoilt = native_function("copy")
    commands = [
        copy_command(Place(given_), Place(middle), 16, "good"),
        # The command says one place more or less than it has.
        Command(spoilt, (Place(middle, place_of_error), Place(given_)), (1,), 1, "bad"),
        copy_command(Place(middle), Place(wanted), 16, "good, too"),
    ]
    buffer = CommandBuffer(commands, [16], guards=Guards())
    with pytest.raises(CommandFailed) as failure:
        buffer.run([np.arange(16, dtype=np.uint8)])
    assert (failure.value.source, failure.value.status) == ("bad", OVERWRITTEN)


@pytest.mark.parametrize("kind", [Storage.INPUT, Storage.RESIDENT])
def test_guards_catch_who_writes_to_what_is_only_read(kind: Storage) -> None:
    target = Buffer(16, kind, 0)
    if kind is Storage.RESIDENT:
        target = Buffer.holding(np.zeros(16, np.uint8))
    source = Buffer.holding(np.ones(16, np.uint8))
    buffer = CommandBuffer(
        [copy_command(Place(source), Place(target), 16, "bad")], [], guards=Guards()
    )
    with pytest.raises(CommandFailed, match=str(OVERWRITTEN)):
        buffer.run([np.zeros(16, np.uint8)])


def test_guarded_commands_compute_the_same() -> None:
    given_, middle = Buffer(16, Storage.INPUT, 0), Buffer(16, Storage.TRANSIENT)
    wanted = Buffer(16, Storage.OUTPUT, 0)
    commands = [
        copy_command(Place(given_), Place(middle), 16, "first"),
        copy_command(Place(middle), Place(wanted), 16, "second"),
    ]
    buffer = CommandBuffer(commands, [16], guards=Guards())
    for _ in range(2):
        assert np.array_equal(buffer.run([np.arange(16, dtype=np.uint8)])[0], np.arange(16))

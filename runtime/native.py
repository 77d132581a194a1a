"""Native functions of the runtime: copies, and collectives in shared memory.

A collective has the same interface as a kernel. Its bindings are `[meeting, state, source, result,
scratch, signature]`; its constants are listed at each function. Collectives pull: each participant
publishes the addresses of its buffers, waits for the others, reads what it needs from them, and
waits again before anyone may overwrite its source.

A meeting is an array of words: `[0]` the number of arrivals, `[8]` the generation, then from word
16 eight words per participant (source, result, size, signature, generation). The state belongs to a
group of devices: `[0]` is set when one of them fails, and every waiting loop checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .abi.native_code import Native, source_of
from .intrinsics import SOURCE as INTRINSICS
from .intrinsics import (
    atomic_add,
    atomic_load,
    atomic_store,
    call_kernel,
    clear_bytes,
    copy_bytes,
    load_word,
    pause,
    sleep_shortly,
    store_word,
    yield_processor,
)
from .native_functions import runtime_function

SOURCE = source_of(__file__)

SIGNATURE = 5
"""The index of the binding that identifies a collective; equal collectives have equal numbers."""

SLOT_WORDS = 8
FIRST_SLOT = 16
SPINS, YIELDS = 4, 1000
"""Polls that spin with a pause, then polls that yield the core, before a waiting device sleeps.

Yielding a core that nobody wants takes no longer than a few pauses, which take up to 50 ns each.
Waking up takes 100 us, so that shorter waits do not sleep.
"""

REDUCTION_CHUNK = 4096
"""Elements in a tile of a reduction kernel."""

FAILED = 1
"""Status of a command that failed by itself."""

RELEASED = 2
"""Status of a command that stopped waiting because another device failed."""

MEETINGS = 16
"""The word of a state that counts how often devices have met and continued."""

MISMATCHED = 5
"""Status of a collective whose participants' signatures differ; no data were moved."""

RESIZED = 8
"""Status of a collective in which a device has new operand sizes; no data were moved."""

WAITING = 6
"""Status of a function that still waits; Python checks for failures and calls it again."""

AT_ONCE, START, FINISH = range(3)
"""Phases of a collective, its third argument: all of it; only what needs no waiting, which may
return `WAITING`; the rest of one that was started. A function of messages may be started repeatedly
and advances each time.
"""

TOO_NARROW = 3
"""Status of a halo exchange with a neighbour whose shard is narrower than the halo."""


def meeting_words(participants: int) -> int:
    """Return the number of words of a meeting."""
    return FIRST_SLOT + SLOT_WORDS * participants


def back_off(spins: int, yields: int) -> None:
    """Wait between two polls: spin first, then yield the core, and sleep after `yields` polls."""
    if spins > SPINS + yields:
        sleep_shortly()
    elif spins > SPINS:
        yield_processor()
    else:
        pause()


def arrive(meeting: int, participants: int) -> int:
    """Arrive at a barrier; return the generation that ends when all have arrived."""
    generation = atomic_load(meeting + 64)
    if atomic_add(meeting, 1) == participants - 1:
        atomic_store(meeting, 0)
        atomic_store(meeting + 64, generation + 1)
    return generation


def wait(meeting: int, generation: int, state: int) -> int:
    """Wait until a barrier's generation ends; return 0, or RELEASED if a device failed.

    Counts the meeting in the state.
    """
    spins = 0
    while atomic_load(meeting + 64) == generation:
        if atomic_load(state) != 0:
            return RELEASED
        spins += 1
        back_off(spins, YIELDS)
    atomic_add(state + 8 * MEETINGS, 1)
    return 0


def wait_for_devices(meeting: int, participants: int, state: int) -> int:
    """Arrive at a barrier and wait for it; return 0 or RELEASED."""
    return wait(meeting, arrive(meeting, participants), state)


def slot(meeting: int, participant: int) -> int:
    """Return the address of the words that a participant publishes."""
    return meeting + 8 * (FIRST_SLOT + SLOT_WORDS * participant)


def publish(bindings: Sequence[int], rank: int, participants: int, size: int, phase: int) -> int:
    """Publish this device's buffers, and wait until all participants have, as the phase allows.

    Returns 0, WAITING, RELEASED, or MISMATCHED if participants came for another collective.
    """
    meeting, state = bindings[0], bindings[1]
    mine = slot(meeting, rank)
    if phase != FINISH:
        store_word(mine, bindings[2])
        store_word(mine + 8, bindings[3])
        store_word(mine + 16, size)
        store_word(mine + 24, bindings[SIGNATURE])
        # Kept in the own slot: another participant may start the next generation before this one
        # sees that its generation has ended.
        store_word(mine + 32, arrive(meeting, participants))
    if phase == START:
        return WAITING
    status = wait(meeting, load_word(mine + 32), state)
    if status != 0:
        return status
    for other in range(participants):
        if load_word(slot(meeting, other) + 24) != bindings[SIGNATURE]:
            return MISMATCHED
    return 0


def shard_start(size: int, parts: int, index: int) -> int:
    """Return the start of a shard: the last `size mod parts` shards are longer by one."""
    shorter = parts - size % parts
    return index * (size // parts) + max(0, index - shorter)


def copy(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy `constants[0]` bytes from binding 1 to binding 0."""
    copy_bytes(bindings[0], bindings[1], constants[0])
    return 0


def copy_rows(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy rows of bytes from binding 1 to binding 0.

    Constants: [rows, bytes of a row, target pitch, source pitch, target start, source start].
    """
    for row in range(constants[0]):
        target = bindings[0] + constants[4] + row * constants[2]
        source = bindings[1] + constants[5] + row * constants[3]
        copy_bytes(target, source, constants[1])
    return 0


def all_gather(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Concatenate all sources, on the root or everywhere.

    Constants: [participants, rank, root (-1: all), rows, bytes of a row of the own source].
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, root, rows = constants[0], constants[1], constants[2], constants[3]
    status = publish(bindings, rank, participants, constants[4], first)
    if status != 0:
        return status
    pitch = 0
    for other in range(participants):
        pitch += load_word(slot(meeting, other) + 16)
    if root >= 0 and root != rank:
        clear_bytes(bindings[3], rows * pitch)
    else:
        start = bindings[3]
        for other in range(participants):
            source = load_word(slot(meeting, other))
            size = load_word(slot(meeting, other) + 16)
            for row in range(rows):
                copy_bytes(start + row * pitch, source + row * size, size)
            start += size
    return wait_for_devices(meeting, participants, state)


def all_to_all(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Split all sources along one dimension, and concatenate the pieces along another.

    Constants: [participants, rank, outer, split size, middle, concat size, inner bytes, order].
    Order 0: the split dimension is outside of the concatenated one; 1: inside; 2: they are the
    same. Sizes are those of the own source; the concatenated sizes of others may differ.
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, outer = constants[0], constants[1], constants[2]
    split, middle, joined, inner = constants[3], constants[4], constants[5], constants[6]
    order = constants[7]
    result = bindings[3]
    status = publish(bindings, rank, participants, joined, first)
    if status != 0:
        return status
    start = shard_start(split, participants, rank)
    length = shard_start(split, participants, rank + 1) - start
    total = 0
    for other in range(participants):
        total += load_word(slot(meeting, other) + 16)
    if order == 2:
        total = 0
        for other in range(participants):
            size = load_word(slot(meeting, other) + 16)
            total += shard_start(size, participants, rank + 1)
            total -= shard_start(size, participants, rank)
    offset = 0
    for other in range(participants):
        source = load_word(slot(meeting, other))
        size = load_word(slot(meeting, other) + 16)
        if order == 0:
            for row in range(outer):
                for position in range(length * middle):
                    target_row = row * length * middle + position
                    source_row = (row * split + start) * middle + position
                    copy_bytes(
                        result + (target_row * total + offset) * inner,
                        source + source_row * size * inner,
                        size * inner,
                    )
            offset += size
        elif order == 1:
            for row in range(outer):
                for position in range(size * middle):
                    target_row = (row * total + offset) * middle + position
                    source_row = row * size * middle + position
                    copy_bytes(
                        result + target_row * length * inner,
                        source + (source_row * split + start) * inner,
                        length * inner,
                    )
            offset += size
        else:
            begin = shard_start(size, participants, rank)
            piece = shard_start(size, participants, rank + 1) - begin
            for row in range(outer):
                copy_bytes(
                    result + (row * total + offset) * inner,
                    source + (row * size + begin) * inner,
                    piece * inner,
                )
            offset += piece
    return wait_for_devices(meeting, participants, state)


def pull(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy rows from one other device; the result is zero without a sender.

    Constants: [participants, rank, sender (-1: none), rows, bytes of a row, source pitch, source
    start].
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, sender = constants[0], constants[1], constants[2]
    status = publish(bindings, rank, participants, 0, first)
    if status != 0:
        return status
    if sender >= 0:
        source = load_word(slot(meeting, sender)) + constants[6]
        for row in range(constants[3]):
            copy_bytes(bindings[3] + row * constants[4], source + row * constants[5], constants[4])
    else:
        clear_bytes(bindings[3], constants[3] * constants[4])
    return wait_for_devices(meeting, participants, state)


def reduce_run(
    reduction: int,
    scratch: int,
    meeting: int,
    participants: int,
    target: int,
    start: int,
    count: int,
) -> int:
    """Reduce a contiguous run of all sources, `start` bytes in, into `target`.

    The scratch memory holds the reduction kernel's bindings, followed by its constant.
    """
    store_word(scratch, target)
    for other in range(participants):
        store_word(scratch + 8 + 8 * other, load_word(slot(meeting, other)) + start)
    constants = scratch + 8 + 8 * participants
    store_word(constants, count)
    tiles = (count + REDUCTION_CHUNK - 1) // REDUCTION_CHUNK
    return call_kernel(reduction, scratch, constants, 0, tiles)


def all_reduce(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Reduce all sources, on the root or everywhere.

    Constants: [participants, rank, root (-1: all), elements, bytes of a source element, bytes of a
    result element, reduction kernel].

    Each device reduces its own part for all of them, always in the order of the participants, so
    that all results are bitwise equal.
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, root, count = constants[0], constants[1], constants[2], constants[3]
    source_bytes, result_bytes, reduction = constants[4], constants[5], constants[6]
    scratch = bindings[4]
    status = publish(bindings, rank, participants, 0, first)
    if status != 0:
        return status
    if root >= 0 or count * participants <= 4096:
        if root < 0 or root == rank:
            reduce_run(reduction, scratch, meeting, participants, bindings[3], 0, count)
        else:
            clear_bytes(bindings[3], count * result_bytes)
        return wait_for_devices(meeting, participants, state)
    # Parts are multiples of 64 elements, so that no two devices write to the same cache line.
    part = ((count + participants - 1) // participants + 63) // 64 * 64
    start = min(rank * part, count)
    length = min(start + part, count) - start
    if length > 0:
        target = bindings[3] + start * result_bytes
        reduce_run(reduction, scratch, meeting, participants, target, start * source_bytes, length)
        for step in range(1, participants):
            other = (rank + step) % participants
            result = load_word(slot(meeting, other) + 8) + start * result_bytes
            copy_bytes(result, target, length * result_bytes)
    return wait_for_devices(meeting, participants, state)


def reduce_scatter(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Reduce all sources, and keep the own shard of the result.

    Constants: [participants, rank, rows, elements of a source row, own start in a row, elements of
    an own row, bytes of a source element, bytes of a result element, reduction kernel].
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, rows, pitch = constants[0], constants[1], constants[2], constants[3]
    start, length = constants[4], constants[5]
    source_bytes, result_bytes, reduction = constants[6], constants[7], constants[8]
    status = publish(bindings, rank, participants, 0, first)
    if status != 0:
        return status
    for row in range(rows):
        reduce_run(
            reduction,
            bindings[4],
            meeting,
            participants,
            bindings[3] + row * length * result_bytes,
            (row * pitch + start) * source_bytes,
            length,
        )
    return wait_for_devices(meeting, participants, state)


def exchange_halo(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy the source to the result, and fill its halos from the neighbours.

    Constants: [participants, rank, rows, own size, inner bytes, low, high]. Sources and results
    include the halos. Halos of sources are never read, so all devices may write theirs at the same
    time. Returns TOO_NARROW if a neighbour's own part is narrower than the halo.
    """
    meeting, state = bindings[0], bindings[1]
    participants, rank, rows, size = constants[0], constants[1], constants[2], constants[3]
    inner, low, high = constants[4], constants[5], constants[6]
    result = bindings[3]
    status = publish(bindings, rank, participants, size, first)
    if status != 0:
        return status
    copy_bytes(result, bindings[2], rows * size * inner)
    if low > 0 and rank > 0:
        source = load_word(slot(meeting, rank - 1))
        other = load_word(slot(meeting, rank - 1) + 16)
        if other - low - high < low:
            return TOO_NARROW
        for row in range(rows):
            start = source + (row * other + other - high - low) * inner
            copy_bytes(result + row * size * inner, start, low * inner)
    if high > 0 and rank < participants - 1:
        source = load_word(slot(meeting, rank + 1))
        other = load_word(slot(meeting, rank + 1) + 16)
        if other - low - high < high:
            return TOO_NARROW
        for row in range(rows):
            start = source + (row * other + low) * inner
            copy_bytes(result + (row * size + size - high) * inner, start, high * inner)
    return wait_for_devices(meeting, participants, state)


@cache
def native_function(name: str) -> Native:
    """Return the native code of one of this module's functions."""
    return runtime_function(globals()[name], INTRINSICS)

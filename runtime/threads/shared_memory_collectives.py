"""Native functions of the runtime: copies, and collectives in shared memory.

A collective has the same interface as a kernel. Its bindings are `[barrier, status, source, result,
scratch, signature]`; its constants are listed at each function. Collectives pull: each participant
publishes the addresses of its buffers, waits for the others, reads what it needs from them, and
waits again before anyone may overwrite its source.

A participant publishes its source, result, size, signature and generation in its slot of the
barrier (`protocol.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..abi.native_code import source_of
from ..intrinsics import call_kernel, clear_bytes, copy_bytes, load_word, store_word
from ..protocol import (
    FINISH,
    FIRST_SLOT,
    MISMATCHED,
    REDUCTION_CHUNK,
    SIGNATURE,
    SLOT_WORDS,
    START,
    TOO_NARROW,
    WAITING,
    arrive,
    wait,
    wait_for_devices,
)

SOURCE = source_of(__file__)


def slot(barrier: int, participant: int) -> int:
    """Return the address of the words that a participant publishes."""
    return barrier + 8 * (FIRST_SLOT + SLOT_WORDS * participant)


def publish(bindings: Sequence[int], index: int, participants: int, size: int, phase: int) -> int:
    """Publish this device's buffers, and wait until all participants have, as the phase allows.

    Returns 0, WAITING, RELEASED, or MISMATCHED if participants came for another collective.
    """
    barrier, group_status = bindings[0], bindings[1]
    mine = slot(barrier, index)
    if phase != FINISH:
        store_word(mine, bindings[2])
        store_word(mine + 8, bindings[3])
        store_word(mine + 16, size)
        store_word(mine + 24, bindings[SIGNATURE])
        # Kept in the own slot: another participant may start the next generation before this one
        # sees that its generation has ended.
        store_word(mine + 32, arrive(barrier, participants))
    if phase == START:
        return WAITING
    status = wait(barrier, load_word(mine + 32), group_status)
    if status != 0:
        return status
    for other in range(participants):
        if load_word(slot(barrier, other) + 24) != bindings[SIGNATURE]:
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


def join_shards(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Concatenate all sources, on the root or everywhere.

    Constants: [participants, index, root (-1: all), rows, bytes of a row of the own source].
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, root, rows = constants[0], constants[1], constants[2], constants[3]
    status = publish(bindings, index, participants, constants[4], first)
    if status != 0:
        return status
    pitch = 0
    for other in range(participants):
        pitch += load_word(slot(barrier, other) + 16)
    if root >= 0 and root != index:
        clear_bytes(bindings[3], rows * pitch)
    else:
        start = bindings[3]
        for other in range(participants):
            source = load_word(slot(barrier, other))
            size = load_word(slot(barrier, other) + 16)
            for row in range(rows):
                copy_bytes(start + row * pitch, source + row * size, size)
            start += size
    return wait_for_devices(barrier, participants, group_status)


def joined_size(barrier: int, participants: int, index: int, order: int) -> int:
    """Return the extent of an all-to-all's result along the concatenated dimension."""
    total = 0
    for other in range(participants):
        size = load_word(slot(barrier, other) + 16)
        if order == 2:
            start = shard_start(size, participants, index)
            size = shard_start(size, participants, index + 1) - start
        total += size
    return total


def all_to_all(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Split all sources along one dimension, and concatenate the pieces along another.

    Constants: [participants, index, outer, split size, middle, concat size, inner bytes, order].
    Order 0: the split dimension is outside of the concatenated one; 1: inside; 2: they are the
    same. Sizes are those of the own source; the concatenated sizes of others may differ.
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, outer = constants[0], constants[1], constants[2]
    split, middle, joined, inner = constants[3], constants[4], constants[5], constants[6]
    order = constants[7]
    result = bindings[3]
    status = publish(bindings, index, participants, joined, first)
    if status != 0:
        return status
    start = shard_start(split, participants, index)
    length = shard_start(split, participants, index + 1) - start
    total = joined_size(barrier, participants, index, order)
    offset = 0
    for other in range(participants):
        source = load_word(slot(barrier, other))
        size = load_word(slot(barrier, other) + 16)
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
            begin = shard_start(size, participants, index)
            piece = shard_start(size, participants, index + 1) - begin
            for row in range(outer):
                copy_bytes(
                    result + (row * total + offset) * inner,
                    source + (row * size + begin) * inner,
                    piece * inner,
                )
            offset += piece
    return wait_for_devices(barrier, participants, group_status)


def pull(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy rows from one other device; the result is zero without a sender.

    Constants: [participants, index, sender (-1: none), rows, bytes of a row, source pitch, source
    start].
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, sender = constants[0], constants[1], constants[2]
    status = publish(bindings, index, participants, 0, first)
    if status != 0:
        return status
    if sender >= 0:
        source = load_word(slot(barrier, sender)) + constants[6]
        for row in range(constants[3]):
            copy_bytes(bindings[3] + row * constants[4], source + row * constants[5], constants[4])
    else:
        clear_bytes(bindings[3], constants[3] * constants[4])
    return wait_for_devices(barrier, participants, group_status)


def reduce_run(
    reduction: int,
    scratch: int,
    barrier: int,
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
        store_word(scratch + 8 + 8 * other, load_word(slot(barrier, other)) + start)
    constants = scratch + 8 + 8 * participants
    store_word(constants, count)
    tiles = (count + REDUCTION_CHUNK - 1) // REDUCTION_CHUNK
    return call_kernel(reduction, scratch, constants, 0, tiles)


def all_reduce(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Reduce all sources, on the root or everywhere.

    Constants: [participants, index, root (-1: all), elements, bytes of a source element, bytes of a
    result element, reduction kernel].

    Each device reduces its own part for all of them, always in the order of the participants, so
    that all results are bitwise equal.
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, root, count = constants[0], constants[1], constants[2], constants[3]
    source_bytes, result_bytes, reduction = constants[4], constants[5], constants[6]
    scratch = bindings[4]
    status = publish(bindings, index, participants, 0, first)
    if status != 0:
        return status
    if root >= 0 or count * participants <= 4096:
        if root < 0 or root == index:
            reduce_run(reduction, scratch, barrier, participants, bindings[3], 0, count)
        else:
            clear_bytes(bindings[3], count * result_bytes)
        return wait_for_devices(barrier, participants, group_status)
    # Parts are multiples of 64 elements, so that no two devices write to the same cache line.
    part = ((count + participants - 1) // participants + 63) // 64 * 64
    start = min(index * part, count)
    length = min(start + part, count) - start
    if length > 0:
        target = bindings[3] + start * result_bytes
        reduce_run(reduction, scratch, barrier, participants, target, start * source_bytes, length)
        for step in range(1, participants):
            other = (index + step) % participants
            result = load_word(slot(barrier, other) + 8) + start * result_bytes
            copy_bytes(result, target, length * result_bytes)
    return wait_for_devices(barrier, participants, group_status)


def reduce_scatter(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Reduce all sources, and keep the own shard of the result.

    Constants: [participants, index, rows, elements of a source row, own start in a row, elements of
    an own row, bytes of a source element, bytes of a result element, reduction kernel].
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, rows, pitch = constants[0], constants[1], constants[2], constants[3]
    start, length = constants[4], constants[5]
    source_bytes, result_bytes, reduction = constants[6], constants[7], constants[8]
    status = publish(bindings, index, participants, 0, first)
    if status != 0:
        return status
    for row in range(rows):
        reduce_run(
            reduction,
            bindings[4],
            barrier,
            participants,
            bindings[3] + row * length * result_bytes,
            (row * pitch + start) * source_bytes,
            length,
        )
    return wait_for_devices(barrier, participants, group_status)


def exchange_halo(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy the source to the result, and fill its halos from the neighbours.

    Constants: [participants, index, rows, own size, inner bytes, low, high]. Sources and results
    include the halos. Halos of sources are never read, so all devices may write theirs at the same
    time. Returns TOO_NARROW if a neighbour's own part is narrower than the halo.
    """
    barrier, group_status = bindings[0], bindings[1]
    participants, index, rows, size = constants[0], constants[1], constants[2], constants[3]
    inner, low, high = constants[4], constants[5], constants[6]
    result = bindings[3]
    status = publish(bindings, index, participants, size, first)
    if status != 0:
        return status
    copy_bytes(result, bindings[2], rows * size * inner)
    if low > 0 and index > 0:
        source = load_word(slot(barrier, index - 1))
        other = load_word(slot(barrier, index - 1) + 16)
        if other - low - high < low:
            return TOO_NARROW
        for row in range(rows):
            start = source + (row * other + other - high - low) * inner
            copy_bytes(result + row * size * inner, start, low * inner)
    if high > 0 and index < participants - 1:
        source = load_word(slot(barrier, index + 1))
        other = load_word(slot(barrier, index + 1) + 16)
        if other - low - high < high:
            return TOO_NARROW
        for row in range(rows):
            start = source + (row * other + low) * inner
            copy_bytes(result + (row * size + size - high) * inner, start, high * inner)
    return wait_for_devices(barrier, participants, group_status)

"""Native functions of the runtime: copies, and collectives in shared memory.

A collective has the same interface as a kernel. Its bindings are `[barrier, status, source, result,
scratch, signature]`; its constants are listed at each function. Collectives pull: each participant
publishes the addresses of its buffers, waits for the others, reads what it needs from them, and
waits again before anyone may overwrite its source.

A participant publishes its source, result, signature and generation in its slot of the barrier
(`protocol.py`).
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
    WAITING,
    arrive,
    wait,
    wait_for_devices,
)

SOURCE = source_of(__file__)

COPY_WORDS = 10
"""Constants of one copy of `pull`."""


def slot(barrier: int, participant: int) -> int:
    """Return the address of the words that a participant publishes."""
    return barrier + 8 * (FIRST_SLOT + SLOT_WORDS * participant)


def publish(bindings: Sequence[int], index: int, participants: int, phase: int) -> int:
    """Publish this device's buffers, and wait until all participants have, as the phase allows.

    Returns 0, WAITING, RELEASED, or MISMATCHED if participants came for another collective.
    """
    barrier, group_status = bindings[0], bindings[1]
    mine = slot(barrier, index)
    if phase != FINISH:
        store_word(mine, bindings[2])
        store_word(mine + 8, bindings[3])
        store_word(mine + 16, bindings[SIGNATURE])
        # Kept in the own slot: another participant may start the next generation before this one
        # sees that its generation has ended.
        store_word(mine + 24, arrive(barrier, participants))
    if phase == START:
        return WAITING
    status = wait(barrier, load_word(mine + 24), group_status)
    if status != 0:
        return status
    for other in range(participants):
        if load_word(slot(barrier, other) + 16) != bindings[SIGNATURE]:
            return MISMATCHED
    return 0


def copy_pieces(target: int, source: int, constants: Sequence[int], at: int) -> None:
    """Copy pieces of bytes in two nested loops, which the constants from `at` on describe.

    They are [bytes of a piece, outer count, outer strides (to, from), inner count, inner strides
    (to, from)]: `piece_words` of `moves.py`.
    """
    size, outer_count, inner_count = constants[at], constants[at + 1], constants[at + 4]
    outer_to, outer_from = constants[at + 2], constants[at + 3]
    inner_to, inner_from = constants[at + 5], constants[at + 6]
    for outer in range(outer_count):
        to = target + outer * outer_to
        origin = source + outer * outer_from
        for inner in range(inner_count):
            copy_bytes(to + inner * inner_to, origin + inner * inner_from, size)


def copy_section(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy pieces of bytes from binding 1 to binding 0.

    Constants: [target start, source start, then those of `copy_pieces`].
    """
    copy_pieces(bindings[0] + constants[0], bindings[1] + constants[1], constants, 2)
    return 0


def pull(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Copy pieces of the participants' sources to the own result.

    Constants: [participants, index, a status with which to fail (0: none), bytes of the result to
    clear, copies; for each of them the participant, the target start, the source start, and the
    constants of `copy_pieces`].
    """
    barrier, group_status, result = bindings[0], bindings[1], bindings[3]
    participants = constants[0]
    status = publish(bindings, constants[1], participants, first)
    if status == 0:
        status = constants[2]
    if status != 0:
        return status
    if constants[3] != 0:
        clear_bytes(result, constants[3])
    at = 5
    for _ in range(constants[4]):
        source = load_word(slot(barrier, constants[at])) + constants[at + 2]
        copy_pieces(result + constants[at + 1], source, constants, at + 3)
        at += COPY_WORDS
    return wait_for_devices(barrier, participants, group_status)


def combine(reduction: int, words: int, terms: int, count: int) -> int:
    """Run a reduction kernel on `count` elements of each of its terms.

    `words` holds the addresses of the target and of the terms, and has room for one more word.
    """
    constants = words + 8 + 8 * terms
    store_word(constants, count)
    tiles = (count + REDUCTION_CHUNK - 1) // REDUCTION_CHUNK
    return call_kernel(reduction, words, constants, 0, tiles)


def reduce_run(
    reduction: int,
    scratch: int,
    barrier: int,
    participants: int,
    target: int,
    start: int,
    count: int,
) -> int:
    """Reduce a contiguous run of all sources, `start` bytes in, into `target`."""
    store_word(scratch, target)
    for other in range(participants):
        store_word(scratch + 8 + 8 * other, load_word(slot(barrier, other)) + start)
    return combine(reduction, scratch, participants, count)


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
    status = publish(bindings, index, participants, first)
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
    status = publish(bindings, index, participants, first)
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

"""What native functions that wait for other devices share: statuses, phases and barriers.

A barrier is an array of words: `[0]` the number of arrivals, `[8]` the generation, then from word
16 the slots of its participants, eight words each. The status words belong to a group of devices:
`[0]` is set when one of them fails, and every waiting loop checks it.
"""

from __future__ import annotations

from .abi.native_code import source_of
from .intrinsics import atomic_add, atomic_load, atomic_store, pause, sleep_shortly, yield_processor

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

RESUMPTIONS = 16
"""The status word that counts how often devices have waited and resumed."""

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


BARRIER_GENERATION = 64
"""The offset of a barrier's generation in bytes."""


def barrier_words(participants: int) -> int:
    """Return the number of words of a barrier."""
    return FIRST_SLOT + SLOT_WORDS * participants


def back_off(spins: int, yields: int) -> None:
    """Wait between two polls: spin first, then yield the core, and sleep after `yields` polls."""
    if spins > SPINS + yields:
        sleep_shortly()
    elif spins > SPINS:
        yield_processor()
    else:
        pause()


def arrive(barrier: int, participants: int) -> int:
    """Arrive at a barrier; return the generation that ends when all have arrived."""
    generation = atomic_load(barrier + BARRIER_GENERATION)
    if atomic_add(barrier, 1) == participants - 1:
        atomic_store(barrier, 0)
        atomic_store(barrier + BARRIER_GENERATION, generation + 1)
    return generation


def wait(barrier: int, generation: int, status: int) -> int:
    """Wait until a barrier's generation ends; return 0, or RELEASED if a device failed.

    Counts the barrier in the state.
    """
    spins = 0
    while atomic_load(barrier + BARRIER_GENERATION) == generation:
        if atomic_load(status) != 0:
            return RELEASED
        spins += 1
        back_off(spins, YIELDS)
    atomic_add(status + 8 * RESUMPTIONS, 1)
    return 0


def wait_for_devices(barrier: int, participants: int, status: int) -> int:
    """Arrive at a barrier and wait for it; return 0 or RELEASED."""
    return wait(barrier, arrive(barrier, participants), status)

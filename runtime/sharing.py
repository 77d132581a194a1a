"""Which buffers of a recording lie in the memory of others that are not needed any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .arena import Lifetime, aligned
from .buffers import Buffer, Storage


@dataclass(frozen=True, slots=True)
class Use:
    """What one command does with buffers.

    - `named`: the buffers that it touches, once for each of its bindings;
    - `in_place`: pairs of a buffer that it writes and one that it reads: it reads no element
      after it has written the one that lies at the same offset. Both are whole buffers.
    """

    named: tuple[Buffer, ...]
    in_place: tuple[tuple[Buffer, Buffer], ...] = ()


def lifetimes_of(uses: Sequence[Use]) -> dict[Buffer, Lifetime]:
    """Transient buffers and those of results, from the first command that names each to the last.

    Results are needed until the end.
    """
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for number, use in enumerate(uses):
        for buffer in use.named:
            if buffer.storage in (Storage.TRANSIENT, Storage.OUTPUT):
                first.setdefault(buffer, number)
                last[buffer] = number
    for buffer in first:
        if buffer.storage is Storage.OUTPUT:
            last[buffer] = len(uses)
    return {buffer: Lifetime(buffer.size, start, last[buffer]) for buffer, start in first.items()}


def take_over(uses: Sequence[Use], lifetimes: dict[Buffer, Lifetime]) -> dict[Buffer, Buffer]:
    """Results of kernels that lie where an operand has lain: each by the buffer it is in.

    The operand is a transient buffer that nothing reads later, of the same device. A result of
    the program takes its operand, and what that has taken, into its own memory.
    """
    homes: dict[Buffer, Buffer] = {}

    def home(buffer: Buffer) -> Buffer:
        while buffer in homes:
            buffer = homes[buffer]
        return buffer

    for number, use in enumerate(uses):
        taken: set[Buffer] = set()
        for written, read in use.in_place:
            if (
                written in taken
                or read in taken
                or read.storage is not Storage.TRANSIENT
                or written.storage not in (Storage.TRANSIENT, Storage.OUTPUT)
                or lifetimes[written].first != number
                or lifetimes[read].last != number
                or written.size != read.size
                or written.owner not in (read.owner, None)
                or use.named.count(written) != 1
                or use.named.count(read) != sum(each is read for _, each in use.in_place)
            ):
                continue
            taken |= {written, read}
            if written.storage is Storage.OUTPUT:
                homes[home(read)] = written
            else:
                homes[written] = home(read)
    return {buffer: home(buffer) for buffer in homes}


def merged(
    lifetimes: dict[Buffer, Lifetime], homes: dict[Buffer, Buffer]
) -> dict[Buffer, Lifetime]:
    """The lifetimes of the buffers that others lie in, and of those that lie alone."""
    found: dict[Buffer, Lifetime] = {}
    for buffer, own in lifetimes.items():
        home = homes.get(buffer, buffer)
        other = found.get(home, own)
        found[home] = Lifetime(home.size, min(own.first, other.first), max(own.last, other.last))
    return found


def fill_results(lifetimes: dict[Buffer, Lifetime]) -> dict[Buffer, Buffer]:
    """Transient buffers that lie in the memory of a result before that is written.

    Those that are needed when most bytes are come first, the largest of them before others.
    """
    results = [buffer for buffer in lifetimes if buffer.storage is Storage.OUTPUT]
    if not results:
        return {}
    busy = {buffer: [lifetimes[buffer]] for buffer in results}
    highest = _highest(lifetimes)
    order = sorted(
        (buffer for buffer in lifetimes if buffer.storage is Storage.TRANSIENT),
        key=lambda buffer: (
            not lifetimes[buffer].first <= highest <= lifetimes[buffer].last,
            -buffer.size,
            lifetimes[buffer].first,
        ),
    )
    found: dict[Buffer, Buffer] = {}
    for buffer in order:
        own = lifetimes[buffer]
        for result in results:
            if (
                buffer.size <= result.size
                and result.owner in (buffer.owner, None)
                and own.last < lifetimes[result].first
                and all(own.last < one.first or one.last < own.first for one in busy[result])
            ):
                busy[result].append(own)
                found[buffer] = result
                break
    return found


def _highest(lifetimes: dict[Buffer, Lifetime]) -> int:
    """The command at which transient buffers need the most bytes."""
    changes: dict[int, int] = {}
    for buffer, own in lifetimes.items():
        if buffer.storage is Storage.TRANSIENT:
            size = aligned(own.size)
            changes[own.first] = changes.get(own.first, 0) + size
            changes[own.last + 1] = changes.get(own.last + 1, 0) - size
    most = now = at = 0
    for position in sorted(changes):
        now += changes[position]
        if now > most:
            most, at = now, position
    return at

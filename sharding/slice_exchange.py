"""Plan how processes fetch sections of a split dimension from its owners with the fewest bytes.

A process holds its own shard. The rest of its section comes by a halo exchange with its neighbours,
in pieces from any processes, or by an all-gather. A piece is the intersection of a section with one
shard. Pieces are sent in rounds: in each round every process sends one piece of a common width to
one process, and receives one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest

from .factors import Window
from .local_shape import default_offsets

Interval = tuple[int, int]
"""A half-open interval [start, end) of element indices."""

MAX_PROCESSES = 64
"""Maximum number of processes for which pieces are planned; pieces grow as its square."""


@dataclass(frozen=True, slots=True)
class PieceCopy:
    """For every process, the copy of one piece into its section; entries are indexed by process."""

    source_offsets: tuple[int, ...]
    """Where the piece begins in the source: the process's shard, or the data that it received."""
    lengths: tuple[int, ...]
    """The number of elements; 0 for no piece."""
    section_offsets: tuple[int, ...]
    """Where the piece begins in the section."""


@dataclass(frozen=True, slots=True)
class Round:
    """One exchange in which each process sends to one process, and receives from one."""

    width: int
    """How many elements each process sends."""
    receivers: tuple[int, ...]
    senders: tuple[int, ...]
    send_offsets: tuple[int, ...]
    """Where the data to send begin in each process's shard."""
    copy: PieceCopy
    """Which of the received elements belong to the section, and where they go."""


@dataclass(frozen=True, slots=True)
class SliceExchange:
    """How all processes obtain their sections."""

    own: tuple[PieceCopy, ...]
    """Pieces that processes copy from their own shards."""
    rounds: tuple[Round, ...]

    @property
    def sent(self) -> int:
        """The number of elements that each process sends."""
        return sum(each.width for each in self.rounds)


@dataclass(frozen=True, slots=True)
class _Piece:
    sender: int
    receiver: int
    first: int
    end: int
    section_offset: int
    """Where the piece begins in the receiver's section."""

    @property
    def length(self) -> int:
        return self.end - self.first


def plan_slice_exchange(
    owned: Sequence[Interval], wanted: Sequence[Interval]
) -> SliceExchange | None:
    """Plan how processes that own the intervals `owned` obtain the intervals `wanted`.

    Returns `None` if a piece is longer than the smallest shard, since all processes send the same
    number of elements, or if there are more than `MAX_PROCESSES`.
    """
    return plan_joined_exchange(owned, [[each] for each in wanted])


def plan_joined_exchange(
    owned: Sequence[Interval], wanted: Sequence[Sequence[Interval]]
) -> SliceExchange | None:
    """Plan how processes obtain sections that are several intervals, one after the other.

    No interval ends before it begins. Returns `None` as `plan_slice_exchange` does.
    """
    if len(owned) > MAX_PROCESSES:
        return None
    own: list[list[_Piece]] = []
    pieces: list[_Piece] = []
    for receiver, intervals in enumerate(wanted):
        own.append([])
        section_offset = 0
        for first, end in intervals:
            for sender, (start, stop) in enumerate(owned):
                low, high = max(first, start), min(end, stop)
                if low < high:
                    piece = _Piece(sender, receiver, low, high, section_offset + low - first)
                    (own[receiver] if sender == receiver else pieces).append(piece)
            section_offset += end - first
    smallest = min(stop - start for start, stop in owned)
    if any(piece.length > smallest for piece in pieces):
        return None
    copies = tuple(_own_copy(each, owned) for each in zip_longest(*own))
    return SliceExchange(copies, tuple(_round(each, owned) for each in _rounds(pieces)))


def sections_of_slices(
    windows: Sequence[Window], offsets: Sequence[int], parts: Sequence[Interval]
) -> list[list[Interval]]:
    """Return for each operand of a concatenation the section of its source that each process reads.

    The operands are slices of one source that begin at `offsets`, and `windows` are their reads.
    `parts` are the intervals of the result by process.
    """
    return [
        [
            (offset + low, offset + high) if low < high else (0, 0)
            for low, high in (window.read(*part) for part in parts)
        ]
        for window, offset in zip(windows, offsets, strict=True)
    ]


def _own_copy(pieces: Sequence[_Piece | None], owned: Sequence[Interval]) -> PieceCopy:
    """Return a copy from each process's own shard; a process without a piece gets length 0."""
    return PieceCopy(
        tuple(0 if p is None else p.first - owned[p.sender][0] for p in pieces),
        tuple(0 if p is None else p.length for p in pieces),
        tuple(0 if p is None else p.section_offset for p in pieces),
    )


def _rounds(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Distribute pieces over rounds with one send and one receive each, longest first."""
    rounds: list[list[_Piece]] = []
    senders: list[set[int]] = []
    receivers: list[set[int]] = []
    for piece in sorted(pieces, key=lambda p: (-p.length, p.sender - p.receiver)):
        number = 0
        while number < len(rounds) and (
            piece.sender in senders[number] or piece.receiver in receivers[number]
        ):
            number += 1
        if number == len(rounds):
            rounds.append([])
            senders.append(set())
            receivers.append(set())
        rounds[number].append(piece)
        senders[number].add(piece.sender)
        receivers[number].add(piece.receiver)
    return rounds


def _round(pieces: Sequence[_Piece], owned: Sequence[Interval]) -> Round:
    width = max(piece.length for piece in pieces)
    count = len(owned)
    senders = {piece.receiver: piece.sender for piece in pieces}
    # Idle processes complete the permutation: preferably each sends to itself.
    idle = set(range(count)) - set(senders.values())
    for process in range(count):
        if process not in senders and process in idle:
            senders[process] = process
            idle.remove(process)
    rest = sorted(idle)
    for process in range(count):
        if process not in senders:
            senders[process] = rest.pop(0)
    receivers = {sender: receiver for receiver, sender in senders.items()}
    send_offsets, source_offsets = [0] * count, [0] * count
    lengths, section_offsets = [0] * count, [0] * count
    for piece in pieces:
        start, stop = owned[piece.sender]
        begin = min(piece.first - start, stop - start - width)
        send_offsets[piece.sender] = begin
        source_offsets[piece.receiver] = piece.first - start - begin
        lengths[piece.receiver] = piece.length
        section_offsets[piece.receiver] = piece.section_offset
    return Round(
        width,
        tuple(receivers[process] for process in range(count)),
        tuple(senders[process] for process in range(count)),
        tuple(send_offsets),
        PieceCopy(tuple(source_offsets), tuple(lengths), tuple(section_offsets)),
    )


HaloWidths = tuple[int, int]
"""How many elements of its lower and of its upper neighbour a process needs."""


def cheapest_exchange(
    owned: Sequence[Interval], wanted: Sequence[Interval]
) -> tuple[HaloWidths | SliceExchange | None, int]:
    """Return the cheapest exchange, and how many elements each process sends in it.

    The exchange is `None` for an all-gather. `owned` are the shards of the dimension and `wanted`
    the sections, both by process.
    """
    low = high = 0
    for (first, last), (start, end) in zip(wanted, owned, strict=True):
        if first < last:
            low, high = max(low, start - first), max(high, last - end)
    smallest = min(end - start for start, end in owned)
    least = owned[-1][1] - smallest
    found: HaloWidths | SliceExchange | None = None
    if max(low, high) <= smallest and low + high <= least:
        # Of two processes, each is the other's neighbour on one side only.
        found, least = (low, high), low + high if len(owned) > 2 else max(low, high)
    exchange = plan_slice_exchange(owned, wanted) if least else None
    if exchange is None:
        return found, least
    # One round that sends as much as an all-gather needs less memory.
    leaves_less = exchange.sent == least and found is None and len(exchange.rounds) == 1
    return (exchange, exchange.sent) if exchange.sent < least or leaves_less else (found, least)


@lru_cache(maxsize=4096)
def _sent_elements(window: Window, size: int, parts: int) -> int:
    owned = list(pairwise(default_offsets(window.extent, parts)))
    wanted = [window.read(start, end) for start, end in pairwise(default_offsets(size, parts))]
    return cheapest_exchange(owned, wanted)[1]


def window_bytes(window: Window, size: int | None, parts: int, held: float) -> float:
    """Return the bytes that each process sends so that all have the elements their windows read.

    `size` is the extent of the factor along which the operand is read, and `parts` the number of
    its shards. `held` is the size in bytes of a process's shard of the operand. If the size is
    unknown, nothing is counted.
    """
    if size is None or parts <= 1:
        return 0.0
    return parts * held * _sent_elements(window, size, parts) / max(1, window.extent)

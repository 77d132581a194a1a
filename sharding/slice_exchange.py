"""How processes come to sections of a split dimension that others own, by the least bytes.

A process holds its own part. What it lacks is sent to it by its neighbours as borders, or by
whoever has it in pieces, or all parts are gathered. Pieces are the parts of a section that single
shards hold. They are sent in rounds: in each, every process sends one piece of a common width to
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
"""From the first element to behind the last."""


@dataclass(frozen=True, slots=True)
class Part:
    """What goes into each process's section at once: a number of each for every process."""

    first: tuple[int, ...]
    """Where it begins in what the process holds or has received."""
    lengths: tuple[int, ...]
    places: tuple[int, ...]
    """Where it goes in the section."""


@dataclass(frozen=True, slots=True)
class Round:
    """One exchange in which each process sends to one, and receives from one."""

    width: int
    """How many elements each sends."""
    receivers: tuple[int, ...]
    senders: tuple[int, ...]
    sent: tuple[int, ...]
    """Where in each process's shard that begins which it sends."""
    part: Part
    """What of that which it receives belongs to its section, and where."""


@dataclass(frozen=True, slots=True)
class SliceExchange:
    """How all processes come to their sections."""

    own: tuple[Part, ...]
    """What they hold themselves."""
    rounds: tuple[Round, ...]

    @property
    def sent(self) -> int:
        """How many elements each process sends."""
        return sum(each.width for each in self.rounds)


@dataclass(frozen=True, slots=True)
class _Piece:
    sender: int
    receiver: int
    first: int
    end: int
    place: int
    """Where in the receiver's section it begins."""

    @property
    def length(self) -> int:
        return self.end - self.first


def plan_slice_exchange(
    owned: Sequence[Interval], wanted: Sequence[Interval]
) -> SliceExchange | None:
    """How processes that own some intervals come to others.

    `None` if a piece is longer than the smallest shard: all send as much.
    """
    return plan_joined_exchange(owned, [[each] for each in wanted])


def plan_joined_exchange(
    owned: Sequence[Interval], wanted: Sequence[Sequence[Interval]]
) -> SliceExchange | None:
    """How processes come to sections that are several intervals, one behind the other.

    `None` as for `plan_slice_exchange`.
    """
    own: list[list[_Piece]] = []
    pieces: list[_Piece] = []
    for receiver, intervals in enumerate(wanted):
        own.append([])
        place = 0
        for first, end in intervals:
            for sender, (start, stop) in enumerate(owned):
                low, high = max(first, start), min(end, stop)
                if low < high:
                    piece = _Piece(sender, receiver, low, high, place + low - first)
                    (own[receiver] if sender == receiver else pieces).append(piece)
            place += max(end - first, 0)
    smallest = min(stop - start for start, stop in owned)
    if any(piece.length > smallest for piece in pieces):
        return None
    held = tuple(_held(each, owned) for each in zip_longest(*own))
    return SliceExchange(held, tuple(_round(each, owned) for each in _rounds(pieces)))


def _held(pieces: Sequence[_Piece | None], owned: Sequence[Interval]) -> Part:
    """A piece of each process's own shard, or nothing of it."""
    return Part(
        tuple(0 if p is None else p.first - owned[p.sender][0] for p in pieces),
        tuple(0 if p is None else p.length for p in pieces),
        tuple(0 if p is None else p.place for p in pieces),
    )


def _rounds(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Pieces in rounds in which nobody sends or receives two, the long ones first."""
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
    by_receiver = {piece.receiver: piece for piece in pieces}
    senders = {piece.receiver: piece.sender for piece in pieces}
    # Who has nothing to send sends something to who receives nothing, itself if it can.
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
    sent = [0] * count
    first, lengths, places = [0] * count, [0] * count, [0] * count
    for receiver, piece in by_receiver.items():
        start, stop = owned[piece.sender]
        begin = min(piece.first - start, stop - start - width)
        sent[piece.sender] = begin
        first[receiver] = piece.first - start - begin
        lengths[receiver] = piece.length
        places[receiver] = piece.place
    return Round(
        width,
        tuple(receivers[process] for process in range(count)),
        tuple(senders[process] for process in range(count)),
        tuple(sent),
        Part(tuple(first), tuple(lengths), tuple(places)),
    )


HaloWidths = tuple[int, int]
"""How many elements of the neighbours below and above a process needs."""

MOST_PARTS = 64
"""Pieces are planned for so many processes at most, since each may have some for each."""


def best_way(
    owned: Sequence[Interval], wanted: Sequence[Interval]
) -> tuple[HaloWidths | SliceExchange | None, int]:
    """What to exchange (`None`: gather all), and how many elements each process sends then.

    `owned` are the parts of the dimension and `wanted` the sections, in the processes' order.
    """
    low = high = 0
    for (first, last), (start, end) in zip(wanted, owned, strict=True):
        if first < last:
            low, high = max(low, start - first), max(high, last - end)
    smallest = min(end - start for start, end in owned)
    least = owned[-1][1] - smallest
    found: HaloWidths | SliceExchange | None = None
    if max(low, high) <= smallest and low + high <= least:
        # Of two processes each is the other's neighbour on one side only.
        found, least = (low, high), low + high if len(owned) > 2 else max(low, high)
    exchange = plan_slice_exchange(owned, wanted) if least and len(owned) <= MOST_PARTS else None
    if exchange is None:
        return found, least
    # One round that sends as much as a gather would leaves less to hold.
    leaves_less = exchange.sent == least and found is None and len(exchange.rounds) == 1
    return (exchange, exchange.sent) if exchange.sent < least or leaves_less else (found, least)


@lru_cache(maxsize=4096)
def _elements(window: Window, size: int, parts: int) -> int:
    owned = list(pairwise(default_offsets(window.extent, parts)))
    wanted = [window.read(start, end) for start, end in pairwise(default_offsets(size, parts))]
    return best_way(owned, wanted)[1]


def window_bytes(window: Window, size: int, parts: int, whole: float) -> float:
    """What each process sends for all to have what they read of an operand of `whole` bytes.

    `size` is the extent of the factor along which the operand is read, split in `parts` parts; of
    other splits of the operand `whole` is one process's share.
    """
    return whole * _elements(window, size, parts) / max(1, window.extent)

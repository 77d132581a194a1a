"""The steps by which one MPI rank takes part in a collective (`messages.py`).

All of a group compare first what they have come for: in round k everybody tells it to the one 2^k
places behind them, so that after all rounds everybody has heard of all, and nobody tells anything
before what they have heard matches. Where little is brought, it goes along: after the last round
everybody has everything, and takes what it needs. Else every piece goes straight from the memory
of who has it to that of who needs it; only pieces that are not contiguous are packed.

Terms are combined in the order of the group, by the kernels that threads use: results have the same
bits on both, and `bf16` and `f16` are rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ..sharding.collectives import ALL_GATHER, GATHER
from . import messages
from .collectives import Collective, Shape, shard_range
from .messages import MEMORY, RESULT_DATA, SCRATCH, SOURCE_DATA
from .native import TOO_NARROW
from .reductions import reduction_kernel

SMALL_BYTES = 16 << 10
"""What a group brings at most where everybody gets everything."""

MESSAGE_BYTES = 1 << 30
"""Of one message: MPI counts bytes in 32 bits."""

LINE = 64
"""Scratch memory is taken in such lines."""


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a row-major array, in bytes: pieces of `size`, in two loops.

    - `outer`, `inner`: how often;
    - `outer_pitch`, `inner_pitch`: from one to the next.
    """

    start: int
    size: int
    outer: int = 1
    outer_pitch: int = 0
    inner: int = 1
    inner_pitch: int = 0

    @property
    def bytes(self) -> int:
        """How much it holds."""
        return self.size * self.outer * self.inner

    @property
    def is_contiguous(self) -> bool:
        """Whether it is one piece of memory."""
        inner = self.inner == 1 or self.inner_pitch == self.size
        outer = self.outer == 1 or self.outer_pitch == self.size * self.inner
        return inner and outer

    def packed(self) -> Box:
        """What it is like without gaps."""
        return Box(0, self.size, self.outer, self.size * self.inner, self.inner, self.size)


Move = tuple[Box, Box]
"""From where in the memory of one to where in that of another, piece by piece."""


def box(shape: Shape, item: int, low: tuple[int, int, int], high: tuple[int, int, int]) -> Box:
    """The part of an array that begins and is so long along two dimensions, or twice the same:
    each a dimension, start and length."""
    (first, start, length), (second, start_2, length_2) = sorted((low, high))
    outer, inner = prod(shape[:first]), prod(shape[second + 1 :]) * item
    if first == second:
        row = shape[first] * inner
        return Box(start * inner, length * inner, outer, row)
    middle, row = prod(shape[first + 1 : second]), shape[second] * inner
    return Box(
        start * middle * row + start_2 * inner,
        length_2 * inner,
        outer,
        shape[first] * middle * row,
        length * middle,
        row,
    )


class MessageSteps:
    """Writes steps, and counts the scratch memory that they use."""

    def __init__(self, participants: int) -> None:
        self.words: list[int] = []
        self.scratch_bytes = 0
        self.messages = 0
        self._bindings = self.room(8 * (participants + 2))

    def room(self, size: int) -> int:
        """Scratch memory that nobody else uses."""
        start = self.scratch_bytes
        self.scratch_bytes += -(-size // LINE) * LINE
        return start

    def message(self, opcode: int, base: int, offset: int, size: int, rank: int) -> None:
        """Send or receive bytes, or fewer than there is memory for."""
        self.words += (opcode, base, offset, size, rank)
        self.messages += 1

    def messages_of(self, opcode: int, base: int, offset: int, size: int, rank: int) -> None:
        """The same, in as many messages as it takes."""
        for start in range(0, size, MESSAGE_BYTES):
            self.message(opcode, base, offset + start, min(size - start, MESSAGE_BYTES), rank)

    def wait(self) -> None:
        """Wait for all messages so far."""
        self.words.append(messages.WAIT)

    def copy(self, target: int, to: Box, source: int, origin: Box) -> None:
        """Copy from one place to another, by their bases."""
        if not origin.bytes:
            return
        if to.is_contiguous and origin.is_contiguous:
            to, origin = Box(to.start, to.bytes), Box(origin.start, origin.bytes)
        loops = (to.outer, to.outer_pitch, origin.outer_pitch, to.inner)
        pitches = (to.inner_pitch, origin.inner_pitch)
        places = (target, to.start, source, origin.start)
        self.words += (messages.COPY, *places, to.size, *loops, *pitches)

    def clear(self, size: int) -> None:
        """Set the result to zero."""
        self.words += (messages.CLEAR, RESULT_DATA, 0, size)

    def reduce(
        self, kernel: int, count: int, target: tuple[int, int], sources: Sequence[tuple[int, int]]
    ) -> None:
        """Combine elements of several places."""
        places = [word for each in sources for word in each]
        head = (kernel, count, *target, len(sources), SCRATCH, self._bindings)
        self.words += (messages.REDUCE, *head, *places)


class CollectiveSteps:
    """The steps of one rank in one collective."""

    def __init__(self, collective: Collective, header: int, header_bytes: int, inbox: int) -> None:
        """`header` is the address of what tells the collective from others, the first word of
        which does so at once; `inbox` is how much the headers of others may hold at most."""
        self._collective = collective
        self._header = header
        self._header_bytes = header_bytes
        self._inbox_bytes = inbox + SMALL_BYTES
        self._steps = MessageSteps(collective.group.size)
        self._inbox = self._steps.room(self._inbox_bytes)
        self._shapes = collective.group_shapes
        self._item = collective.source.storage_bytes

    def write(self, hash_word: int) -> MessageSteps:
        """Write all steps."""
        collective, group = self._collective, self._collective.group
        sizes = [prod(shape) * self._item for shape in self._shapes]
        is_small = group.size > 1 and sum(sizes) <= SMALL_BYTES
        slots = self._compare(hash_word, sizes if is_small else [0] * group.size)
        own = (SOURCE_DATA, 0)
        places = [
            own if member == group.rank else (SCRATCH, slots[member])
            for member in range(group.size)
        ]
        if collective.kind == "halo" and self._is_too_narrow():
            self._steps.words += (messages.FAIL, TOO_NARROW)
        elif collective.reduces:
            (self._reduce_all if is_small else self._reduce)(places)
        else:
            self._begin_result()
            (self._take_all if is_small else self._exchange)(places)
        self._steps.words.append(messages.END)
        return self._steps

    # Comparing --------------------------------------------------------------------------------

    def _compare(self, hash_word: int, sizes: Sequence[int]) -> dict[int, int]:
        """Hear of all others; returns where in scratch memory what each brings lies."""
        group, steps, head = self._collective.group, self._steps, self._header_bytes
        outbox = steps.room(head + sum(sizes))
        brought = [group.rank]
        slots = {group.rank: outbox + head}
        end = outbox + head + sizes[group.rank]
        brings = sum(sizes) > 0
        if brings:
            steps.copy(SCRATCH, Box(outbox, head), MEMORY, Box(self._header, head))
            own = Box(0, sizes[group.rank])
            steps.copy(SCRATCH, Box(outbox + head, own.size), SOURCE_DATA, own)
        distance = 1
        while distance < group.size:
            count = min(distance, group.size - distance)
            told = head + sum(sizes[member] for member in brought[:count])
            receiver = group.processes[(group.rank + distance) % group.size]
            sender = group.processes[(group.rank - distance) % group.size]
            base, start = (SCRATCH, outbox) if brings else (MEMORY, self._header)
            steps.message(messages.RECEIVE, SCRATCH, self._inbox, self._inbox_bytes, sender)
            steps.message(messages.SEND, base, start, told, receiver)
            steps.wait()
            steps.words += (messages.CHECK, SCRATCH, self._inbox, hash_word)
            heard = [(group.rank - distance - back) % group.size for back in range(count)]
            size = sum(sizes[member] for member in heard)
            steps.copy(SCRATCH, Box(end, size), SCRATCH, Box(self._inbox + head, size))
            for member in heard:
                slots[member] = end
                end += sizes[member]
            brought += heard
            distance *= 2
        return slots

    def _is_too_narrow(self) -> bool:
        """Whether somebody has less than a neighbour's halo."""
        collective = self._collective
        low, high = collective.low, collective.high
        held = [shape[collective.axis] - low - high for shape in self._shapes]
        # Whoever has a neighbour behind it gives that one `low`, and one before it `high`.
        return min(held[:-1], default=low) < low or min(held[1:], default=high) < high

    # Moving -----------------------------------------------------------------------------------

    def _begin_result(self) -> None:
        """Write what nobody sends."""
        collective = self._collective
        size = prod(collective.result_shape) * collective.result.storage_bytes
        if collective.kind == "halo":
            self._steps.copy(RESULT_DATA, Box(0, size), SOURCE_DATA, Box(0, size))
        is_outside = collective.kind == "gather" and collective.group.rank != collective.root
        if is_outside or (collective.kind == "permute" and collective.sender is None):
            self._steps.clear(size)

    def _take_all(self, places: Sequence[tuple[int, int]]) -> None:
        """Take what this rank needs from what all have brought."""
        for member, (base, start) in enumerate(places):
            for origin, to in self._moves(member, self._collective.group.rank):
                self._steps.copy(RESULT_DATA, to, base, _moved(origin, start))

    def _exchange(self, places: Sequence[tuple[int, int]]) -> None:
        """Send every piece from who has it to who needs it."""
        steps, group = self._steps, self._collective.group
        unpacked: list[tuple[Box, int]] = []
        for member in self._others():
            for _, to in self._moves(member, group.rank):
                rank = group.processes[member]
                if to.is_contiguous:
                    steps.messages_of(messages.RECEIVE, RESULT_DATA, to.start, to.bytes, rank)
                else:
                    start = steps.room(to.bytes)
                    steps.messages_of(messages.RECEIVE, SCRATCH, start, to.bytes, rank)
                    unpacked.append((to, start))
        for member in self._others():
            for origin, _ in self._moves(group.rank, member):
                self._send(origin, group.processes[member])
        for origin, to in self._moves(group.rank, group.rank):
            steps.copy(RESULT_DATA, to, SOURCE_DATA, origin)
        steps.wait()
        for to, start in unpacked:
            steps.copy(RESULT_DATA, to, SCRATCH, _moved(to.packed(), start))

    def _send(self, origin: Box, rank: int) -> None:
        """Send a part of the source."""
        if origin.is_contiguous:
            message = SOURCE_DATA, origin.start
        else:
            message = SCRATCH, self._steps.room(origin.bytes)
            self._steps.copy(SCRATCH, _moved(origin.packed(), message[1]), SOURCE_DATA, origin)
        self._steps.messages_of(messages.SEND, *message, origin.bytes, rank)

    def _others(self) -> Iterator[int]:
        """The other members, from the next one on."""
        group = self._collective.group
        return ((group.rank + step) % group.size for step in range(1, group.size))

    def _moves(self, sender: int, receiver: int) -> Sequence[Move]:
        """What one member gives another: from where in its source to where in the result."""
        collective, shapes, item = self._collective, self._shapes, self._item
        axis, count, root = collective.axis, collective.group.size, collective.root
        shape = shapes[sender]
        if root is not None and root != (receiver if collective.kind == "gather" else sender):
            return ()
        whole = Box(0, prod(shape) * item)
        match collective.kind:
            case "broadcast":
                return ((whole, whole),)
            case "permute":
                own = collective.group.rank
                expected = (collective.sender, own), (own, collective.receiver)
                return ((whole, whole),) if (sender, receiver) in expected else ()
            case "scatter":
                piece = (axis, *shard_range(shape[axis], count, receiver))
                origin = box(shape, item, piece, piece)
                return ((origin, origin.packed()),)
            case "halo":
                return self._halo_moves(sender, receiver)
            case ALL_GATHER.name | GATHER.name:
                joined = sum(each[axis] for each in shapes)
                start = sum(each[axis] for each in shapes[:sender])
                target = (*shape[:axis], joined, *shape[axis + 1 :])
                piece, own = (axis, start, shape[axis]), (axis, 0, shape[axis])
                return ((box(shape, item, own, own), box(target, item, piece, piece)),)
            case "all_to_all":
                return (self._transposed(sender, receiver),)
            case _:
                raise ValueError(f"there is no collective {collective.kind}")

    def _transposed(self, sender: int, receiver: int) -> Move:
        """What one member gives another in an all-to-all."""
        collective, shapes, item = self._collective, self._shapes, self._item
        split, joined, count = collective.axis, collective.concat_axis, collective.group.size
        shape = shapes[sender]
        start, length = shard_range(shape[split], count, receiver)
        target = list(shapes[receiver])
        if split == joined:
            parts = [shard_range(each[split], count, receiver)[1] for each in shapes]
            target[split] = sum(parts)
            origin, to = (split, start, length), (split, sum(parts[:sender]), length)
            return box(shape, item, origin, origin), box(tuple(target), item, to, to)
        target[split] = length
        target[joined] = sum(each[joined] for each in shapes)
        place = sum(each[joined] for each in shapes[:sender])
        along, across = (split, start, length), (joined, 0, shape[joined])
        to = (joined, place, shape[joined])
        return box(shape, item, along, across), box(tuple(target), item, (split, 0, length), to)

    def _halo_moves(self, sender: int, receiver: int) -> Sequence[Move]:
        """What neighbours give each other: the last and the first of what is their own."""
        collective, item, axis = self._collective, self._item, self._collective.axis
        low, high = collective.low, collective.high
        here, there = self._shapes[sender], self._shapes[receiver]
        if receiver == sender + 1:
            origin, to = (axis, here[axis] - high - low, low), (axis, 0, low)
        elif receiver == sender - 1:
            origin, to = (axis, low, high), (axis, there[axis] - high, high)
        else:
            return ()
        return ((box(here, item, origin, origin), box(there, item, to, to)),)

    # Reducing ---------------------------------------------------------------------------------

    def _kernel(self) -> int:
        collective = self._collective
        kinds = collective.source, collective.result
        return reduction_kernel(collective.reduction, *kinds, collective.group.size).address

    def _own_part(self, member: int) -> Box:
        """What a member combines for all, of what everybody brings."""
        collective, shape, count = self._collective, self._shapes[member], len(self._shapes)
        if collective.kind == "reduce_scatter":
            piece = (collective.axis, *shard_range(shape[collective.axis], count, member))
            return box(shape, self._item, piece, piece)
        if collective.kind == "reduce":
            return Box(0, prod(shape) * self._item if member == collective.root else 0)
        start, length = shard_range(prod(shape), count, member)
        return Box(start * self._item, length * self._item)

    def _reduce_all(self, places: Sequence[tuple[int, int]]) -> None:
        """Combine what all have brought, as far as this rank needs it."""
        collective, steps = self._collective, self._steps
        target = collective.result.storage_bytes
        part = Box(0, prod(collective.source_shape) * self._item)
        if collective.kind != "all_reduce":
            part = self._own_part(collective.group.rank)
        if not part.bytes:
            steps.clear(prod(collective.result_shape) * target)
            return
        if part.is_contiguous:
            part = Box(part.start, part.bytes)
        for row in range(part.outer):
            start = part.start + row * part.outer_pitch
            sources = [(base, offset + start) for base, offset in places]
            count = part.size // self._item
            steps.reduce(self._kernel(), count, (RESULT_DATA, row * count * target), sources)

    def _reduce(self, _: Sequence[tuple[int, int]]) -> None:
        """Each member combines its own part; of an all-reduce it then gives it to the others."""
        collective, steps, group = self._collective, self._steps, self._collective.group
        part = self._own_part(group.rank)
        target = collective.result.storage_bytes
        sources = [(SCRATCH, steps.room(part.bytes)) for _ in range(group.size)]
        if part.is_contiguous:
            sources[group.rank] = (SOURCE_DATA, part.start)
        for member in self._others():
            base, start = sources[member]
            rank = group.processes[member]
            steps.messages_of(messages.RECEIVE, base, start, part.bytes, rank)
        for member in self._others():
            self._send(self._own_part(member), group.processes[member])
        if not part.is_contiguous:
            own = _moved(part.packed(), sources[group.rank][1])
            steps.copy(SCRATCH, own, SOURCE_DATA, part)
        steps.wait()
        count = part.bytes // self._item
        place = 0
        if collective.kind == "all_reduce":
            place = part.start // self._item * target
        if count:
            steps.reduce(self._kernel(), count, (RESULT_DATA, place), sources)
        elif collective.kind == "reduce":
            steps.clear(prod(collective.result_shape) * target)
        if collective.kind == "all_reduce":
            self._share(place, count * target)

    def _share(self, start: int, size: int) -> None:
        """Give all others this rank's part of the result, and take theirs."""
        steps, group = self._steps, self._collective.group
        target = self._collective.result.storage_bytes
        for member in self._others():
            part = self._own_part(member)
            place, length = (each // self._item * target for each in (part.start, part.bytes))
            steps.messages_of(messages.RECEIVE, RESULT_DATA, place, length, group.processes[member])
        for member in self._others():
            steps.messages_of(messages.SEND, RESULT_DATA, start, size, group.processes[member])
        steps.wait()


def _moved(part: Box, start: int) -> Box:
    """A part of what begins at an offset."""
    return Box(
        part.start + start, part.size, part.outer, part.outer_pitch, part.inner, part.inner_pitch
    )

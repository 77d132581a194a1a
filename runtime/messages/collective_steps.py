"""The message steps (`step_interpreter.py`) by which an MPI rank takes part in a collective.

First all participants compare the headers of their collectives: in round k each sends its header to
the one 2^k places after it, and checks what it receives before it sends again. After all rounds
each has heard from all others. Small operands travel with the headers, so that after the last round
each process has everything and takes what it needs. Otherwise each piece is sent directly from the
memory of its owner to that of its receiver, and only pieces that are not contiguous are packed.

Where ranks have several devices, the participants on one rank (a rank group) read each other's
memory, and the first of them, the leader, sends and receives for all. It exchanges one message with
each other rank group, in which data needed by several devices occur once. All devices of a rank
group write the leader's steps, so that they agree on the layout of its scratch memory; only the
leader carries them out.

Reductions combine terms in the order of the group, by the same kernels as on threads: results are
bitwise equal on both, and `bf16` and `f16` are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod

from ...sharding.collective_rows import SHIFT, UPDATE_HALO
from ..collectives import Collective
from ..intrinsics import LARGE_BLOCK
from ..moves import ByteSection, halo_is_too_wide, moves, reduced_section
from ..protocol import TOO_NARROW
from ..reductions import reduction_kernel
from .step_interpreter import (
    MEMORY,
    PUBLISHED_HEADER,
    PUBLISHED_RESULT,
    PUBLISHED_SCRATCH,
    PUBLISHED_SOURCE,
    RECEIVE,
    RESULT_DATA,
    SCRATCH,
    SEND,
    SOURCE_DATA,
)
from .step_writer import Place, StepWriter, at

SMALL_BYTES = 16 << 10
"""The largest total size of operands that travel with the headers."""


@dataclass(slots=True)
class Parcel:
    """A section of a member's source or result that is sent to members on another rank.

    - `receivers`: the members that need it, each with the target section in its result;
    - `start`: its offset in the message.
    """

    sender: int
    origin: ByteSection
    receivers: list[tuple[int, ByteSection]] = field(default_factory=list[tuple[int, ByteSection]])
    start: int = 0


@dataclass(frozen=True, slots=True)
class RankBarrier:
    """The shared memory by which the devices of a rank synchronise in a collective.

    - `words`: the address of the barrier;
    - `slots`: for each member of the group, the address of what it publishes.
    """

    words: int
    slots: Sequence[int]


class CollectiveStepBuilder:
    """Writer of the steps of one device in one collective."""

    def __init__(
        self,
        collective: Collective,
        header: tuple[int, int],
        inbox: int,
        devices: int = 1,
        barrier: RankBarrier | None = None,
    ) -> None:
        """`header` is the address and size of the header that identifies the collective.

        Its first word is a hash. `inbox` is the largest size of the headers of others. A rank has
        `devices` devices, with a `barrier` if there are several.
        """
        self._collective = collective
        self._header, self._header_bytes = header
        self._inbox_bytes = inbox + SMALL_BYTES
        self._steps = StepWriter(collective.group.size)
        self._inbox = self._steps.room(self._inbox_bytes)
        self._shapes = collective.group_shapes
        self._item = collective.source.storage_bytes
        self._barrier = barrier
        self._own = collective.group.index
        by_rank: dict[int, list[int]] = {}
        for member, process in enumerate(collective.group.processes):
            by_rank.setdefault(process // devices, []).append(member)
        self._rank_groups = list(by_rank.values())
        self._own_group = next(
            number for number, rank_group in enumerate(self._rank_groups) if self._own in rank_group
        )
        self._here = self._rank_groups[self._own_group]
        self._leads = self._own == self._here[0]

    def write(self, hash_word: int) -> StepWriter:
        """Write all steps; `hash_word` is the first word of the header."""
        collective, group = self._collective, self._collective.group
        sizes = [prod(shape) * self._item for shape in self._shapes]
        is_small = group.size > 1 and sum(sizes) <= SMALL_BYTES
        if not collective.row.reduces:
            self._begin_result()
        self._publish(hash_word)
        with self._steps.carried_out_if(self._leads):
            slots = self._compare(hash_word, sizes if is_small else [0] * group.size)
        places = [
            self._source(member) if member in self._here else self._scratch(slots[member])
            for member in range(group.size)
        ]
        if is_small and len(self._rank_groups) > 1:
            self._synchronize()
        if collective.row is UPDATE_HALO and halo_is_too_wide(collective):
            self._steps.fail(TOO_NARROW)
        elif collective.row.reduces:
            (self._reduce_all if is_small else self._reduce)(places)
        elif is_small:
            for member, place in enumerate(places):
                self._take(member, place)
        else:
            (self._permute if collective.row is SHIFT else self._exchange)(places)
        # Sources must not be overwritten until the other devices of the rank have read them.
        self._synchronize()
        self._steps.end()
        return self._steps

    # Devices of one rank ----------------------------------------------------------------------

    def _source(self, member: int) -> Place:
        """Return the place of the source of a member on this rank."""
        if member == self._own:
            return SOURCE_DATA, 0
        return self._published(member, PUBLISHED_SOURCE), 0

    def _result(self, member: int) -> Place:
        """Return the place of the result of a member on this rank."""
        if member == self._own:
            return RESULT_DATA, 0
        return self._published(member, PUBLISHED_RESULT), 0

    def _scratch(self, offset: int) -> Place:
        """Return a place in the scratch memory of this rank's leader."""
        if self._leads:
            return SCRATCH, offset
        return self._published(self._here[0], PUBLISHED_SCRATCH), offset

    def _published(self, member: int, offset: int) -> int:
        assert self._barrier is not None
        return self._barrier.slots[member] + offset

    def _publish(self, hash_word: int) -> None:
        """Publish this device's buffers to the others of its rank, and compare their headers."""
        barrier, own = self._barrier, self._own
        if barrier is None:
            return
        self._steps.publish(barrier.slots[own], self._header)
        self._synchronize()
        for member in self._here:
            if member != own:
                header = self._published(member, PUBLISHED_HEADER)
                self._steps.check((header, 0), hash_word)

    def _synchronize(self) -> None:
        if self._barrier is not None and len(self._here) > 1:
            self._steps.synchronize(self._barrier.words, len(self._here))

    # Comparing --------------------------------------------------------------------------------

    def _compare(self, hash_word: int, sizes: Sequence[int]) -> dict[int, int]:
        """Compare headers with all other ranks; return the scratch offset of each small operand."""
        group, steps, head = self._collective.group, self._steps, self._header_bytes
        groups, own = self._rank_groups, self._own_group
        loads = [sum(sizes[member] for member in rank_group) for rank_group in groups]
        outbox = steps.room(head + sum(sizes))
        end = outbox + head
        brings = sum(sizes) > 0 and len(groups) > 1
        if brings:
            steps.copy(
                (SCRATCH, outbox),
                ByteSection(0, head),
                (MEMORY, self._header),
                ByteSection(0, head),
            )
            for member in self._here:
                part = ByteSection(0, sizes[member])
                steps.copy((SCRATCH, end), part, self._source(member), part)
                end += part.size
        slots: dict[int, int] = {}
        known = [own]
        distance = 1
        while distance < len(groups):
            count = min(distance, len(groups) - distance)
            outgoing_bytes = head + sum(loads[each] for each in known[:count])
            receiver = group.processes[groups[(own + distance) % len(groups)][0]]
            sender = group.processes[groups[(own - distance) % len(groups)][0]]
            outgoing = (SCRATCH, outbox) if brings else (MEMORY, self._header)
            steps.message(RECEIVE, (SCRATCH, self._inbox), self._inbox_bytes, sender)
            steps.message(SEND, outgoing, outgoing_bytes, receiver)
            steps.wait()
            steps.check((SCRATCH, self._inbox), hash_word)
            heard = [(own - distance - back) % len(groups) for back in range(count)]
            part = ByteSection(0, sum(loads[each] for each in heard))
            steps.copy((SCRATCH, end), part, (SCRATCH, self._inbox + head), part)
            for member in (member for each in heard for member in groups[each]):
                slots[member] = end
                end += sizes[member]
            known += heard
            distance *= 2
        return slots

    # Moving -----------------------------------------------------------------------------------

    def _begin_result(self) -> None:
        """Write the parts of the result that nobody sends."""
        collective = self._collective
        size = prod(collective.result_shape) * collective.result.storage_bytes
        if collective.row is UPDATE_HALO:
            self._steps.copy(
                (RESULT_DATA, 0), ByteSection(0, size), (SOURCE_DATA, 0), ByteSection(0, size)
            )
        root = collective.root
        is_outside = collective.row.joins and root is not None and self._own != root
        if is_outside or (collective.row is SHIFT and collective.sender is None):
            self._steps.clear(size)

    def _take(self, member: int, place: Place) -> None:
        """Copy what this device needs from the operand of a member."""
        for origin, to in moves(self._collective, member, self._own):
            self._steps.copy((RESULT_DATA, 0), to, place, origin)

    def _exchange(self, places: Sequence[Place]) -> None:
        """Send every piece from its owner to its receivers."""
        parcels = {
            rank_group: self._parcels(rank_group, self._own_group)
            for rank_group in self._other_groups()
        }
        rank, own = self._own, self._read_in_result()
        with self._steps.carried_out_if(self._leads):
            landings = {
                rank_group: self._receive(rank_group, found, self._landing(found))
                for rank_group, found in parcels.items()
            }
            if own is not None:
                self._take(rank, places[rank])
            for rank_group in parcels:
                if own is not None:
                    place = at((RESULT_DATA, 0), own)
                    self._steps.send(place, own.bytes, self._leader(rank_group))
                else:
                    self._send(rank_group, self._parcels(self._own_group, rank_group), self._source)
        for member in self._here if own is None else ():
            self._take(member, places[member])
        self._wait_for_leader()
        for rank_group, found in parcels.items():
            for parcel in found:
                self._unpack(parcel, landings[rank_group])

    def _read_in_result(self) -> ByteSection | None:
        """Return the own piece in the result, if others had better read it from there.

        Processes copy from each other page by page, and large blocks have huge pages: so it helps
        if the result is a large block and the source is not. `None` otherwise.
        """
        collective, own = self._collective, self._own
        result = prod(collective.result_shape) * collective.result.storage_bytes
        is_larger = prod(self._shapes[own]) * self._item < LARGE_BLOCK <= result
        gathers = collective.row.joins and collective.row.replicates
        if not gathers or len(self._here) > 1 or not is_larger:
            return None
        ((_, to),) = moves(collective, own, own)
        return to if to.is_contiguous else None

    def _permute(self, places: Sequence[Place]) -> None:
        """Send to one member and receive from one.

        A device knows only its own partners, so it sends and receives by itself, without the
        leader.
        """
        collective, steps = self._collective, self._steps
        processes, size = collective.group.processes, prod(collective.source_shape) * self._item
        sender, receiver = collective.sender, collective.receiver
        if sender is not None and sender not in self._here:
            steps.receive((RESULT_DATA, 0), size, processes[sender])
        elif sender is not None:
            self._take(sender, places[sender])
        if receiver is not None and receiver not in self._here:
            steps.send((SOURCE_DATA, 0), size, processes[receiver])
        steps.wait()

    def _wait_for_leader(self) -> None:
        if len(self._rank_groups) > 1:
            with self._steps.carried_out_if(self._leads):
                self._steps.wait()
            self._synchronize()

    def _parcels(self, sender: int, receiver: int) -> list[Parcel]:
        """Return the parcels from one rank group to another, packed one after the other."""
        found: dict[tuple[int, ByteSection], Parcel] = {}
        end = 0
        for here in self._rank_groups[sender]:
            for there in self._rank_groups[receiver]:
                for origin, to in moves(self._collective, here, there):
                    if (here, origin) not in found:
                        found[here, origin] = Parcel(here, origin, start=end)
                        end += origin.bytes
                    found[here, origin].receivers.append((there, to))
        return list(found.values())

    def _landing(self, parcels: Sequence[Parcel]) -> tuple[int, Place] | None:
        """Return the member into whose result a message can be received directly, and the place.

        `None` if the message must be unpacked.
        """
        if not parcels:
            return None
        first, target = parcels[0].receivers[0]
        end = target.start
        for parcel in parcels:
            to = dict(parcel.receivers).get(first)
            if to is None or not to.is_contiguous or to.start != end:
                return None
            end += to.bytes
        base, start = self._result(first)
        return first, (base, start + target.start)

    def _receive(
        self, rank_group: int, parcels: Sequence[Parcel], landing: tuple[int, Place] | None
    ) -> tuple[int | None, Place]:
        """Receive a message; return the member whose result it is in, if any, and its place."""
        steps, size = self._steps, sum(each.origin.bytes for each in parcels)
        member, place = landing or (None, self._scratch(0))
        if landing is None:
            place = self._scratch(steps.room(size))
        steps.receive(place, size, self._leader(rank_group))
        return member, place

    def _unpack(self, parcel: Parcel, landing: tuple[int | None, Place]) -> None:
        """Copy what this device needs from a parcel."""
        has_it, (base, start) = landing
        own = self._own
        for receiver, to in parcel.receivers:
            if receiver == own and has_it != own:
                place = base, start + parcel.start
                self._steps.copy((RESULT_DATA, 0), to, place, to.packed())

    def _send(
        self, rank_group: int, parcels: Sequence[Parcel], memory: Callable[[int], Place]
    ) -> None:
        """Send parcels from the members' memory, given by `memory`, packed unless contiguous."""
        steps, size = self._steps, sum(each.origin.bytes for each in parcels)
        if len(parcels) == 1 and parcels[0].origin.is_contiguous:
            place = at(memory(parcels[0].sender), parcels[0].origin)
        else:
            place = SCRATCH, steps.room(size)
            for each in parcels:
                target = place[0], place[1] + each.start
                steps.copy(target, each.origin.packed(), memory(each.sender), each.origin)
        steps.send(place, size, self._leader(rank_group))

    def _leader(self, rank_group: int) -> int:
        """Return the process that sends and receives for a rank group."""
        return self._collective.group.processes[self._rank_groups[rank_group][0]]

    def _other_groups(self) -> list[int]:
        """Return the rank groups on other ranks, starting after the own one."""
        count = len(self._rank_groups)
        return [(self._own_group + step) % count for step in range(1, count)]

    # Reducing ---------------------------------------------------------------------------------

    def _reduce_all(self, places: Sequence[Place]) -> None:
        """Reduce the operands of all, as far as this device needs the result."""
        collective, steps = self._collective, self._steps
        target = collective.result.storage_bytes
        part = ByteSection(0, prod(collective.source_shape) * self._item)
        if not collective.row.replicates:
            part = reduced_section(collective, self._own)
        if not part.bytes:
            steps.clear(prod(collective.result_shape) * target)
            return
        if part.is_contiguous:
            part = ByteSection(part.start, part.bytes)
        for row in range(part.outer):
            start = part.start + row * part.outer_pitch
            sources = [(base, offset + start) for base, offset in places]
            count = part.size // self._item
            steps.reduce(
                reduction_kernel(collective).address,
                count,
                (RESULT_DATA, row * count * target),
                sources,
            )

    def _reduce(self, places: Sequence[Place]) -> None:
        """Reduce this member's part; an all-reduce then shares it with the others."""
        collective, steps, own = self._collective, self._steps, self._own
        sources: list[Place] = list(places)
        with steps.carried_out_if(self._leads):
            for rank_group in self._other_groups():
                parcels = self._terms(rank_group, self._own_group)
                _, (base, start) = self._receive(rank_group, parcels, None)
                for each in parcels:
                    if each.receivers[0][0] == own:
                        sources[each.sender] = base, start + each.start
            for rank_group in self._other_groups():
                self._send(rank_group, self._terms(self._own_group, rank_group), self._source)
        part = reduced_section(collective, own)
        most = max(reduced_section(collective, member).bytes for member in self._here)
        for member in self._here:
            packed = SCRATCH, steps.room(0 if part.is_contiguous else most)
            if part.is_contiguous:
                sources[member] = at(sources[member], part)
            else:
                steps.copy(packed, part.packed(), sources[member], part)
                sources[member] = packed
        self._wait_for_leader()
        count = part.bytes // self._item
        target = collective.result.storage_bytes
        place = part.start // self._item * target if collective.row.replicates else 0
        if count:
            steps.reduce(reduction_kernel(collective).address, count, (RESULT_DATA, place), sources)
        elif collective.root is not None:
            steps.clear(prod(collective.result_shape) * target)
        if collective.row.replicates:
            self._share(ByteSection(place, count * target))

    def _terms(self, sender: int, receiver: int) -> list[Parcel]:
        """Return what one rank group contributes to the parts that another one reduces."""
        collective = self._collective
        found: list[Parcel] = []
        end = 0
        for there in self._rank_groups[receiver]:
            part = reduced_section(collective, there)
            for here in self._rank_groups[sender]:
                found.append(Parcel(here, part, [(there, part)], end))
                end += part.bytes
        return found

    def _share(self, own: ByteSection) -> None:
        """Send this device's part of the result to all others, and receive theirs."""
        steps = self._steps
        for member in self._here:
            if member != self._own:
                steps.copy(self._result(member), own, (RESULT_DATA, 0), own)
        if len(self._rank_groups) == 1:
            return
        self._synchronize()
        landings: dict[int, list[tuple[ByteSection, Place]]] = {}
        with steps.carried_out_if(self._leads):
            for rank_group in self._other_groups():
                parts = self._shares(rank_group)
                size = sum(each.bytes for each in parts)
                place = self._result(self._here[0])
                place = at(place, parts[0]) if len(parts) == 1 else self._scratch(steps.room(size))
                steps.receive(place, size, self._leader(rank_group))
                ends = accumulate((each.bytes for each in parts), initial=0)
                landings[rank_group] = [
                    (part, (place[0], place[1] + start))
                    for part, start in zip(parts, ends, strict=False)
                ]
            parts = self._shares(self._own_group)
            parcels = [Parcel(self._here[0], each) for each in parts]
            for before, each in pairwise(parcels):
                each.start = before.start + before.origin.bytes
            for rank_group in self._other_groups():
                self._send(rank_group, parcels, self._result)
        self._wait_for_leader()
        for each in landings.values():
            for part, place in each:
                if len(each) > 1 or not self._leads:
                    steps.copy((RESULT_DATA, 0), part, place, ByteSection(0, part.bytes))

    def _shares(self, rank_group: int) -> list[ByteSection]:
        """Return the parts of the result that a rank group has reduced, adjacent ones merged."""
        collective = self._collective
        found: list[ByteSection] = []
        target = collective.result.storage_bytes
        for member in self._rank_groups[rank_group]:
            part = reduced_section(collective, member)
            start, size = (each // self._item * target for each in (part.start, part.bytes))
            if found and found[-1].start + found[-1].bytes == start:
                start, size = found[-1].start, found.pop().bytes + size
            found.append(ByteSection(start, size))
        return found

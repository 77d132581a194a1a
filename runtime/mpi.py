"""Devices as MPI ranks: one process each, through mpi4py.

Start them with `mpiexec -n N mesh-run --backend=mpi ...`, or a program of one's own with
`mpiexec -n N python -m mpi4py ...`. Before data move, ranks compare the signatures of what they
have met for: point to point, so that nothing of one collective can be taken for a part of another.
`mpi_supervisor.py` finds out whether ranks wait in vain.

Reductions are our own, not MPI's: the terms are combined in the order of the group, by the same
kernels as those of threads, so results have the same bits, and `bf16` is exact.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import time
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from ..sharding.collective_matching import (
    ENDED,
    CollectiveMismatch,
    CollectiveSignature,
    DeviceState,
)
from .collectives import Collective, Group, Shape, shard_range
from .commands import AnyCommand, Buffer, Bytes, CommandFailed, HostCommand
from .communicator import Communicator, RankError, as_bytes, empty_result
from .mpi_supervisor import Failure, PlainState, Supervisor, supervisor
from .native import REDUCTION_CHUNK, TOO_NARROW
from .reductions import reduction_kernel

Array = npt.NDArray[Any]

_TIMEOUT = float(os.environ.get("MESH_OPT_MPI_TIMEOUT", "300"))
_MEETING_TAG = 2
_KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)

_RUN, _MESSAGES = 1, 2
"""Channels: of what is compared before data move, and of `shard.send`."""


class MpiCommunicator(Communicator):
    """This rank among all of MPI's world."""

    def __init__(self, ranks: Supervisor | None = None) -> None:
        self._mpi: Any = MPI.COMM_WORLD
        self._ranks = ranks or supervisor()
        self._mail = self._ranks.mailbox
        self.process = self._ranks.rank
        self._groups: dict[tuple[int, ...], Any] = {}
        self._taken = self._posted = 0
        self._pending: tuple[Any, ...] = ()
        self._operations: Sequence[object] = ()
        self._numbers: dict[object, int] = {}

    @property
    def world(self) -> Group:
        return Group(tuple(range(self._ranks.size)), self.process)

    def use_operations(self, operations: Sequence[object]) -> None:
        """The operations of the program to be run, the same and in the same order on all ranks."""
        if self._operations is not operations:
            self._operations = operations
            self._numbers = {operation: number for number, operation in enumerate(operations)}

    # Failures ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """A program is about to run. Raises RankError if one before it has failed."""
        if not self._ranks.is_usable():
            raise RankError("a run before this one failed: start the ranks again")
        self._posted = self._taken = 0

    def report(self, content: object) -> None:
        """Tell all ranks that this one has failed: they raise RanksFailed with the content."""
        self._ranks.fail(Failure("report", content))

    def mismatch(self, states: Mapping[int, PlainState | None]) -> CollectiveMismatch:
        """States that do not match, with this rank's own operations."""
        return CollectiveMismatch({rank: self._state(state) for rank, state in states.items()})

    def _state(self, plain: PlainState | None) -> DeviceState:
        if plain is None:
            return ENDED
        text, number = plain
        # A rank that runs another program than this one has other operations.
        is_known = number is not None and number < len(self._operations)
        operation = self._operations[number] if is_known and number is not None else None
        return DeviceState(CollectiveSignature.parse(text), operation)

    def _plain(self, state: DeviceState) -> PlainState:
        text = "None" if state.signature is None else state.signature.text()
        return text, self._numbers.get(state.operation)

    def _mismatched(self, states: dict[int, PlainState]) -> None:
        self._ranks.fail_together(Failure("mismatch", states))

    # Comparing --------------------------------------------------------------------------------

    def exchange(
        self,
        group: Group,
        state: DeviceState,
        numbers: tuple[int, ...],
    ) -> list[tuple[int, ...]]:
        found = self._compare(group, self._plain(state), _RUN, numbers)
        return [found[process] for process in group.processes]

    def _compare(
        self,
        group: Group,
        state: PlainState,
        channel: int,
        numbers: tuple[int, ...] = (),
    ) -> dict[int, tuple[int, ...]]:
        """Make sure that a group has reached one collective; returns what each brings for it.

        In round k everybody tells what they know to the one 2^k places behind them: after all
        rounds everybody knows all, and nobody tells anything before what they have heard matches.
        """
        known = {self.process: numbers}
        distance = 1
        while distance < group.size:
            receiver = group.processes[(group.rank + distance) % group.size]
            sender = group.processes[(group.rank - distance) % group.size]
            self._mail.send(receiver, channel, pickle.dumps((state, known)))
            _, message = self._take((sender,), channel, state)
            theirs, told = pickle.loads(message)
            if not _are_equal(state[0], theirs[0]):
                self._mismatched({self.process: state, sender: theirs})
            known |= told
            distance *= 2
        return known

    def _take(
        self,
        senders: Sequence[int],
        channel: int,
        state: PlainState,
    ) -> tuple[int, bytearray]:
        """Wait for a message of one of some ranks; returns from whom it is."""
        deadline = time.monotonic() + _TIMEOUT
        turns = 0
        self._ranks.enter(state)
        while True:
            self._mail.poll()
            found = self._mail.take(senders, channel)
            if found is not None:
                break
            turns += 1
            if turns % 64 == 0:
                self._turn(deadline, state[0])
        self._ranks.leave()
        return found

    def _turn(self, deadline: float, what: str) -> None:
        """What is due from time to time while this rank waits. Raises RanksFailed."""
        time.sleep(0)
        self._ranks.check()
        if time.monotonic() > deadline:
            message = f"rank {self.process} waited {_TIMEOUT:g} s in {what}: giving up"
            raise RankError(f"{message} (MESH_OPT_MPI_TIMEOUT is the number of seconds)")

    def end(self) -> None:
        """All ranks have run the program.

        Raises RanksFailed if a message is left that nobody has received.
        """
        state = self._plain(ENDED)
        numbers = (self._posted, self._taken)
        found = self._compare(self.world, state, _RUN, numbers).values()
        if sum(posted - taken for posted, taken in found):
            sender, message = self._take(self.world.processes, _MESSAGES, state)
            sent, _ = _unpacked(message)
            self._mismatched({sender: sent, self.process: state})

    # Commands ---------------------------------------------------------------------------------

    def meeting_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> list[AnyCommand]:
        plain = self._plain(state)

        def meet(given: Bytes, wanted: Bytes) -> None:
            self._compare(collective.group, plain, _RUN)
            array = given.view(collective.source.dtype).reshape(collective.source_shape)
            found = self._meet(collective, array, state.operation)
            wanted[:] = as_bytes(np.asarray(found, order="C"))

        return [HostCommand(meet, (source, result))]

    def perform(self, collective: Collective, source: Array) -> Array:
        source = np.asarray(source, order="C")
        if collective.kind == "all_slice":
            return _piece(source, collective.axis, collective.group, collective.group.rank)
        self._compare(collective.group, (collective.signature.text(), None), _RUN)
        return self._meet(collective, source, None)

    def send_command(self, source: Buffer, state: DeviceState) -> HostCommand:
        assert state.signature is not None
        (receiver,) = state.signature.group
        head = pickle.dumps(self._plain(state))

        def send(data: Bytes) -> None:
            self._posted += 1
            self._mail.send(receiver, _MESSAGES, _packed(head, data))

        return HostCommand(send, (source,))

    def receive_command(self, target: Buffer, state: DeviceState) -> HostCommand:
        own = self._plain(state)
        wanted = CollectiveSignature.parse(own[0])
        assert wanted is not None

        def receive(data: Bytes) -> None:
            sender, message = self._take(wanted.group, _MESSAGES, own)
            self._taken += 1
            state, content = _unpacked(message)
            sent = CollectiveSignature.parse(state[0])
            if sent is None or not wanted.takes(sent):
                self._mismatched({sender: state, self.process: own})
            data[:] = content

        return HostCommand(receive, (target,))

    # Meetings ---------------------------------------------------------------------------------

    def _group(self, group: Group) -> Any:
        """The communicator of a group, all of which has come; made once."""
        found = self._groups.get(group.processes)
        if found is None:
            members = self._mpi.Get_group().Incl(group.processes)
            found = self._groups[group.processes] = self._mpi.Create_group(members)
        return found

    def _wait(self, what: str, *requests: Any) -> None:
        """Wait until requests are complete. Raises RanksFailed."""
        deadline = time.monotonic() + _TIMEOUT
        turns = 0
        # If waiting fails, MPI still uses the requests' memory.
        self._pending = requests
        while not MPI.Request.Testall(list(requests)):
            turns += 1
            if turns % 256 == 0:
                self._turn(deadline, what)
        self._pending = ()

    def _meet(self, collective: Collective, source: Array, operation: object) -> Array:
        group, shapes = collective.group, collective.group_shapes
        match collective.kind:
            case "all_gather":
                parts = self._to_all(group, [source] * group.size, shapes, "all_gather")
                return np.concatenate(parts, axis=collective.axis)
            case "all_to_all":
                return self._all_to_all(collective, source, shapes)
            case "all_reduce":
                return self._all_reduce(collective, source)
            case "reduce_scatter":
                pieces = [_piece(source, collective.axis, group, to) for to in range(group.size)]
                own = pieces[group.rank].shape
                parts = self._to_all(group, pieces, [own] * group.size, "reduce_scatter")
                return _reduced(collective, parts)
            case "broadcast" | "scatter":
                return self._from_root(collective, source)
            case "gather" | "reduce":
                return self._to_root(collective, source, shapes)
            case "permute":
                return self._permute(collective, source)
            case "halo":
                return self._halo(collective, source, operation)
            case _:
                raise ValueError(f"there is no collective {collective.kind}")

    def _to_all(
        self, group: Group, pieces: Sequence[Array], shapes: Sequence[Shape], what: str
    ) -> list[Array]:
        """Send piece i to member i; returns what each member sent here, of the shapes given."""
        dtype = pieces[0].dtype
        sent = np.concatenate([as_bytes(np.asarray(each, order="C")) for each in pieces])
        send_counts = [each.nbytes for each in pieces]
        counts = [prod(shape) * dtype.itemsize for shape in shapes]
        received = np.empty(sum(counts), np.uint8)
        request = self._group(group).Ialltoallv(
            [sent, send_counts, MPI.BYTE], [received, counts, MPI.BYTE]
        )
        self._wait(what, request)
        return _split(received, counts, dtype, shapes)

    def _all_to_all(self, collective: Collective, source: Array, shapes: Sequence[Shape]) -> Array:
        group, axis = collective.group, collective.axis
        pieces = [_piece(source, axis, group, to) for to in range(group.size)]
        incoming: list[Shape] = []
        for shape in shapes:
            length = shard_range(shape[axis], group.size, group.rank)[1]
            incoming.append((*shape[:axis], length, *shape[axis + 1 :]))
        parts = self._to_all(group, pieces, incoming, "all_to_all")
        return np.concatenate(parts, axis=collective.concat_axis)

    def _all_reduce(self, collective: Collective, source: Array) -> Array:
        """Each member combines its own part of the elements, and gives it to the others."""
        group = collective.group
        flat = source.reshape(-1)
        ranges = [shard_range(flat.size, group.size, member) for member in range(group.size)]
        pieces = [flat[start : start + length] for start, length in ranges]
        own = (ranges[group.rank][1],)
        parts = self._to_all(group, pieces, [own] * group.size, "all_reduce")
        part = _reduced(collective, parts)
        lengths = [(length,) for _, length in ranges]
        whole = self._to_all(group, [part] * group.size, lengths, "all_reduce")
        return np.concatenate(whole).reshape(collective.result_shape)

    def _from_root(self, collective: Collective, source: Array) -> Array:
        group, root = collective.group, collective.root or 0
        result = empty_result(collective)
        pieces = [source] * group.size
        if collective.kind == "scatter":
            pieces = [_piece(source, collective.axis, group, to) for to in range(group.size)]
        sent = np.concatenate([as_bytes(np.asarray(each, order="C")) for each in pieces])
        counts = [each.nbytes for each in pieces]
        request = self._group(group).Iscatterv(
            [sent, counts, MPI.BYTE], [as_bytes(result), result.nbytes, MPI.BYTE], root
        )
        self._wait(collective.kind, request)
        return result

    def _to_root(self, collective: Collective, source: Array, shapes: Sequence[Shape]) -> Array:
        group, root = collective.group, collective.root or 0
        counts = [prod(shape) * source.itemsize for shape in shapes]
        received = np.empty(sum(counts), np.uint8)
        request = self._group(group).Igatherv(
            [as_bytes(source), source.nbytes, MPI.BYTE], [received, counts, MPI.BYTE], root
        )
        self._wait(collective.kind, request)
        if group.rank != root:
            return empty_result(collective)
        parts = _split(received, counts, source.dtype, shapes)
        if collective.kind == "gather":
            return np.concatenate(parts, axis=collective.axis)
        return _reduced(collective, parts)

    def _permute(self, collective: Collective, source: Array) -> Array:
        members = self._group(collective.group)
        result = empty_result(collective)
        requests: list[Any] = []
        if collective.sender is not None:
            requests.append(members.Irecv(as_bytes(result), collective.sender, _MEETING_TAG))
        if collective.receiver is not None:
            requests.append(members.Isend(as_bytes(source), collective.receiver, _MEETING_TAG))
        self._wait("shift", *requests)
        return result

    def _halo(self, collective: Collective, source: Array, operation: object) -> Array:
        group, axis = collective.group, collective.axis
        low, high = collective.low, collective.high
        members = self._group(group)
        result = source.copy()
        size = source.shape[axis]
        before, after = group.rank - 1, group.rank + 1
        held = [shape[axis] - low - high for shape in collective.group_shapes]
        # Whoever has a neighbour behind it gives that one `low`, and one before it `high`.
        if min(held[:-1], default=low) < low or min(held[1:], default=high) < high:
            raise CommandFailed(operation, TOO_NARROW)

        def part(start: int, stop: int) -> tuple[slice, ...]:
            return (*(slice(None),) * axis, slice(start, stop))

        requests: list[Any] = []
        arrivals: list[tuple[tuple[slice, ...], Array]] = []
        for other, own, wanted in (
            (before, part(low, low + high), part(0, low)),
            (after, part(size - high - low, size - high), part(size - high, size)),
        ):
            if not 0 <= other < group.size:
                continue
            outgoing = as_bytes(np.array(source[own], order="C"))
            requests.append(members.Isend(outgoing, other, _MEETING_TAG))
            incoming = np.empty(result[wanted].shape, source.dtype)
            requests.append(members.Irecv(as_bytes(incoming), other, _MEETING_TAG))
            arrivals.append((wanted, incoming))
        self._wait("update_halo", *requests)
        for wanted, incoming in arrivals:
            result[wanted] = incoming
        return result


def _are_equal(one: str, other: str) -> bool:
    """Whether the signatures of two texts are."""
    return one == other or CollectiveSignature.parse(one) == CollectiveSignature.parse(other)


def _packed(head: bytes, data: Bytes) -> bytearray:
    """A message of two parts."""
    return bytearray(len(head).to_bytes(4, "little") + head) + data.tobytes()


def _unpacked(message: bytearray) -> tuple[PlainState, Bytes]:
    """What a message holds, and the state of its sender."""
    end = 4 + int.from_bytes(message[:4], "little")
    return pickle.loads(message[4:end]), np.frombuffer(message, np.uint8, offset=end)


@cache
def world_communicator() -> MpiCommunicator:
    """This process among all ranks."""
    return MpiCommunicator()


def _piece(array: Array, axis: int, group: Group, member: int) -> Array:
    """A member's part of an array along a dimension."""
    start, length = shard_range(array.shape[axis], group.size, member)
    return array[(*(slice(None),) * axis, slice(start, start + length))]


def _split(
    data: Bytes, counts: Sequence[int], dtype: np.dtype[Any], shapes: Sequence[Shape]
) -> list[Array]:
    """Bytes of several arrays, one after the other."""
    parts = np.split(data, np.cumsum(counts)[:-1])
    return [
        part.copy().view(dtype).reshape(shape) for part, shape in zip(parts, shapes, strict=True)
    ]


def _reduced(collective: Collective, parts: Sequence[Array]) -> Array:
    """The parts combined element by element."""
    result = np.empty(parts[0].shape, collective.result.dtype)
    kernel = reduction_kernel(
        collective.reduction, collective.source, collective.result, len(parts)
    )
    bindings = np.array([each.ctypes.data for each in (result, *parts)], np.int64)
    constants = np.array([result.size], np.int64)
    tiles = -(-result.size // REDUCTION_CHUNK)
    _KERNEL(kernel.address)(bindings.ctypes.data, constants.ctypes.data, 0, tiles)
    return result

"""Devices as MPI ranks: one process each, through mpi4py.

Start every rank with `mpiexec -n N python -m mpi4py ...`: only then does an exception on one rank
end the others. All waiting has a deadline (`MESH_OPT_MPI_TIMEOUT`, seconds), after which the job
is aborted with a message that names the rank and the meeting.

Reductions are our own, not MPI's: the terms are combined in the order of the group, by the same
kernels as those of threads, so results have the same bits, and `bf16` is exact.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from ..backend.reductions import reduction_kernel
from .buffers import Bytes
from .collectives import Collective, Group, Shape, shard_range
from .commands import Command, HostCommand, Place
from .communicator import Communicator, as_bytes, empty_result
from .native import REDUCTION_CHUNK

Array = npt.NDArray[Any]

_TIMEOUT = float(os.environ.get("MESH_OPT_MPI_TIMEOUT", "300"))
_MESSAGE_TAG = 1
_MEETING_TAG = 2
_KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


class MpiCommunicator(Communicator):
    """This rank of an MPI communicator, by default of the world."""

    def __init__(self, communicator: Any = None) -> None:
        self._mpi: Any = MPI.COMM_WORLD if communicator is None else communicator
        self.process = int(self._mpi.Get_rank())
        self._groups: dict[tuple[int, ...], Any] = {}
        self._sends: list[tuple[Any, Bytes]] = []

    @property
    def world(self) -> Group:
        return Group(tuple(range(self._mpi.Get_size())), self.process)

    def exchange(self, group: Group, numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
        members = self._group(group)
        own = np.array(numbers, np.int64)
        brought = np.empty((group.size, len(own)), np.int64)
        self._wait(members.Iallgather(own, brought), "exchange")
        return [tuple(int(number) for number in row) for row in brought]

    def meeting_commands(
        self, collective: Collective, source: Place, result: Place, origin: object
    ) -> list[Command | HostCommand]:
        shapes = self._shapes(collective)
        source_size = prod(collective.source_shape) * collective.source.storage_bytes
        result_size = prod(collective.result_shape) * collective.result.storage_bytes

        def meet(given: Bytes, wanted: Bytes) -> None:
            array = given[:source_size].view(collective.source.dtype)
            found = self._meet(collective, array.reshape(collective.source_shape), shapes)
            wanted[:result_size] = as_bytes(np.asarray(found, order="C"))

        return [HostCommand(meet, (source, result), origin)]

    def perform(self, collective: Collective, source: Array) -> Array:
        source = np.asarray(source, order="C")
        if collective.kind == "all_slice":
            return _piece(source, collective.axis, collective.group, collective.group.rank)
        return self._meet(collective, source, self._shapes(collective))

    def send_command(self, source: Place, size: int, receiver: int, origin: object) -> HostCommand:
        def send(data: Bytes) -> None:
            kept = data[:size].copy()
            self._sends = [entry for entry in self._sends if not entry[0].Test()]
            self._sends.append((self._mpi.Isend(kept, receiver, _MESSAGE_TAG), kept))

        return HostCommand(send, (source,), origin)

    def receive_command(
        self, target: Place, size: int, sender: int | None, origin: object
    ) -> HostCommand:
        origin_rank = MPI.ANY_SOURCE if sender is None else sender

        def receive(data: Bytes) -> None:
            self._wait(self._mpi.Irecv(data[:size], origin_rank, _MESSAGE_TAG), "recv")

        return HostCommand(receive, (target,), origin)

    # Meetings ---------------------------------------------------------------------------------

    def _group(self, group: Group) -> Any:
        """The communicator of a group, made once."""
        found = self._groups.get(group.processes)
        if found is None:
            members = self._mpi.Get_group().Incl(group.processes)
            found = self._groups[group.processes] = self._mpi.Create_group(members)
        return found

    def _wait(self, request: Any, what: str) -> None:
        deadline = time.monotonic() + _TIMEOUT
        turns = 0
        while not request.Test():
            turns += 1
            if turns % 256:
                continue
            time.sleep(0)
            if time.monotonic() > deadline:
                message = f"rank {self.process} waited {_TIMEOUT:g} s in {what}: giving up"
                print(message, file=sys.stderr, flush=True)
                self._mpi.Abort(1)

    def _shapes(self, collective: Collective) -> list[Shape]:
        """What each process of the group brings."""
        return self.exchange(collective.group, collective.source_shape)

    def _meet(self, collective: Collective, source: Array, shapes: Sequence[Shape]) -> Array:
        group = collective.group
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
                return self._halo(collective, source, shapes)
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
        self._wait(request, what)
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
        self._wait(request, collective.kind)
        return result

    def _to_root(self, collective: Collective, source: Array, shapes: Sequence[Shape]) -> Array:
        group, root = collective.group, collective.root or 0
        counts = [prod(shape) * source.itemsize for shape in shapes]
        received = np.empty(sum(counts), np.uint8)
        request = self._group(group).Igatherv(
            [as_bytes(source), source.nbytes, MPI.BYTE], [received, counts, MPI.BYTE], root
        )
        self._wait(request, collective.kind)
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
        for request in requests:
            self._wait(request, "shift")
        return result

    def _halo(self, collective: Collective, source: Array, shapes: Sequence[Shape]) -> Array:
        group, axis, low, high = (
            collective.group,
            collective.axis,
            collective.low,
            collective.high,
        )
        members = self._group(group)
        result = source.copy()
        size = source.shape[axis]
        before, after = group.rank - 1, group.rank + 1
        for other, needed in ((before, low), (after, high)):
            if 0 <= other < group.size and shapes[other][axis] - low - high < needed:
                raise ValueError("has a halo that is wider than what the neighbour holds")

        def part(start: int, stop: int) -> tuple[slice, ...]:
            return (*(slice(None),) * axis, slice(start, stop))

        requests: list[Any] = []
        arrivals: list[tuple[tuple[slice, ...], Array]] = []
        kept: list[Bytes] = []
        for other, own, wanted in (
            (before, part(low, low + high), part(0, low)),
            (after, part(size - high - low, size - high), part(size - high, size)),
        ):
            if not 0 <= other < group.size:
                continue
            outgoing = as_bytes(np.array(source[own], order="C"))
            kept.append(outgoing)
            requests.append(members.Isend(outgoing, other, _MEETING_TAG))
            incoming = np.empty(result[wanted].shape, source.dtype)
            requests.append(members.Irecv(as_bytes(incoming), other, _MEETING_TAG))
            arrivals.append((wanted, incoming))
        for request in requests:
            self._wait(request, "update_halo")
        for wanted, incoming in arrivals:
            result[wanted] = incoming
        return result


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

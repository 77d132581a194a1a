"""Messages between MPI ranks, received as they arrive and queued until they are taken.

A waiting rank receives everything that has arrived. So no sender waits for a receiver, and messages
in flight can be counted (`mpi/rank_supervisor.py`).
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from mpi4py import MPI

from ..abi.arrays import Bytes

Channel = tuple[int, int]
"""The other rank, and the tag of its messages."""


class _Arrival:
    """A message that is being received."""

    def __init__(self, data: bytearray, request: Any) -> None:
        self.data = data
        self.request = request
        self.is_complete = False


class Mailbox:
    """Byte messages to and from other ranks, in order for each sender and tag.

    `sent` and `received` count complete messages.
    """

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi.Dup()
        self._rank = int(mpi.Get_rank())
        self._leaving: list[tuple[Any, bytes | bytearray]] = []
        self._channels: dict[Channel, deque[_Arrival]] = {}
        self._incomplete: list[_Arrival] = []
        self.sent = 0
        self.received = 0

    def send(self, receiver: int, tag: int, data: bytes | bytearray) -> None:
        """Send bytes without waiting for the receiver; they must not change afterwards."""
        if receiver == self._rank:
            arrival = _Arrival(bytearray(data), None)
            arrival.is_complete = True
            self._channels.setdefault((receiver, tag), deque()).append(arrival)
            return
        self._leaving = [entry for entry in self._leaving if not entry[0].Test()]
        request = self._mpi.Isend([data, MPI.BYTE], receiver, tag)
        self._leaving.append((request, data))
        self.sent += 1

    def poll(self) -> None:
        """Receive what has arrived."""
        status = MPI.Status()
        while True:
            message = self._mpi.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            if message is None:
                break
            data = bytearray(status.Get_count(MPI.BYTE))
            arrival = _Arrival(data, message.Irecv([data, MPI.BYTE]))
            key = int(status.Get_source()), int(status.Get_tag())
            self._channels.setdefault(key, deque()).append(arrival)
            self._incomplete.append(arrival)
        for arrival in self._incomplete:
            arrival.is_complete = bool(arrival.request.Test())
            self.received += arrival.is_complete
        self._incomplete = [each for each in self._incomplete if not each.is_complete]

    def clear(self) -> None:
        """Drop messages that were not taken."""
        self._channels.clear()

    def take(self, channels: Iterable[Channel]) -> tuple[Channel, bytearray] | None:
        """Return the first channel with a message, and its oldest one; `None` if there is none."""
        for channel in channels:
            arrivals = self._channels.get(channel)
            if arrivals and arrivals[0].is_complete:
                return channel, arrivals.popleft().data
        return None

    def holds(self, channels: Iterable[Channel]) -> bool:
        """Whether a message of one of the channels has arrived or is arriving."""
        return any(self._channels.get(each) for each in channels)


def packed(head: bytes, data: Bytes) -> bytearray:
    """Return a message that consists of a head and data."""
    return bytearray(len(head).to_bytes(4, "little") + head) + data.tobytes()


def unpacked(message: bytearray) -> tuple[Any, Bytes]:
    """Return the unpickled head (the sender's state) and the data of a message."""
    end = 4 + int.from_bytes(message[:4], "little")
    return pickle.loads(message[4:end]), np.frombuffer(message, np.uint8, offset=end)


class Notes:
    """Python objects sent between ranks, on a communicator of their own."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi.Dup()
        self._leaving: list[tuple[Any, bytes]] = []

    def send(self, receiver: int, note: object) -> None:
        """Send a note without waiting for the receiver."""
        data = pickle.dumps(note)
        self._leaving = [entry for entry in self._leaving if not entry[0].Test()]
        self._leaving.append((self._mpi.Isend([data, MPI.BYTE], receiver), data))

    def receive(self) -> list[tuple[int, Any]]:
        """Return all notes that have arrived, with their senders."""
        status = MPI.Status()
        notes: list[tuple[int, Any]] = []
        while (message := self._mpi.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)) is not None:
            data = bytearray(status.Get_count(MPI.BYTE))
            message.Recv([data, MPI.BYTE])
            notes.append((int(status.Get_source()), pickle.loads(data)))
        return notes

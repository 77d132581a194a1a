"""What the communicators of a rank and of its device threads share: collectives as messages."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Sequence
from typing import NoReturn, Protocol

from ...sharding.collective_matching import CollectiveSignature, DeviceState
from ..abi.arrays import Bytes
from ..collectives import Collective, Group
from ..commands import AnyCommand, Buffer, Command, HostCommand, Waits
from ..communicator import Communicator
from ..messages.collective_steps import CollectiveStepBuilder, RankBarrier
from ..messages.context import HEADER_BYTES, MessageContext, PlainState
from ..messages.size_changes import SizeChangeNotices, padded
from ..messages.step_interpreter import run_messages
from ..native_registry import runtime_function
from .mailbox import Channel, Mailbox, packed, unpacked
from .rank_supervisor import Supervisor


class Rank(Protocol):
    """The interface to the rank that devices belong to (`communicator.py`)."""

    process: int
    ranks: Supervisor
    mail: Mailbox
    posted: int
    taken: int

    def plain(self, state: DeviceState) -> PlainState:
        """Return a state in a form that other ranks understand."""
        ...

    def channel(self, sender: int, receiver: int, other: int) -> Channel:
        """Return the channel of messages between two devices, `other` being one of them."""
        ...


class MessageCommunicator(Communicator):
    """A communicator whose collectives are message steps (`messages/`)."""

    context: MessageContext
    _notices: SizeChangeNotices

    @property
    @abstractmethod
    def _rank(self) -> Rank:
        """The rank of this device."""

    @abstractmethod
    def _waits(self, state: PlainState) -> Waits:
        """Return what Python does while this device waits in a collective."""

    @abstractmethod
    def _rank_devices(self, group: Group) -> tuple[int, RankBarrier | None]:
        """Return the number of devices per rank, and the barrier of those of a group."""

    @abstractmethod
    def _post(self, channel: Channel, message: bytearray) -> None:
        """Send a message without waiting for the receiver."""

    @abstractmethod
    def _take(
        self, channels: Sequence[Channel], own: PlainState, state: DeviceState
    ) -> tuple[Channel, bytearray]:
        """Wait for a message in one of some channels; return the channel and the message."""

    @abstractmethod
    def _mismatched(self, states: dict[int, PlainState]) -> NoReturn:
        """Raise the exception for devices that do not match."""
        raise NotImplementedError

    def _command(
        self,
        collective: Collective,
        source: Buffer,
        result: Buffer,
        state: DeviceState,
        header_key: object,
    ) -> Command:
        """Return the command of a collective; participants compare `header_key` first."""
        plain = self._rank.plain(state)
        header = self.context.header(plain, header_key)
        place = header.ctypes.data, header.nbytes
        devices = self._rank_devices(collective.group)
        steps = CollectiveStepBuilder(collective, place, HEADER_BYTES, *devices)
        written = steps.write(int(header[0]))
        self.context.reserve(written.scratch_bytes, written.messages)
        bindings = (self.context.address, source, result)
        words, waits = tuple(written.words), self._waits(plain)
        function = runtime_function(run_messages)
        return Command(function, bindings, words, state.operation, state, waits)

    def sizes(
        self, group: Group, state: DeviceState, own: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        self._notices.announce_new_sizes(state)
        return self.exchange(group, state, own)

    def with_size_check(self, command: Command, state: DeviceState) -> list[Command]:
        return [self._notices.command(state), padded(command)]

    def collective_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> list[AnyCommand]:
        return [self._command(collective, source, result, state, collective.shapes)]

    def send_command(self, source: Buffer, state: DeviceState) -> HostCommand:
        assert state.signature is not None
        (receiver,) = state.signature.group
        head = pickle.dumps(self._rank.plain(state))
        channel = self._rank.channel(self.process, receiver, receiver)

        def send(data: Bytes) -> None:
            self._post(channel, packed(head, data))

        return HostCommand(send, (source,))

    def receive_command(self, target: Buffer, state: DeviceState) -> HostCommand:
        own = self._rank.plain(state)
        wanted = CollectiveSignature.parse(own[0])
        assert wanted is not None
        senders = {self._rank.channel(each, self.process, each): each for each in wanted.group}

        def receive(data: Bytes) -> None:
            channel, message = self._take(list(senders), own, state)
            theirs, content = unpacked(message)
            sent = CollectiveSignature.parse(theirs[0])
            if sent is None or not wanted.takes(sent):
                self._mismatched({senders[channel]: theirs, self.process: own})
            data[:] = content

        return HostCommand(receive, (target,))

"""How MPI ranks run collectives of dynamic sizes without Python.

Before such a collective, each device tells the group whether its sizes have changed since the last
time (an all-gather of one word, the offer). If none have, all reuse the previous command; otherwise
all return to Python, which exchanges the sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...sharding.collective_matching import DeviceState
from ..abi.arrays import Words
from ..abi.elements import I64
from ..collectives import Collective, Group, gather_of_vectors
from ..commands import Buffer, Command, run_commands
from ..protocol import SIGNATURE
from . import step_interpreter
from .context import MessageContext

Prepare = Callable[[Collective, Buffer, Buffer, DeviceState, object], Command]
"""Makes the command of a collective; the last argument is part of its header, which all compare."""

_NEW = 1


class SizeChangeNotices:
    """The offers of one device."""

    def __init__(self, process: int, context: MessageContext, prepare: Prepare) -> None:
        self._process = process
        self._context = context
        self._prepare = prepare
        self._words: dict[tuple[int, ...], Words] = {}

    def command(self, state: DeviceState) -> Command:
        """Return the command that gathers all devices' offers.

        The word behind the bindings is nonzero if this device has new sizes. The command fails with
        `RESIZED` unless that word is 0 on all devices.
        """
        command, words = self._gather(state)
        first = words.ctypes.data
        *steps, end = command.constants
        for number in range(1, len(words)):
            steps += (step_interpreter.EXPECT, first + 8 * number, 0)
        constants = (step_interpreter.NOTIFY, first, *steps, end)
        return padded(replace(command, bindings=self._bindings(words), constants=constants))

    def announce_new_sizes(self, state: DeviceState) -> None:
        """Tell the group that this device needs all sizes, unless another one has done so."""
        if self._context.take_resized():
            return
        command, words = self._gather(state)
        words[0] = _NEW
        run_commands([replace(command, bindings=self._bindings(words))], {})

    def _bindings(self, words: Words) -> tuple[int, ...]:
        return self._context.address, words.ctypes.data, words.ctypes.data + 8

    def _gather(self, state: DeviceState) -> tuple[Command, Words]:
        assert state.signature is not None
        processes = state.signature.group
        count = len(processes)
        group = Group(processes, processes.index(self._process))
        gather = gather_of_vectors(group, I64, [1] * count)
        words = self._words.setdefault(processes, np.zeros(1 + count, np.int64))
        command = self._prepare(gather, Buffer(8), Buffer(8 * count), state, "offer")
        return command, words


def padded(command: Command) -> Command:
    """Pad a command's bindings to the number of those of a collective of dynamic size."""
    missing = SIGNATURE + 1 - len(command.bindings)
    return replace(command, bindings=(*command.bindings, *(0,) * missing))

"""Commands: calls of native or Python functions on a device's buffers.

A communicator returns the commands that carry out a collective. Host code keeps native ones and
calls them without Python (`host/virtual_machine.py`); `run_commands` runs commands at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn, Protocol

import numpy as np

from ..sharding.collective_matching import DeviceState
from .abi.arrays import Bytes
from .abi.native_code import Native
from .protocol import MISMATCHED, RELEASED, WAITING


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A placeholder for `size` bytes that commands read or write; bound to memory when they run."""

    size: int


class Waits(Protocol):
    """What Python does while a native function waits for other processes."""

    def check_for_failures(self) -> None:
        """Raise an exception if the wait cannot end."""
        ...

    def mismatched(self) -> NoReturn:
        """Raise an exception that says what did not match."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A call of a native function.

    - `function`: `f(bindings, constants, 0, 1) -> status`; the command keeps its code loaded;
    - `bindings`: buffers, or numbers that are passed unchanged;
    - `source`: the operation to name in errors;
    - `state`: for a collective, what the device waits for;
    - `waits`: called before a function that returned `WAITING` is called again.
    """

    function: Native
    bindings: tuple[Buffer | int, ...]
    constants: tuple[int, ...]
    source: object
    state: DeviceState | None = None
    waits: Waits | None = None

    @property
    def buffers(self) -> Iterator[Buffer]:
        """The bindings that are buffers."""
        return (each for each in self.bindings if isinstance(each, Buffer))

    def failure(self, status: int) -> Exception:
        """Return the exception for a status, or raise the one that `waits` finds."""
        if self.waits is not None and status == MISMATCHED:
            self.waits.mismatched()
        if status in (RELEASED, MISMATCHED):
            return DeviceFailed(self.state)
        return CommandFailed(self.source, status)


@dataclass(frozen=True, slots=True)
class HostCommand:
    """A call of a Python function with the bytes of each buffer."""

    function: Callable[..., None]
    buffers: tuple[Buffer, ...]


AnyCommand = Command | HostCommand


class CommandFailed(Exception):
    """A kernel or a command returned a status other than 0.

    `source` is the operation to name, `failures` describes a kernel's checks, and `constants` are
    the kernel's constants after the call.
    """

    def __init__(
        self,
        source: object,
        status: int,
        failures: tuple[Any, ...] = (),
        constants: Sequence[int] = (),
    ) -> None:
        super().__init__(f"a command returned status {status}")
        self.source = source
        self.failures = failures
        self.status = status
        self.constants = tuple(constants)


class DeviceFailed(Exception):
    """A device stopped waiting for others: one of them failed, or their collectives do not match.

    `state` is the collective that it waited in, `None` if it was computing.
    """

    def __init__(self, state: DeviceState | None = None) -> None:
        super().__init__("another device failed")
        self.state = state


def run_commands(commands: Sequence[AnyCommand], memory: Mapping[Buffer, Bytes]) -> None:
    """Run commands on the buffers in `memory`; other buffers are allocated for the run.

    Raises CommandFailed if a command fails, and DeviceFailed if one waits for a device that failed.
    """
    found = {**memory}
    for command in commands:
        for buffer in command.buffers:
            if buffer not in found:
                found[buffer] = np.empty(buffer.size, np.uint8)
        if isinstance(command, HostCommand):
            command.function(*(found[buffer] for buffer in command.buffers))
            continue
        words = [
            found[each].ctypes.data if isinstance(each, Buffer) else each
            for each in command.bindings
        ]
        bindings = np.array(words, np.int64)
        constants = np.array([*command.constants, 0], np.int64)
        function = command.function.address
        while status := call_native(function, bindings.ctypes.data, constants.ctypes.data, 1):
            if status != WAITING or command.waits is None:
                raise command.failure(status)
            command.waits.check_for_failures()


def call_by_address(function: int, argument: int) -> int:
    """Call a native function with one word argument."""
    return _word_function()(function)(argument)


@cache
def _word_function() -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def call_native(function: int, bindings: int, constants: int, tiles: int) -> int:
    """Call a native function on all its tiles; return its status."""
    return _kernel_type()(function)(bindings, constants, 0, tiles)


@cache
def _kernel_type() -> Any:
    return ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)

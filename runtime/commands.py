"""Command buffers: what a device does, recorded once and replayed by one native loop.

A command is a call of a native function on places in buffers, or a call of a Python function
where a communicator has no native one. Between the two kinds the loop returns to Python;
otherwise no Python runs, however many commands there are.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codegen.cache import Native
from ..sharding.collective_matching import DeviceState
from .arena import Lifetime, place
from .buffers import Buffer, Bytes, Storage, allocate
from .guards import OVERWRITTEN, Guards
from .native import COMMAND_WORDS, MISMATCHED, RELEASED, native_function
from .sharing import Use, fill_results, lifetimes_of, merged, take_over
from .workers import Team

Words = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a buffer, in bytes from its beginning."""

    buffer: Buffer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A call of a native function.

    - `function`: `f(bindings, constants, first_tile, last_tile) -> status`; its code stays in
      memory as long as the command does;
    - `bindings`: places, or numbers that are passed as they are;
    - `tiles`: how many there are; a device's workers share them;
    - `source`: what to name where it fails;
    - `state`: of a collective, for what it waits; one worker runs it;
    - `in_place`: pairs of a binding that is written and one that is read, which may be the same
      memory: no element is read after the one in its place has been written;
    - `failures`: what its checks are about; the function tells a failed one by its status, and
      sets the last constant.
    """

    function: Native
    bindings: tuple[Place | int, ...]
    constants: tuple[int, ...]
    tiles: int
    source: object
    state: DeviceState | None = None
    in_place: tuple[tuple[int, int], ...] = ()
    failures: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class HostCommand:
    """A call of a Python function with the bytes from each place on."""

    function: Callable[..., None]
    places: tuple[Place, ...]
    source: object


AnyCommand = Command | HostCommand


class CommandFailed(Exception):
    """A command of a device returned a status.

    `source` is what to name, `failures` what its checks are about, and `constants` are the
    command's afterwards.
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
    """A device gave up where it waited for others: one failed, or they do not match.

    `state` says where that was, `None` if it was computing.
    """

    def __init__(self, state: DeviceState | None = None) -> None:
        super().__init__("another device failed")
        self.state = state


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The bytes of one device's buffers.

    - `arena_bytes`: of the transient ones at their peak;
    - `transient_bytes`: of the transient ones if none shared its memory with another;
    - `constant_bytes`: of what is known before the run;
    - `boundary_bytes`: of inputs and results, in whose memory transient ones may lie, too.
    """

    owner: str | None
    arena_bytes: int
    transient_bytes: int
    constant_bytes: int
    boundary_bytes: int

    @property
    def peak_bytes(self) -> int:
        """All that are there at the same time."""
        return self.arena_bytes + self.constant_bytes + self.boundary_bytes


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a command buffer holds: `arena_bytes` is the peak of its transient buffers.

    Each device has an arena of its own; `memory` tells them apart.
    """

    commands: int
    arena_bytes: int
    transient_bytes: int
    memory: tuple[DeviceMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class _Patch:
    """Words of the address table that change with every run."""

    words: Words
    positions: Words
    offsets: Words


class CommandBuffer:
    """Recorded commands with their memory, ready to run with any inputs of the recorded sizes."""

    def __init__(
        self,
        commands: Sequence[AnyCommand],
        output_sizes: Sequence[int],
        state: Words | None = None,
        team: Team | None = None,
        resident: bool = False,
        guards: Guards | None = None,
    ) -> None:
        """`team` shares the dispatches; without one, the calling thread runs them alone.
        `resident` makes every transient buffer a resident one, with memory of its own.

        With `guards` every buffer lies between bytes that nothing may write to, which are looked
        at after each command.
        """
        self._guards = guards
        self._allocate = allocate if guards is None else guards.allocate
        self._commands = tuple(commands)
        self._output_sizes = tuple(output_sizes)
        self._owns_state = state is None
        self._state = np.zeros(8, np.int64) if state is None else state
        self._team = team
        self._workers = 1 if team is None else team.workers
        self._meeting = np.zeros(16, np.int64)
        self._progress = np.zeros(8 * self._workers, np.int64)
        self._run_native = _replay_function()
        uses = [_use(command) for command in self._commands]
        if resident:
            for buffer in lifetimes_of(uses):
                if buffer.storage is Storage.TRANSIENT:
                    buffer.memory = self._allocate(buffer.size)
                    buffer.storage = Storage.RESIDENT
        lifetimes = lifetimes_of(uses)
        self._transient = Counter[str | None]()
        for buffer in lifetimes:
            if buffer.storage is Storage.TRANSIENT:
                self._transient[buffer.owner] += buffer.size
        self._homes = take_over(uses, lifetimes)
        lifetimes = merged(lifetimes, self._homes)
        self._arenas: dict[str | None, Bytes] = {}
        addresses: dict[Buffer, int] = {}
        if guards is None:
            inside = fill_results(lifetimes)
            self._homes = {b: inside.get(home, home) for b, home in self._homes.items()} | inside
            lifetimes = {b: one for b, one in lifetimes.items() if b not in inside}
            addresses = self._place(lifetimes)
        else:
            for buffer in lifetimes:
                if buffer.storage is Storage.TRANSIENT:
                    buffer.memory = guards.allocate(buffer.size)
            for buffer in dict.fromkeys(buffer for use in uses for buffer in use.named):
                guards.hold(buffer)
        self._encode(addresses)
        self.statistics = Statistics(
            len(self._commands),
            sum(arena.size for arena in self._arenas.values()),
            self._transient.total(),
            self._memory(),
        )

    def _place(self, lifetimes: dict[Buffer, Lifetime]) -> dict[Buffer, int]:
        """Set up an arena for each device; returns the addresses of buffers in arenas."""
        transient = [(b, one) for b, one in lifetimes.items() if b.storage is Storage.TRANSIENT]
        addresses: dict[Buffer, int] = {}
        for owner in dict.fromkeys(buffer.owner for buffer, _ in transient):
            own = [entry for entry in transient if entry[0].owner == owner]
            placement = place([lifetime for _, lifetime in own])
            arena = self._arenas[owner] = allocate(placement.size)
            for (buffer, _), offset in zip(own, placement.offsets, strict=True):
                addresses[buffer] = arena.ctypes.data + offset
        return addresses

    def _memory(self) -> tuple[DeviceMemory, ...]:
        """The bytes of each device that has any."""
        places = (place for command in self._commands for place in _places(command))
        lasting = dict.fromkeys(
            self._homes.get(place.buffer, place.buffer)
            for place in places
            if place.buffer.storage is not Storage.TRANSIENT or self._guards is not None
        )
        constants: Counter[str | None] = Counter()
        boundary: Counter[str | None] = Counter()
        transient: Counter[str | None] = Counter()
        for owner, arena in self._arenas.items():
            transient[owner] = arena.size
        for buffer in lasting:
            kind = constants if buffer.storage is Storage.RESIDENT else boundary
            kind = transient if buffer.storage is Storage.TRANSIENT else kind
            kind[buffer.owner] += buffer.size
        return tuple(
            DeviceMemory(
                owner,
                transient[owner],
                self._transient[owner],
                constants[owner],
                boundary[owner],
            )
            for owner in dict.fromkeys((*transient, *constants, *boundary))
        )

    def _encode(self, addresses: dict[Buffer, int]) -> None:
        """Fill the tables that the native loop reads."""
        self._kept = [
            place.buffer.memory
            for command in self._commands
            for place in _places(command)
            if place.buffer.storage is Storage.RESIDENT
        ]
        words: list[int] = []
        patches: dict[Storage, list[tuple[int, int, int]]] = {
            Storage.INPUT: [],
            Storage.OUTPUT: [],
        }
        rows: list[list[int]] = []
        self._constants_at: dict[int, int] = {}
        self._segments: list[tuple[int, int] | HostCommand] = []
        for number, command in enumerate(self._commands):
            if isinstance(command, HostCommand):
                self._segments.append(command)
                continue
            if self._guards or not self._segments or isinstance(self._segments[-1], HostCommand):
                self._segments.append((len(rows), len(rows)))
            start = self._segments[-1]
            if not isinstance(start, HostCommand):
                self._segments[-1] = (start[0], len(rows) + 1)
            bindings_at = len(words)
            for binding in command.bindings:
                words.append(self._address(binding, addresses, len(words), patches))
            constants_at = self._constants_at[number] = len(words)
            words.extend(command.constants)
            collective = int(command.state is not None)
            rows.append(
                [
                    command.function.address,
                    bindings_at,
                    constants_at,
                    command.tiles,
                    collective,
                    number,
                ]
            )
        self._words = np.array(words or [0], np.int64)
        self._table = np.array(rows or [[0] * COMMAND_WORDS], np.int64)
        self._table[:, 1:3] = self._words.ctypes.data + 8 * self._table[:, 1:3]
        self._patches = {storage: _patch(found) for storage, found in patches.items()}
        self._addresses = addresses

    def run(self, inputs: Sequence[Bytes]) -> list[Bytes]:
        """Run the commands; returns the outputs' memory, new at each call.

        Inputs are only read. Raises CommandFailed where a command does, DeviceFailed where one
        waits in vain.
        """
        if self._guards is not None:
            return self._run_guarded(inputs, self._guards)
        outputs = [allocate(size) for size in self._output_sizes]
        self._begin(inputs, outputs)
        for segment in self._segments:
            self._run_one(segment, inputs, outputs)
        return outputs

    def _begin(self, inputs: Sequence[Bytes], outputs: Sequence[Bytes]) -> None:
        self._meeting[:] = 0
        if self._owns_state:
            self._state[:] = 0
        self._apply(Storage.INPUT, inputs)
        self._apply(Storage.OUTPUT, outputs)

    def _run_one(
        self,
        segment: tuple[int, int] | HostCommand,
        inputs: Sequence[Bytes],
        outputs: Sequence[Bytes],
    ) -> None:
        if isinstance(segment, HostCommand):
            views = [self._view(place, inputs, outputs) for place in segment.places]
            segment.function(*views)
        else:
            self._run_segment(*segment)

    def _run_guarded(self, inputs: Sequence[Bytes], guards: Guards) -> list[Bytes]:
        """The same one command at a time, looking after each for what it has overwritten."""
        given = [guards.copy(array) for array in inputs]
        outputs = [guards.allocate(size) for size in self._output_sizes]
        self._begin(given, outputs)
        for command, segment in zip(self._commands, self._segments, strict=True):
            self._run_one(segment, given, outputs)
            for each in _places(command):
                buffer = each.buffer
                memory = self._view(Place(buffer), given, outputs)
                is_changed = buffer.storage is Storage.INPUT and not np.array_equal(
                    memory, inputs[buffer.position]
                )
                if is_changed or not guards.is_intact(buffer, memory):
                    raise CommandFailed(command.source, OVERWRITTEN)
        guards.forget([*given, *outputs])
        return outputs

    def _apply(self, storage: Storage, arrays: Sequence[Bytes]) -> None:
        patch = self._patches[storage]
        if len(patch.words):
            bases = np.array([array.ctypes.data for array in arrays], np.int64)
            self._words[patch.words] = bases[patch.positions] + patch.offsets

    def _run_segment(self, start: int, stop: int) -> None:
        commands = self._table.ctypes.data + start * COMMAND_WORDS * 8
        meeting, state = self._meeting.ctypes.data, self._state.ctypes.data
        progress = self._progress.ctypes.data

        def work(worker: int) -> int:
            return self._run_native(
                commands,
                stop - start,
                worker,
                self._workers,
                meeting,
                state,
                progress + 64 * worker,
            )

        statuses = [work(0)] if self._team is None else self._team.run(work)
        for worker, status in sorted(enumerate(statuses), key=lambda entry: entry[1] == RELEASED):
            if status:
                number = int(self._progress[8 * worker])
                command = self._commands[number]
                if status in (RELEASED, MISMATCHED):
                    raise DeviceFailed(command.state if isinstance(command, Command) else None)
                failures = command.failures if isinstance(command, Command) else ()
                raise CommandFailed(command.source, status, failures, self._constants_of(number))

    def _constants_of(self, number: int) -> list[int]:
        """The constants of a command as they are now."""
        command = self._commands[number]
        if not isinstance(command, Command):
            return []
        start = self._constants_at[number]
        return [int(word) for word in self._words[start : start + len(command.constants)]]

    def _view(
        self,
        place: Place,
        inputs: Sequence[Bytes],
        outputs: Sequence[Bytes],
    ) -> Bytes:
        buffer = self._homes.get(place.buffer, place.buffer)
        if buffer.storage is Storage.INPUT:
            memory = inputs[buffer.position]
        elif buffer.storage is Storage.OUTPUT:
            memory = outputs[buffer.position][: place.buffer.size]
        elif buffer.memory is not None:
            memory = buffer.memory
        else:
            arena = self._arenas[buffer.owner]
            start = self._addresses[buffer] - arena.ctypes.data
            memory = arena[start : start + buffer.size]
        return memory[place.offset :]

    def _address(
        self,
        binding: Place | int,
        addresses: dict[Buffer, int],
        word: int,
        patches: dict[Storage, list[tuple[int, int, int]]],
    ) -> int:
        if isinstance(binding, int):
            return binding
        buffer = self._homes.get(binding.buffer, binding.buffer)
        if buffer.memory is not None:
            return buffer.memory.ctypes.data + binding.offset
        if buffer.storage is Storage.TRANSIENT:
            return addresses[buffer] + binding.offset
        patches[buffer.storage].append((word, buffer.position, binding.offset))
        return 0


def _replay_function() -> Any:
    words = [ctypes.c_int64] * 7
    return ctypes.CFUNCTYPE(ctypes.c_int64, *words)(native_function("replay").address)


def _places(command: AnyCommand) -> list[Place]:
    if isinstance(command, HostCommand):
        return list(command.places)
    return [binding for binding in command.bindings if isinstance(binding, Place)]


def _use(command: AnyCommand) -> Use:
    if isinstance(command, HostCommand):
        return Use(tuple(place.buffer for place in command.places))
    pairs: list[tuple[Buffer, Buffer]] = []
    for written, read in command.in_place:
        target, source = command.bindings[written], command.bindings[read]
        if not isinstance(target, Place) or not isinstance(source, Place):
            continue
        if target.offset == source.offset == 0:
            pairs.append((target.buffer, source.buffer))
    return Use(tuple(place.buffer for place in _places(command)), tuple(pairs))


def _patch(entries: Sequence[tuple[int, int, int]]) -> _Patch:
    table = np.array(entries, np.int64).reshape(-1, 3)
    return _Patch(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())

"""The virtual machine for host code: a device's registers and memory, and its calls of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt

from ...sharding.collective_matching import DeviceState
from ..abi.arrays import Words
from ..abi.memory import address_of, as_numbers, word_at
from ..commands import CommandFailed, DeviceFailed, call_native
from ..communicator import Communicator
from ..native_registry import callable_function, runtime_function
from . import loop, machine_state
from .cached_exchanges import CachedExchange, LoadedExchange
from .guards import BEHIND, OVERWRITTEN, Guards
from .machine_errors import OutOfMemory, VirtualMachineError
from .pool import Pool, view
from .printer import Tracer
from .program import Instruction, LinkedProgram
from .scalar_code import run_scalars
from .timeline import Event, Timeline
from .worker_team import CALL_WORDS, ENDED, WORKERS, WorkerTeam, serve_call, team_words, worker_call

STACK_WORDS = 4096
"""The initial size of the stack of frames in words; it grows on demand."""

MAX_STACK_WORDS = 1 << 27
"""The largest size of the stack in words: a gigabyte."""

MAX_CALLS = 20_000
"""The default limit of nested calls."""


class VirtualMachine:
    """Runs the functions of a program on one device, one call at a time."""

    def __init__(
        self,
        linked: LinkedProgram,
        process: int = 0,
        cancel: Words | None = None,
        communicator: Communicator | None = None,
        max_calls: int = MAX_CALLS,
        team: WorkerTeam | None = None,
        *,
        guard: bool = False,
        trace: Callable[[str], object] | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        """Create the machine's state.

        - `cancel`: a word that becomes nonzero when the run must stop;
        - `max_calls`: the limit of nested calls, beyond which recursion counts as endless;
        - `team`: workers that share kernels with much work;
        - `guard`: whether writes outside of buffers are detected and are errors;
        - `trace`: called with a line for each instruction;
        - `timeline`: records when kernels, copies and collectives begin and end.
        """
        self.linked = linked
        self._tracer = None if trace is None else Tracer(linked, trace)
        self._timeline = timeline
        self.is_stepping = self._tracer is not None or timeline is not None
        """Whether the loop returns after each instruction, so that only `call` can run it."""
        self.guards = Guards(linked.program.arrays) if guard else None
        self.is_direct = not self.is_stepping and self.guards is None
        """Whether a call may run on the caller's arrays, in the native loop alone."""
        self.process = process
        self.communicator = communicator
        self.pool = self._new_pool()
        self._abandoned: Pool | None = None
        self._native: Any = callable_function(loop.run)
        self._cancel: Words = np.zeros(1, np.int64) if cancel is None else cancel
        self._stack: Words = np.empty(STACK_WORDS, np.int64)
        self._calls: Words = np.empty(2 * max_calls, np.int64)
        self._state: Words = np.zeros(machine_state.STATE_WORDS, np.int64)
        self._known: list[Words] = [np.zeros(1, np.int64) for _ in linked.program.checks]
        self._checks: Words = np.array([*(each.ctypes.data for each in self._known), 0], np.int64)
        self._exchanges: Words = np.zeros(max(1, len(linked.program.python)), np.int64)
        self._cached: dict[int, LoadedExchange] = {}
        self._globals: Words = linked.globals.copy()
        self.has_globals = bool(linked.program.globals)
        self._fill_state(max_calls)
        self._share_kernels(team)
        address = int(self._state.ctypes.data)
        self.native_call = runtime_function(loop.run).address, address
        """The native function, and its argument, that run this machine until Python is needed."""
        self._argument = ctypes.c_int64(address)  # ctypes would convert a number at each call.
        self._registers = as_numbers(self._state)
        self._set_stack(self._stack)
        for self._number, call in enumerate(linked.program.python):
            call.prepare(self)

    def _fill_state(self, max_calls: int) -> None:
        """Write the addresses and settings that a run does not change into the state's words."""
        linked, state = self.linked, self._state
        state[machine_state.EXCHANGES] = self._exchanges.ctypes.data
        state[machine_state.CALLS] = self._calls.ctypes.data
        state[machine_state.MAX_CALLS] = max_calls
        state[machine_state.CANCEL] = self._cancel.ctypes.data
        state[machine_state.POOL] = self.pool.words.ctypes.data
        state[machine_state.FUNCTIONS] = linked.functions.ctypes.data
        state[machine_state.KERNELS] = linked.kernels.ctypes.data
        state[machine_state.CHECKS] = self._checks.ctypes.data
        state[machine_state.GLOBALS] = self._globals.ctypes.data
        state[machine_state.PROCESS] = self.process
        state[machine_state.GUARDED] = int(self.guards is not None)
        state[machine_state.STEPPING] = machine_state.STEP if self.is_stepping else 0

    def _share_kernels(self, team: WorkerTeam | None) -> None:
        self._team = team
        self._team_words: Words = np.zeros(team_words(team.workers if team else 1), np.int64)
        if team is not None and team.workers > 1:
            self._team_words[WORKERS] = team.workers
            self._state[machine_state.TEAM] = -1

    def call(self, function: int, arguments: Sequence[int]) -> list[int]:
        """Run a function on its argument words; return its result words."""
        self.begin(function, arguments)
        if self.is_stepping:
            self._run_to_end(self._step, self.linked.starts[function].code)
            return self.end(function)
        try:
            reason = self._native(self._argument)
        except BaseException:
            # The exception is that of a signal handler, which runs as soon as native code returns.
            self.abandon_blocks()
            raise
        if reason:
            self.resume(reason)
        return self.end(function)

    def begin(self, function: int, arguments: Sequence[int]) -> tuple[int, int]:
        """Prepare a call; return the native function and its argument that run it."""
        self.reset()
        start, registers = self.linked.starts[function], self._registers
        if start.frame_bytes > self._stack_bytes:
            self._make_room(start.frame_bytes)
        self._frames[start.arguments] = arguments
        registers[machine_state.FRAME] = registers[machine_state.FIRST_FRAME]
        registers[machine_state.BEGIN] = start.row
        return self.native_call

    def reset(self) -> None:
        """Let the next call begin without the memory and the globals of earlier ones."""
        if self.pool.returned:
            self.pool.collect()
        self._abandoned = None
        if self.has_globals:
            self._globals[:] = self.linked.globals

    def resume(self, reason: int) -> None:
        """Run a started call to its end; `reason` is what the native loop returned."""
        self._run_to_end(self._continue, reason)

    def _run_to_end(self, run: Callable[[int], None], argument: int) -> None:
        """Run a started call by `run(argument)`; drop its blocks if that raises an exception."""
        try:
            run(argument)
        except BaseException:
            self.abandon_blocks()
            raise
        finally:
            self._dismiss_helpers()

    def _continue(self, reason: int) -> None:
        while reason:
            self._handle(reason)
            reason = self._native(self._argument)

    def end(self, function: int) -> list[int]:
        """Return the result words of a call that has been run."""
        if self.guards is not None:
            self.guards.forget_inputs(self.pool)
        if self.has_globals:
            for position in self.linked.program.global_blocks:
                self.pool.release(int(self._globals[position]))
        return self._frames[self.linked.starts[function].results]

    def _step(self, at: int) -> None:
        """Run one instruction at a time from the address `at`, and report each one."""
        words, tracer = self._state, self._tracer
        began: int | None = None
        while True:
            frame = int(words[machine_state.FRAME])
            began = perf_counter_ns() if began is None else began
            reason = self._native(self._argument)
            try:
                self._handle(reason)
            except BaseException:
                if tracer is not None:
                    tracer.show(at)
                raise
            if (
                reason in (machine_state.DONE, machine_state.STEP)
                or int(words[machine_state.CODE]) != at
            ):
                if self._timeline is not None:
                    self._record(self._timeline, at, frame, began, perf_counter_ns())
                if tracer is not None:
                    tracer.show(at, frame)
                began = None
            elif reason == machine_state.COMPILE:
                if self._timeline is not None:
                    self._record_compilation(self._timeline, at, began, perf_counter_ns())
                began = None
            if reason == machine_state.DONE:
                return
            at = int(words[machine_state.CODE])

    def _record(self, timeline: Timeline, at: int, frame: int, start: int, end: int) -> None:
        """Record an instruction in the timeline, if it is of a kind that takes time."""
        kind = self.linked.instruction(at).kind.name
        program, device = self.linked.program, self.pool.current
        number = self._word(at, 1)
        where = self.process, device, start, end
        if kind == "run":
            tiles = word_at(frame + self._word(at, 3)).value
            timeline.add(Event("kernel", program.kernels[number].name, *where, tiles))
        elif kind == "copy":
            size = word_at(frame + self._word(at, 3)).value
            timeline.add(Event("copy", "copy", *where, size))
        elif kind == "exchange":
            block = word_at(frame + self._word(at, 4)).value
            cached = self._cached.get(number)
            commands = [] if cached is None else [each for each, _ in cached.exchange.commands]
            states = [each.state for each in commands if each.state is not None]
            group = states[0].signature.group if states and states[0].signature else ()
            occurrence = timeline.next_occurrence(self.process, number)
            size, name = self.pool.size(block), program.python[number].name
            timeline.add(Event("collective", name, *where, size, group, occurrence))

    def _record_compilation(self, timeline: Timeline, at: int, start: int, end: int) -> None:
        """Record the compilation of the kernels from an instruction on."""
        count = len(set(self.linked.kernels_from(at)))
        where = self.process, self.pool.current, start, end
        timeline.add(Event("compile", "compile", *where, count))

    def _call_helpers(self) -> None:
        """Let the team's other workers wait for jobs until the call ends."""
        if self._team is None:
            return
        words, workers = self._team_words, self._team.workers
        address, function = int(words.ctypes.data), runtime_function(serve_call).address
        calls: list[tuple[int, int]] = []
        for worker in range(1, workers):
            first = worker_call(workers, worker)
            words[first : first + CALL_WORDS] = address, worker, words[ENDED] + 1
            calls.append((function, address + 8 * first))
        self._team.start(calls, words)
        self._state[machine_state.TEAM] = address

    def _dismiss_helpers(self) -> None:
        if self._registers[machine_state.TEAM] <= 0:
            return
        # No one waits for the workers: each keeps the team's words alive until it has seen this.
        self._team_words[ENDED] += 1
        self._state[machine_state.TEAM] = -1

    def _new_pool(self) -> Pool:
        return Pool(self.linked.program.devices, guard_bytes=0 if self.guards is None else BEHIND)

    def abandon_blocks(self) -> None:
        """Drop the blocks of a failed run without reusing them; other devices may still read
        them.
        """
        if self.guards is not None:
            self.guards.forget_inputs(self.pool)
        self._abandoned = self.pool
        self.pool = self._new_pool()
        self._state[machine_state.POOL] = self.pool.words.ctypes.data

    @property
    def runs(self) -> int:
        """The number of kernels that the last call ran."""
        return int(self._state[machine_state.RUNS])

    # Why the loop returned --------------------------------------------------------------------

    def _handle(self, reason: int) -> None:
        words = self._state
        at = int(words[machine_state.CODE])
        instruction = self.linked.instruction(at)
        match reason:
            case machine_state.DONE | machine_state.TIME | machine_state.STEP:
                return
            case machine_state.CHECK_GUARDS:
                self._check_guards(at)
            case machine_state.HELP:
                self._call_helpers()
            case machine_state.COMPILE:
                self.linked.compile_kernels(self.linked.kernels_from(at))
            case machine_state.SCALAR:
                words[machine_state.SCALAR_CODE] = runtime_function(run_scalars).address
            case machine_state.CHECK:
                self._check(at)
            case machine_state.WAIT:
                self._check_for_failures(self._word(at, 1))
            case machine_state.PYTHON:
                self._python(at, instruction.kind.name)
            case machine_state.STACK:
                callee = self.linked.functions[self._callee(at)]
                used = int(words[machine_state.FRAME]) - self._stack.ctypes.data
                self._make_room(used + self._word(at, 2) + int(callee[1]), instruction.source)
            case machine_state.FAILED:
                raise self._failure(at, instruction)
            case machine_state.CANCELLED:
                raise DeviceFailed(self._started())
            case machine_state.TOO_DEEP:
                name = self.linked.program.functions[self._callee(at)].name
                raise VirtualMachineError(
                    instruction.source,
                    f"exceeds the depth of {words[machine_state.MAX_CALLS]} nested calls: does "
                    f"@{name} recurse without end?",
                )
            case machine_state.MEMORY | machine_state.OVERFLOW:
                size = self._bytes(at) if reason == machine_state.MEMORY else "too many"
                raise OutOfMemory(instruction.source, f"is out of memory for {size} bytes")
            case _:
                raise ValueError(f"the loop returned {reason}")

    def _check_guards(self, at: int) -> None:
        """Raise CommandFailed if the instruction that ends at an address overwrote a guard."""
        if self.guards is not None and not self.guards.are_intact(self.pool):
            raise CommandFailed(self.linked.instruction(at - 8).source, OVERWRITTEN)

    def _check_for_failures(self, number: int) -> None:
        """Check for failures while an exchange waits for other processes."""
        waits = self._cached[number].exchange.commands[int(self._state[machine_state.ROW])][0].waits
        if waits is not None:
            waits.check_for_failures()

    def _started(self) -> DeviceState | None:
        """Return the state of the exchange that was started and not awaited yet; `None` if none."""
        started, row = (
            int(self._state[each]) for each in (machine_state.STARTED, machine_state.ROW)
        )
        for each in self._cached.values():
            commands = each.exchange.commands
            if each.address == started and row < len(commands):
                return commands[row][0].state
        return None

    def _callee(self, at: int) -> int:
        """Return the number of the function that a call instruction calls."""
        number = self._word(at, 1)
        name = self.linked.instruction(at).kind.name
        return number if name == "call" else self._register(number).value

    def _failure(self, at: int, instruction: Instruction) -> Exception:
        """Return the error of a kernel, or of a command of a collective."""
        words, number = self._state, self._word(at, 1)
        status = int(words[machine_state.STATUS])
        if instruction.kind.name == "exchange":
            command, _ = self._cached[number].exchange.commands[int(words[machine_state.ROW])]
            return command.failure(status)
        kernel = self.linked.program.kernels[number]
        if not kernel.failures:
            return CommandFailed(instruction.source, status)
        bindings = int(words[machine_state.FRAME]) + self._word(at, 2)
        count = self._word(at, 5)
        constants = bindings + 8 * count
        tiles = self._register(self._word(at, 3)).value
        if tiles > 1:
            # Run all tiles again: the first check that fails in any tile is the one to report.
            status = call_native(int(self.linked.kernels[number]), bindings, constants, tiles)
        words = view(constants, 8 * self._word(at, 6 + count)).view(np.int64)
        return CommandFailed(instruction.source, status, kernel.failures, words.tolist())

    def _word(self, at: int, position: int) -> int:
        return word_at(at + 8 * position).value

    def _register(self, offset: int) -> ctypes.c_int64:
        return word_at(int(self._state[machine_state.FRAME]) + offset)

    def _values(self, at: int, position: int) -> list[int]:
        """Return the values of a register list that begins at a word of an instruction."""
        count = self._word(at, position)
        return [
            self._register(self._word(at, position + 1 + number)).value for number in range(count)
        ]

    def _bytes(self, at: int) -> int:
        name = self.linked.instruction(at).kind.name
        return self._register(self._word(at, 2 if name == "allocate" else 4)).value

    def _check(self, at: int) -> None:
        number = self._word(at, 1)
        values = self._values(at, 2)
        program = self.linked.program
        program.checks[number](values)
        if number < len(program.known_sizes):
            program.known_sizes[number].seen = tuple(values)
        known = np.array([1, *values], np.int64)
        self._known[number] = known
        self._checks[number] = known.ctypes.data

    def _python(self, at: int, name: str) -> None:
        number, program = self._word(at, 1), self.linked.program
        if name == "fail":
            raise program.failures[number](self._values(at, 2))
        count = self._word(at, 2)
        values = self._values(at, 3 + count)
        self._number = number
        results = program.python[number].function(self, values)
        for position, result in enumerate(results):
            self._register(self._word(at, 3 + position)).value = result
        self._state[machine_state.CODE] = at + 8 * (4 + count + len(values))

    # Exchanges --------------------------------------------------------------------------------

    def cache_exchange(self, exchange: CachedExchange) -> None:
        """Let the current or prepared `exchange` run without Python for these register values."""
        loaded = self._cached[self._number] = LoadedExchange(exchange)
        self._exchanges[self._number] = loaded.address

    # Memory -----------------------------------------------------------------------------------

    def _set_stack(self, stack: Words) -> None:
        self._stack = stack
        self._stack_bytes = stack.nbytes
        self._frames = as_numbers(stack)
        address = int(stack.ctypes.data)
        self._state[machine_state.FIRST_FRAME] = address
        self._state[machine_state.STACK_END] = address + stack.nbytes

    def _make_room(self, size: int, source: object = None) -> None:
        """Grow the stack to `size` bytes. Raises VirtualMachineError beyond the largest size."""
        if size <= self._stack_bytes:
            return
        if size > 8 * MAX_STACK_WORDS:
            problem = "is out of memory for the frames of calls"
            raise VirtualMachineError(source, problem)
        old = self._stack
        stack: Words = np.empty(max(2 * len(old), -(-size // 8)), np.int64)
        stack[: len(old)] = old
        self._state[machine_state.FRAME] += stack.ctypes.data - old.ctypes.data
        self._set_stack(stack)

    def address(self, array: npt.NDArray[Any]) -> int:
        """Return the address of a contiguous input during a call; with guards, that of a copy."""
        if self.guards is not None:
            return self.guards.place_input(self.pool, array.reshape(-1).view(np.uint8))
        return address_of(array)

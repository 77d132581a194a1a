"""The virtual machines of a program: one per function and device, and their last run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from .abi.arguments import InputTypes
from .abi.arrays import Array
from .communicator import Communicator
from .direct_call import DirectCall, OnFailure, call_with_arrays
from .host.entry import DeviceFunction, DeviceStatistics, EntryPoint
from .host.loop import run
from .host.pool import pool_call
from .host.scalar_code import run_scalars
from .host.timeline import Timeline
from .host.virtual_machine import MAX_CALLS, VirtualMachine
from .host.worker_team import serve_call
from .threads.device_threads import DeviceThreads
from .threads.thread_pool import POOL_FUNCTIONS

Key = tuple[EntryPoint, Communicator | None]


MACHINE_FUNCTIONS = run, run_scalars, pool_call, call_with_arrays, serve_call, *POOL_FUNCTIONS
"""The native functions that every program may need."""


@cache
def compile_machine_functions() -> None:
    """Compile these functions together if they are not cached; each is loaded when it is needed."""
    # Imported here because saved programs bring their functions, and need no compiler.
    from ..codegen.cache import compile_missing

    compile_missing(MACHINE_FUNCTIONS)


class DeviceMachines:
    """Runs functions on devices and keeps their virtual machines for the next run."""

    def __init__(
        self,
        workers: int | None,
        on_failure: OnFailure | None = None,
        *,
        max_calls: int = MAX_CALLS,
        guard: bool = False,
        trace: Callable[[str], object] | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        """`workers` is as in `DeviceThreads`, the other options as in `VirtualMachine`.

        If there are several processes, each line passed to `trace` begins with the process number.
        """
        self.threads = DeviceThreads(workers)
        self.last: list[DeviceFunction] = []
        """What has run since the list was last cleared."""
        self.direct_calls: dict[str, DirectCall] = {}
        """Functions that native code calls with the next inputs, by name (`allow_direct_calls`)."""
        self.timeline = timeline
        self._on_failure = on_failure
        self._max_calls = max_calls
        self._guard = guard
        self._trace = trace
        self._devices: dict[Key, DeviceFunction] = {}

    def prepare(
        self, entry: EntryPoint, communicator: Communicator | None = None
    ) -> DeviceFunction:
        """Return a function on a device; its virtual machine is created on first use."""
        key = entry, communicator
        found = self._devices.get(key)
        if found is None:
            machine = self._new_machine(entry, communicator)
            process = None if communicator is None else communicator.process
            found = self._devices[key] = DeviceFunction(entry, machine, process)
        return found

    def _new_machine(self, entry: EntryPoint, communicator: Communicator | None) -> VirtualMachine:
        process, cancel, devices, trace = 0, None, 1, self._trace
        if communicator is not None:
            process, cancel = communicator.process, communicator.status
            devices = communicator.core_sharers
            trace = None if trace is None else partial(_trace_of_process, trace, process)
        return VirtualMachine(
            entry.program,
            process,
            cancel,
            communicator,
            self._max_calls,
            self.threads.team(process, devices),
            guard=self._guard,
            trace=trace,
            timeline=self.timeline,
        )

    def run(
        self, entry: EntryPoint, inputs: Sequence[Array], communicator: Communicator | None = None
    ) -> list[Array]:
        """Run a function on this thread: on one device, or as the process of a communicator."""
        device = self.prepare(entry, communicator)
        try:
            results = entry.call(device.machine, inputs)
        except Exception as error:
            self._report(error, entry, communicator)
            raise
        device.result_bytes = entry.result_bytes(results)
        if communicator is not None:
            device.sent_messages = communicator.sent_messages
        self.last.append(device)
        return results

    def _report(
        self, error: Exception, entry: EntryPoint, communicator: Communicator | None
    ) -> None:
        if self._on_failure is not None:
            self._on_failure(error, entry, communicator)

    def allow_direct_calls(self, function: str, entry: EntryPoint, inputs: InputTypes) -> None:
        """Let native code check the next inputs of a function that has run on one device.

        Does nothing if it cannot: if arguments are scalars or narrow integers, or if the machine
        must see the inputs or each instruction. Nor does it if the machines were closed meanwhile.
        """
        device, kinds = self._devices.get((entry, None)), inputs.kinds
        if device is None or kinds is None or not entry.takes(kinds):
            return
        if not device.machine.is_direct:
            return
        self.direct_calls[function] = DirectCall(
            device, kinds, self.threads.turn, self.last, self._on_failure
        )

    def run_on_threads(
        self, entries: Sequence[EntryPoint], inputs: Sequence[Sequence[Array]]
    ) -> list[list[Array]]:
        """Run a function on one thread per device; entries and inputs are given by process.

        Machines that have run before start in native code, and return to Python only where it asks
        for that.
        """
        group = self.threads.group(len(inputs))
        devices: list[DeviceFunction] = []
        for key in zip(entries, group.communicators, strict=True):
            device = self._devices.get(key)
            if device is None or device.machine.is_stepping:
                return group.run(
                    lambda each: self.run(entries[each.process], inputs[each.process], each)
                )
            devices.append(device)

        def resume(communicator: Communicator, reason: int) -> None:
            device = devices[communicator.process]
            try:
                device.machine.resume(reason)
            except Exception as error:
                self._report(error, device.entry, communicator)
                raise

        pairs = zip(devices, inputs, strict=True)
        calls = [each.entry.begin(each.machine, own) for each, own in pairs]
        group.run_calls(calls, resume, inputs)
        results: list[list[Array]] = []
        for each in devices:
            own = each.entry.end(each.machine)
            each.result_bytes = each.entry.result_bytes(own)
            results.append(own)
        self.last += devices
        return results

    @property
    def device_statistics(self) -> list[DeviceStatistics]:
        """Statistics of each device that the program names, in its last run, by process."""
        runs = sorted(self.last, key=lambda run: run.process or 0)
        return [each for run in runs for each in run.statistics()]

    def forget(self) -> Mapping[Key, DeviceFunction]:
        """Drop all machines, so that the next run creates new ones; return what was dropped."""
        before = dict(self._devices)
        self._devices.clear()
        self.direct_calls.clear()
        return before

    def close(self) -> None:
        """End the devices' threads and free what is kept between calls."""
        self.threads.close()
        self.forget()


def _trace_of_process(trace: Callable[[str], object], process: int, line: str) -> object:
    return trace(f"[{process}] {line}")

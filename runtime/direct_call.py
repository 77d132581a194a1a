"""Calls of functions on one device whose NumPy arguments native code checks.

A call knows beforehand what its arguments must be. One native function compares them with that,
writes the function's registers, runs its host code, and copies small results into new arrays.
Anything else, such as an array that is not contiguous, a Python number or a wrong shape, is left to
the checks in Python (`abi/arguments.py`), which convert it or raise an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .abi.arguments import IN_PLACE, ArrayKind, on_one_device
from .abi.arrays import Array, Words
from .abi.memory import as_numbers
from .abi.native_code import source_of
from .communicator import Communicator
from .host.entry import ADDRESS_AND_BLOCK, DeviceFunction, EntryPoint, Shape
from .host.machine_state import BEGIN, DONE, FIRST_FRAME, FRAME, POOL
from .host.pool import release
from .intrinsics import (
    acquire_gil,
    call_function,
    copy_bytes,
    load_field,
    load_i32,
    load_word,
    release_gil,
    store_field,
    store_word,
)
from .native_registry import runtime_function
from .threads.call_lock import CallLock

SOURCE = source_of(__file__)

OnFailure = Callable[[Exception, EntryPoint, Communicator | None], object]
"""Called with an exception that a run raised; may raise one that says more."""

INPUTS, OUTPUTS, HEAD, ITEMS, ARRAY, STATE, ROW, ARGUMENTS, LOOP, COUNT, FIRST_KIND = range(11)
"""Words of a call: the tuple of arrays, the words of copied results; the bytes that every Python
object begins with, the offset of a tuple's items, the class of arrays; the machine's state, the row
of the function, the offset of the arguments in its frame, the loop that runs it; the number of
arguments. Then follow, for each argument, its element type, its rank and its sizes, negative where
dynamic.
"""

RESULT_COUNT, FIRST_RESULT, RESULT_WORDS = 0, 1, 3
"""Words of copied results: their number, and for each the new array, the offset of its registers in
the frame, and its bytes.
"""

COPIED_BYTES = 1 << 15
"""Up to how many bytes results are copied: it takes less time than to lend out their blocks, which
takes about 2 us.
"""

RANK, SIZES, ELEMENT, FLAGS = 8, 16, 40, 48
"""Offsets of fields of an array from its data pointer: `PyArrayObject` of NumPy's C API."""

UNFIT = -1
"""What a native call returns for arguments that it does not accept; it has run nothing."""


def write_arguments(call: int) -> int:
    """Write the registers of the arguments; return 0 if an array does not fit, else 1."""
    arrays, head = load_field(call, INPUTS), load_field(call, HEAD)
    count = load_field(call, COUNT)
    if load_word(arrays + head) != count:
        return 0
    items = arrays + load_field(call, ITEMS)
    frame = load_field(load_field(call, STATE), FIRST_FRAME)
    register = frame + load_field(call, ARGUMENTS)
    kind = call + 8 * FIRST_KIND
    for number in range(count):
        array = load_word(items + 8 * number)
        fields = array + head
        rank = load_word(kind + 8)
        if load_word(fields - 8) != load_field(call, ARRAY):
            return 0
        if load_word(fields + ELEMENT) != load_word(kind) or load_i32(fields + RANK) != rank:
            return 0
        if load_i32(fields + FLAGS) & IN_PLACE != IN_PLACE:
            return 0
        store_word(register, load_word(fields))
        store_word(register + 8, 0)
        register += 8 * ADDRESS_AND_BLOCK
        kind += 16
        sizes = load_word(fields + SIZES)
        for dimension in range(rank):
            size, expected = load_word(sizes + 8 * dimension), load_word(kind)
            kind += 8
            if expected < 0:
                store_word(register, size)
                register += 8
            elif size != expected:
                return 0
    return 1


def call_with_arrays(call: int) -> int:
    """Run a function on arrays; return why the loop ended, or UNFIT.

    It is called with the GIL, and runs the function without.
    """
    if write_arguments(call) == 0:
        return UNFIT
    state = load_field(call, STATE)
    store_field(state, FRAME, load_field(state, FIRST_FRAME))
    store_field(state, BEGIN, load_field(call, ROW))
    thread = release_gil()
    reason = call_function(load_field(call, LOOP), state)
    if reason == DONE:
        copy_results(call)
    acquire_gil(thread)
    return reason


def copy_results(call: int) -> None:
    """Copy results into their arrays and release their blocks."""
    state, head = load_field(call, STATE), load_field(call, HEAD)
    frame, memory = load_field(state, FIRST_FRAME), load_field(state, POOL)
    outputs = load_field(call, OUTPUTS)
    result = outputs + 8 * FIRST_RESULT
    for _ in range(load_field(outputs, RESULT_COUNT)):
        register = frame + load_word(result + 8)
        data = load_word(load_word(result) + head)
        copy_bytes(data, load_word(register), load_word(result + 16))
        release(memory, load_word(register + 8))
        result += 8 * RESULT_WORDS


@cache
def _native_call() -> Any:
    return ctypes.PYFUNCTYPE(ctypes.c_int64)(runtime_function(call_with_arrays).address)


class DirectCall:
    """A function on a device, ready for calls with arrays of its argument types."""

    def __init__(
        self,
        device: DeviceFunction,
        kinds: Sequence[ArrayKind],
        turn: CallLock,
        last: list[DeviceFunction],
        on_failure: OnFailure | None,
    ) -> None:
        """Prepare calls of a function whose machine has run.

        - `kinds`: the element types and shapes of its arguments;
        - `turn`: the lock that a call holds;
        - `last`: what has run last, which a call replaces;
        - `on_failure`: called if a run fails.
        """
        self._device = device
        self._turn = turn
        self._last = last
        self._on_failure = on_failure
        self._kinds = kinds  # Keeps the element types alive, whose addresses the words hold.
        self._native = _native_call()
        self._copied = _copied_results(device)
        outputs: Words = np.array(_output_words(device, self._copied), np.int64)
        self._outputs = as_numbers(outputs)
        words: Words = np.array(_words(device, kinds, outputs.ctypes.data), np.int64)
        self._words = as_numbers(words)
        self._call = ctypes.c_int64(words.ctypes.data)

    def __call__(self, inputs: Sequence[Any]) -> list[Array] | None:
        """Run the function and return its results; `None` if native code rejects the inputs."""
        device = self._device
        entry, machine = device.entry, device.machine
        # Before the lock is held: the inputs may be computed by a call.
        arrays = tuple(
            [each if each.__class__ is np.ndarray else on_one_device(each) for each in inputs]
        )
        copied = [np.empty(shape, dtype) for shape, dtype in self._copied]
        with self._turn.checked():
            machine.reset()
            self._words[INPUTS] = id(arrays)
            position = FIRST_RESULT
            for array in copied:
                self._outputs[position] = id(array)
                position += RESULT_WORDS
            try:
                reason = self._native(self._call)
            except BaseException:
                machine.abandon_blocks()
                raise
            if reason == UNFIT:
                return None
            self._last.clear()
            if copied and reason == DONE:
                self._last.append(device)
                return copied
            try:
                machine.resume(reason)
                results = entry.end(machine)
            except Exception as error:
                if self._on_failure is not None:
                    self._on_failure(error, entry, None)
                raise
            if entry.has_dynamic_results:
                device.result_bytes = entry.result_bytes(results)
            self._last.append(device)
            return results


def _copied_results(device: DeviceFunction) -> list[tuple[Shape, np.dtype[Any]]]:
    """Return the shapes and element types of all results if they are to be copied, else nothing."""
    entry, found = device.entry, list[tuple[Shape, np.dtype[Any]]]()
    if entry.has_dynamic_results or device.machine.has_globals:
        return []
    for each in entry.results:
        if each.shape is None:
            return []
        found.append((each.shape, each.dtype))
    return found if entry.result_bytes(()) <= COPIED_BYTES else []


def _output_words(
    device: DeviceFunction, copied: Sequence[tuple[Shape, np.dtype[Any]]]
) -> list[int]:
    """Return the words of copied results; those of the arrays are written by each call."""
    register = 8 * device.machine.linked.starts[device.entry.number].results.start
    words = [len(copied)]
    for number, (shape, dtype) in enumerate(copied):
        at = register + 8 * ADDRESS_AND_BLOCK * number
        words += [0, at, prod(shape) * dtype.itemsize]
    return words


def _words(device: DeviceFunction, kinds: Sequence[ArrayKind], outputs: int) -> list[int]:
    """Return the words of a call. The function has run, so that the stack has room for it."""
    machine = device.machine
    start = machine.linked.starts[device.entry.number]
    loop, state = machine.native_call
    words = [0, outputs, object.__basicsize__, tuple.__basicsize__, id(np.ndarray)]
    words += [state, start.row, 8 * start.arguments.start, loop, len(kinds)]
    for dtype, shape in kinds:
        words += [id(dtype), len(shape), *shape]
    return words

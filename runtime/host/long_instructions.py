"""Native code of instructions that take time, or that may end the native loop."""

from __future__ import annotations

from ..abi.native_code import rare, source_of
from ..intrinsics import (
    atomic_load,
    call_kernel,
    copy_bytes,
    cycle_count,
    load_field,
    load_word,
    multiply_overflows,
    store_field,
    store_word,
)
from ..protocol import AT_ONCE, FINISH, MISMATCHED, RESIZED, SIGNATURE, START, WAITING
from .instructions import CONTROL
from .machine_state import (
    BINDINGS,
    BLOCK,
    CANCEL,
    CANCELLED,
    CHECK,
    CHECK_GUARDS,
    CHECKS,
    COMMAND_COUNT,
    COMMAND_WORDS,
    COMPILE,
    CONSTANTS,
    DEADLINE,
    EXCHANGE_HEAD_WORDS,
    EXCHANGES,
    FAILED,
    FUNCTION,
    GUARDED,
    HELP,
    IS_POLLABLE,
    KERNELS,
    MEMORY,
    OVERFLOW,
    POOL,
    PROBLEM,
    PROCESS,
    PYTHON,
    RESULT_BYTES,
    RESULT_COUNT,
    ROW,
    RUNS,
    SIZE_CHECK,
    SIZE_COUNT,
    SOURCE_COUNT,
    STARTED,
    STATUS,
    TEAM,
    TILE,
    TILES,
    TIME,
    VALUE_COUNT,
    WAIT,
)
from .pool import allocate, own, release, reuse
from .worker_team import MIN_SHARED_WORK, WAKING_WORK, WORKERS, run_shared

SOURCE = source_of(__file__)

CHUNKS = 64
"""The number of chunks of a kernel's tiles, between which the clock is checked."""

LONG_WORK = 1 << 31
"""Work of a kernel (bytes moved plus multiplications) that takes longer than a run may continue
without a check of the clock: it is shared between workers in several parts.
"""

UNDIVIDED_WORK = 1 << 16
"""Work (bytes moved plus multiplications) below which a kernel runs all its tiles in one call."""

RUN, CHECK_SIZES, EXCHANGE, START_EXCHANGE = (
    CONTROL[name].opcode for name in ("run", "check", "exchange", "start")
)
ALLOCATE, REUSE, OWN, COPY, SIZE = (
    CONTROL[name].opcode for name in ("allocate", "reuse", "own", "copy", "size")
)


def guard_reason(state: int) -> int:
    """Return `CHECK_GUARDS` if guards must be checked after a write to memory, else 0."""
    return CHECK_GUARDS if load_field(state, GUARDED) != 0 else 0


def operand(code: int, frame: int, number: int) -> int:
    """Return the value of a register operand of the instruction at `code`; the first is 1."""
    return load_word(frame + load_word(code + 8 * number))


def move(code: int, frame: int) -> int:
    """Execute a `move`; return its bytes."""
    store_word(frame + load_word(code + 8), operand(code, frame, 2))
    return 24


@rare
def time_is_up(state: int) -> int:
    """Return CANCELLED or TIME if the loop has to return, else 0."""
    if atomic_load(load_field(state, CANCEL)) != 0:
        return CANCELLED
    if cycle_count() - load_field(state, DEADLINE) > 0:
        return TIME
    return 0


def run_kernel(state: int, code: int, frame: int) -> int:
    """Execute a `run`; return 0, or why the loop has to return."""
    kernel = load_word(load_field(state, KERNELS) + 8 * load_word(code + 8))
    if kernel == 0:
        return COMPILE
    bindings = frame + load_word(code + 16)
    tiles = operand(code, frame, 3)
    count = load_word(code + 40)
    words = code + 48
    for number in range(count):
        store_word(bindings + 8 * number, load_word(frame + load_word(words + 8 * number)))
    words += 8 * count
    constants = bindings + 8 * count
    count = load_word(words)
    for number in range(1, count + 1):
        store_word(constants + 8 * number - 8, load_word(frame + load_word(words + 8 * number)))
    chunk = max(1, tiles // CHUNKS)
    team = load_field(state, TEAM)
    work = operand(code, frame, 4)
    if work < UNDIVIDED_WORK:
        team = 0
        chunk = max(1, tiles)
    elif tiles < 2 or work < MIN_SHARED_WORK:
        team = 0
    elif team == -1:
        if work >= WAKING_WORK:
            return HELP
        team = 0
    elif team != 0:
        # Use one part, since workers wait for each other after each part; four if it takes long.
        workers = load_field(team, WORKERS)
        parts = 4 if work >= LONG_WORK else 1
        chunk = (tiles + parts * workers - 1) // (parts * workers) * workers
    first = load_field(state, TILE)
    while first < tiles:
        last = min(first + chunk, tiles)
        if team != 0:
            status = run_shared(team, kernel, bindings, constants, first, last)
        else:
            status = call_kernel(kernel, bindings, constants, first, last)
        if status != 0:
            store_field(state, STATUS, status)
            return FAILED
        first = last
        advance(state)
        if first < tiles:
            reason = time_is_up(state)
            if reason != 0:
                store_field(state, TILE, first)
                return reason
    store_field(state, TILE, 0)
    store_field(state, RUNS, load_field(state, RUNS) + 1)
    return 0


def sizes_are_known(state: int, code: int, frame: int) -> bool:
    """Whether a `check` accepted the same sizes the last time."""
    known = load_word(load_field(state, CHECKS) + 8 * load_word(code + 8))
    count = load_word(code + 16)
    if load_word(known) == 0:
        return False
    for number in range(1, count + 1):
        if load_word(known + 8 * number) != operand(code, frame, 2 + number):
            return False
    return True


def run_exchange(state: int, code: int, frame: int) -> int:
    """Execute an `exchange` that is cached; return 0, or why the loop has to return."""
    entry = load_field(state, EXCHANGES) + 8 * load_word(code + 8)
    exchange = load_word(entry)
    if exchange == 0:
        return PYTHON
    values = code + 8 * (3 + load_word(code + 16))
    is_new = False
    for number in range(load_field(exchange, VALUE_COUNT)):
        value = load_word(frame + load_word(values + 8 * (2 + number)))
        if load_word(exchange + 8 * (EXCHANGE_HEAD_WORDS + number)) != value:
            is_new = True
    if is_new and load_field(exchange, SIZE_CHECK) == 0:
        return PYTHON
    first = 0
    phase = AT_ONCE
    block = load_field(state, BLOCK)
    if block != 0:
        first = load_field(state, ROW)
        phase = FINISH if load_field(state, STARTED) != 0 else AT_ONCE
        store_field(state, BLOCK, 0)
        store_field(state, STARTED, 0)
        if load_field(state, PROBLEM) != 0:
            store_field(state, STATUS, load_field(state, PROBLEM))
            return FAILED
    else:
        block = allocate(load_field(state, POOL), load_field(exchange, RESULT_BYTES))
    if block == 0:
        return MEMORY
    commands = exchange_commands(exchange)
    bind_buffers(exchange, commands, load_word(frame + load_word(values + 8)), block)
    for number in range(first, load_field(exchange, COMMAND_COUNT)):
        reason = run_command(state, exchange, commands + 8 * COMMAND_WORDS * number, is_new, phase)
        phase = AT_ONCE
        if reason == PYTHON:
            release(load_field(state, POOL), block)
            store_word(entry, 0)
        elif reason != 0:
            store_field(state, ROW, number)
            if reason == WAIT:
                store_field(state, BLOCK, block)
        if reason != 0:
            return reason
    store_word(frame + load_word(code + 24), block)
    store_word(frame + load_word(code + 32), block)
    sizes = exchange + 8 * (EXCHANGE_HEAD_WORDS + load_field(exchange, VALUE_COUNT))
    for number in range(load_field(exchange, SIZE_COUNT)):
        store_word(frame + load_word(code + 40 + 8 * number), load_word(sizes + 8 * number))
    return 0


def exchange_commands(exchange: int) -> int:
    """Return the address of a cached exchange's commands."""
    values = load_field(exchange, VALUE_COUNT)
    sizes = load_field(exchange, SIZE_COUNT)
    return exchange + 8 * (EXCHANGE_HEAD_WORDS + values + sizes)


@rare
def start(state: int, code: int, frame: int) -> None:
    """Execute a `start`; if the exchange is not cached yet, the `exchange` does all the work."""
    exchange = load_word(load_field(state, EXCHANGES) + 8 * load_word(code + 8))
    if exchange == 0:
        return
    block = allocate(load_field(state, POOL), load_field(exchange, RESULT_BYTES))
    if block == 0:
        return
    source = load_word(frame + load_word(code + 24))
    bind_buffers(exchange, exchange_commands(exchange), source, block)
    store_field(state, BLOCK, block)
    store_field(state, ROW, 0)
    store_field(state, STARTED, exchange)
    start_commands(state, exchange)


def advance(state: int) -> None:
    """Advance an exchange that was started, without waiting."""
    exchange = load_field(state, STARTED)
    if exchange != 0 and load_field(exchange, IS_POLLABLE) != 0:
        start_commands(state, exchange)


@rare
def start_commands(state: int, exchange: int) -> None:
    """Start the commands of an exchange from the state's row on, until one would have to wait."""
    status = load_field(state, PROBLEM)
    number = load_field(state, ROW)
    while status == 0 and number < load_field(exchange, COMMAND_COUNT):
        command = exchange_commands(exchange) + 8 * COMMAND_WORDS * number
        bindings, constants = load_field(command, BINDINGS), load_field(command, CONSTANTS)
        status = call_kernel(load_field(command, FUNCTION), bindings, constants, START, 1)
        if status == 0:
            number += 1
        elif status != WAITING:
            store_field(state, PROBLEM, status)
    store_field(state, ROW, number)


def bind_buffers(exchange: int, commands: int, source: int, result: int) -> None:
    """Bind the source and the result to the commands of a cached exchange."""
    binding = commands + 8 * COMMAND_WORDS * load_field(exchange, COMMAND_COUNT)
    for _ in range(load_field(exchange, SOURCE_COUNT)):
        store_word(load_word(binding), source)
        binding += 8
    for _ in range(load_field(exchange, RESULT_COUNT)):
        store_word(load_word(binding), result)
        binding += 8


def run_command(state: int, exchange: int, command: int, is_new: bool, phase: int) -> int:
    """Execute one command of a cached exchange; return 0, or why the loop has to return.

    Returns `PYTHON` if devices have to exchange their sizes again.
    """
    size_check = load_field(exchange, SIZE_CHECK)
    signature = load_field(command, BINDINGS) + 8 * SIGNATURE
    own_signature = 0
    if size_check != 0:
        own_signature = load_word(signature)
        if is_new:
            # No other device has this signature number, so that all participants exchange sizes
            # again.
            store_word(signature, -2 - load_field(state, PROCESS))
    status = call_kernel(
        load_field(command, FUNCTION),
        load_field(command, BINDINGS),
        load_field(command, CONSTANTS),
        phase,
        load_field(command, TILES),
    )
    if size_check != 0:
        store_word(signature, own_signature)
        if status == RESIZED or (status == MISMATCHED and size_check == 1):
            return PYTHON
    if status == 0:
        return 0
    store_field(state, STATUS, status)
    return WAIT if status == WAITING else FAILED


def blocks(state: int, opcode: int, code: int, frame: int) -> int:
    """Execute an instruction that makes a block; return the block, 0 if out of memory."""
    memory = load_field(state, POOL)
    if opcode == ALLOCATE:
        return allocate(memory, operand(code, frame, 2))
    block, address = operand(code, frame, 2), operand(code, frame, 3)
    if opcode == REUSE:
        return reuse(memory, block, address, operand(code, frame, 4))
    return own(memory, block, address, operand(code, frame, 4))


def carry_out(state: int, opcode: int, code: int, frame: int) -> tuple[int, int]:
    """Execute an instruction that may end the loop.

    Returns its size in bytes, and 0 or why the loop has to return. A size of 0 means that the
    instruction is executed again, or that Python executes it.
    """
    if opcode == RUN:
        reason = run_kernel(state, code, frame)
        if reason != 0:
            return 0, reason
        bindings = load_word(code + 40)
        return 8 * (7 + bindings + load_word(code + 48 + 8 * bindings)), guard_reason(state)
    if opcode >= ALLOCATE and opcode <= OWN:
        block = blocks(state, opcode, code, frame)
        if block == 0:
            return 0, MEMORY
        store_word(frame + load_word(code + 8), block)
        return 24 if opcode == ALLOCATE else 40, 0
    if opcode == CHECK_SIZES:
        if sizes_are_known(state, code, frame):
            return 8 * (3 + load_word(code + 16)), 0
        return 0, CHECK
    if opcode == EXCHANGE:
        reason = run_exchange(state, code, frame)
        if reason != 0:
            return 0, reason
        results = load_word(code + 16)
        return 8 * (4 + results + load_word(code + 24 + 8 * results)), guard_reason(state)
    if opcode == START_EXCHANGE:
        start(state, code, frame)
        return 8 * (3 + load_word(code + 16)), 0
    if opcode == SIZE:
        left, right = operand(code, frame, 2), operand(code, frame, 3)
        if multiply_overflows(left, right):
            return 0, OVERFLOW
        store_word(frame + load_word(code + 8), left * right)
        return 32, 0
    if opcode == COPY:
        copy_bytes(operand(code, frame, 1), operand(code, frame, 2), operand(code, frame, 3))
        return 32, guard_reason(state)
    return 0, PYTHON

"""The native loop that runs host code. It is compiled once for a machine, not for a program.

It works on the words of a state. Where it cannot go on alone, as at a call of Python or where a
kernel is not compiled yet, it leaves the state as it is before that instruction and returns why;
whoever called it does what is needed and calls it again.
"""

from __future__ import annotations

from functools import cache

from .. import intrinsics, native
from ..abi.native_code import Native, source_of
from ..intrinsics import (
    add_overflows,
    atomic_load,
    call_kernel,
    copy_bytes,
    cycle_count,
    load_i8,
    load_i16,
    load_i32,
    load_u8,
    load_u16,
    load_u32,
    load_word,
    multiply_overflows,
    store_8,
    store_16,
    store_32,
    store_word,
)
from ..native import MISMATCHED, RESIZED, SIGNATURE, WAITING
from ..native_functions import runtime_function
from . import instructions, pool, scalar_code, team
from .instructions import CONTROL, FIRST_SCALAR, SCALAR_WORDS
from .pool import CURRENT, allocate, begin_run, own, release, retain, reuse
from .scalar_code import compute
from .team import SMALLEST_WORK, WAKING_WORK, WORKERS, run_shared

SOURCE = source_of(__file__)

# Words of a state -----------------------------------------------------------------------------

CODE, FRAME, STACK_END, CALLS, DEPTH, MOST_CALLS = 0, 1, 2, 3, 4, 5
CANCEL, DEADLINE, POOL, FUNCTIONS, KERNELS, CHECKS = 6, 7, 8, 9, 10, 11
PROCESS, STATUS, TILE, GUARDED, RUNS, MEETINGS, ROW = 12, 13, 14, 15, 16, 17, 18
TEAM, GLOBALS, STEPPING, BEGIN, BLOCK = 19, 20, 21, 22, 23
STATE_WORDS = 32
"""`CODE` is the next instruction, `CALLS` where return addresses lie, `CANCEL` the address of a
word that is not 0 when all is to end, `TILE` how far a kernel has got, `RUNS` how many kernels
have been run, `MEETINGS` the table of what is known of each `exchange`, `ROW` which of its
commands has failed or waits, `TEAM` the words of the device's workers: 0 if there is only one, -1
if others may be called. `STEPPING` is `STEP` to return after each instruction, else 0. `BEGIN` is
the address of the row of a function that is to begin with what the first frame holds, else 0.
`BLOCK` is the result of an `exchange` that waits, else 0."""

MEETING_WORDS = 7
"""Of a meeting: how many values it is for, the bytes of its result, how many commands it has, how
many bindings are its source and its result, how many sizes the result has, and whether devices must
look at all sizes again where one has others. Then the values, the sizes, four words a command (its
function, bindings, constants, tiles), and the addresses of the bindings."""

FUNCTION_WORDS = 6
"""Of a function: its first instruction, the bytes that a frame needs with what its calls are
given, where constants lie in it, where they are copied from, how many bytes, nothing."""

# Why the loop returns -------------------------------------------------------------------------

DONE, FAILED, PYTHON, CHECK, COMPILE, STACK, TIME, MEMORY, TOO_DEEP, CANCELLED, OVERFLOW, LOOK = (
    range(12)
)
HELP, STEP, WAIT, RETURNED = 12, 13, 14, 15
"""`FAILED`: a kernel has, with `STATUS`. `CHECK`: sizes are new. `STACK`: the frames need more
memory. `TIME`: Python is to look for signals. `OVERFLOW`: of a size. `LOOK`: at guards, after the
instruction. `HELP`: a kernel has work for more workers than there are. `STEP`: an instruction was
carried out. `WAIT`: an `exchange` waits for others, and Python is to look around. `RETURNED` is
`DONE` inside of the loop, where 0 is to go on."""

SLICE_CYCLES = 1 << 27
"""Cycles after which the loop lets Python look for signals: some hundredths of a second."""

PATIENCE = 256
"""Jumps back between two looks at the clock."""

CHUNKS = 64
"""Into how many parts the tiles of a kernel are cut, between which the clock is looked at."""

RETURN, CALL, CALL_REGISTER = (CONTROL[name].opcode for name in ("return", "call", "call_register"))
JUMP, JUMP_IF, JUMP_UNLESS, LOOP = (
    CONTROL[name].opcode for name in ("jump", "jump_if", "jump_unless", "loop")
)
MOVE, ADDRESS, PROCESS_NUMBER, POSITION, SIZE = (
    CONTROL[name].opcode for name in ("move", "address", "process", "position", "size")
)
ALLOCATE, REUSE, OWN, RETAIN, RELEASE, COPY = (
    CONTROL[name].opcode for name in ("allocate", "reuse", "own", "retain", "release", "copy")
)
LOAD_I8, LOAD_I16, LOAD_I32, LOAD_I64, LOAD_U8, LOAD_U16, LOAD_U32 = (
    CONTROL[f"load_{name}"].opcode for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32")
)
STORE_8, STORE_16, STORE_32, STORE_64 = (
    CONTROL[f"store_{bits}"].opcode for bits in (8, 16, 32, 64)
)
RUN, CHECK_SIZES = CONTROL["run"].opcode, CONTROL["check"].opcode
EXCHANGE, DEVICE, COUNT, GLOBAL_WORDS = (
    CONTROL[name].opcode for name in ("exchange", "device", "count", "globals")
)


def look(state: int) -> int:
    """Why the loop has to return after an instruction that has written to memory: 0, or `LOOK`."""
    return LOOK if load_word(state + 8 * GUARDED) != 0 else 0


def operand(code: int, frame: int, number: int) -> int:
    """The register that is an operand of the instruction at `code`, the first being 1."""
    return load_word(frame + load_word(code + 8 * number))


def load_element(opcode: int, address: int) -> int:
    """What a `load` gives."""
    if opcode == LOAD_U32:
        return load_u32(address)
    if opcode == LOAD_I64:
        return load_word(address)
    if opcode == LOAD_I32:
        return load_i32(address)
    if opcode == LOAD_U8:
        return load_u8(address)
    if opcode == LOAD_I8:
        return load_i8(address)
    if opcode == LOAD_U16:
        return load_u16(address)
    return load_i16(address)


def store_element(opcode: int, address: int, value: int) -> None:
    """Carry out a `store`."""
    if opcode == STORE_32:
        store_32(address, value)
    elif opcode == STORE_64:
        store_word(address, value)
    elif opcode == STORE_8:
        store_8(address, value)
    else:
        store_16(address, value)


def time_is_up(state: int) -> int:
    """0, or why the loop has to return."""
    if atomic_load(load_word(state + 8 * CANCEL)) != 0:
        return CANCELLED
    if cycle_count() - load_word(state + 8 * DEADLINE) > 0:
        return TIME
    return 0


def run_kernel(state: int, code: int, frame: int) -> int:
    """Carry out a `run`: 0, or why the loop has to return."""
    kernel = load_word(load_word(state + 8 * KERNELS) + 8 * load_word(code + 8))
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
    team = load_word(state + 8 * TEAM)
    work = operand(code, frame, 4)
    if tiles < 2 or work < SMALLEST_WORK:
        team = 0
    elif team == -1:
        if work >= WAKING_WORK:
            return HELP
        team = 0
    elif team != 0:
        # Few parts, as workers wait for each other after each.
        chunk = max(tiles // 4, min(tiles, load_word(team + 8 * WORKERS)))
    first = load_word(state + 8 * TILE)
    while first < tiles:
        last = min(first + chunk, tiles)
        if team != 0:
            status = run_shared(team, kernel, bindings, constants, first, last)
        else:
            status = call_kernel(kernel, bindings, constants, first, last)
        if status != 0:
            store_word(state + 8 * STATUS, status)
            return FAILED
        first = last
        if first < tiles:
            reason = time_is_up(state)
            if reason != 0:
                store_word(state + 8 * TILE, first)
                return reason
    store_word(state + 8 * TILE, 0)
    store_word(state + 8 * RUNS, load_word(state + 8 * RUNS) + 1)
    return 0


def sizes_are_known(state: int, code: int, frame: int) -> bool:
    """Whether a `check` has accepted these sizes the last time."""
    known = load_word(load_word(state + 8 * CHECKS) + 8 * load_word(code + 8))
    count = load_word(code + 16)
    if load_word(known) == 0:
        return False
    for number in range(1, count + 1):
        if load_word(known + 8 * number) != operand(code, frame, 2 + number):
            return False
    return True


def meet(state: int, code: int, frame: int) -> int:
    """Carry out an `exchange` whose commands are known: 0, or why the loop has to return."""
    entry = load_word(state + 8 * MEETINGS) + 8 * load_word(code + 8)
    known = load_word(entry)
    if known == 0:
        return PYTHON
    values = code + 8 * (3 + load_word(code + 16))
    is_new = False
    for number in range(load_word(known)):
        value = load_word(frame + load_word(values + 8 * (2 + number)))
        if load_word(known + 8 * (MEETING_WORDS + number)) != value:
            is_new = True
    if is_new and load_word(known + 48) == 0:
        return PYTHON
    first = 0
    block = load_word(state + 8 * BLOCK)
    if block != 0:
        first = load_word(state + 8 * ROW)
        store_word(state + 8 * BLOCK, 0)
    else:
        block = allocate(load_word(state + 8 * POOL), load_word(known + 8))
    if block == 0:
        return MEMORY
    sizes = known + 8 * (MEETING_WORDS + load_word(known))
    commands = sizes + 8 * load_word(known + 40)
    bind_meeting(known, commands, load_word(frame + load_word(values + 8)), block)
    for number in range(first, load_word(known + 16)):
        reason = meet_once(state, known, commands + 32 * number, is_new)
        if reason == PYTHON:
            release(load_word(state + 8 * POOL), block)
            store_word(entry, 0)
        elif reason != 0:
            store_word(state + 8 * ROW, number)
            if reason == WAIT:
                store_word(state + 8 * BLOCK, block)
        if reason != 0:
            return reason
    store_word(frame + load_word(code + 24), block)
    store_word(frame + load_word(code + 32), block)
    for number in range(load_word(known + 40)):
        store_word(frame + load_word(code + 40 + 8 * number), load_word(sizes + 8 * number))
    return 0


def bind_meeting(known: int, commands: int, source: int, result: int) -> None:
    """Let the commands of a meeting read the source and write the result."""
    place = commands + 32 * load_word(known + 16)
    for _ in range(load_word(known + 24)):
        store_word(load_word(place), source)
        place += 8
    for _ in range(load_word(known + 32)):
        store_word(load_word(place), result)
        place += 8


def meet_once(state: int, known: int, command: int, is_new: bool) -> int:
    """Carry out one command of a meeting: 0, or why the loop has to return.

    It is `PYTHON` where devices have to look at their sizes again.
    """
    is_open = load_word(known + 48)
    signature = load_word(command + 8) + 8 * SIGNATURE
    meant = 0
    if is_open != 0:
        meant = load_word(signature)
        if is_new:
            # No other device has this number, so all of them look at the sizes again.
            store_word(signature, -2 - load_word(state + 8 * PROCESS))
    status = call_kernel(
        load_word(command),
        load_word(command + 8),
        load_word(command + 16),
        0,
        load_word(command + 24),
    )
    if is_open != 0:
        store_word(signature, meant)
        if status == RESIZED or (status == MISMATCHED and is_open == 1):
            return PYTHON
    if status == 0:
        return 0
    store_word(state + 8 * STATUS, status)
    return WAIT if status == WAITING else FAILED


def callee(state: int, code: int, frame: int) -> int:
    """The row of the function that a `call` is of."""
    number = load_word(code + 8)
    if load_word(code) == CALL_REGISTER:
        number = load_word(frame + number)
    return load_word(state + 8 * FUNCTIONS) + 8 * FUNCTION_WORDS * number


def enter(state: int, code: int, frame: int) -> int:
    """Carry out a `call`, as far as to the frame: 0, or why the loop has to return."""
    function = callee(state, code, frame)
    inner = frame + load_word(code + 16)
    if inner + load_word(function + 8) > load_word(state + 8 * STACK_END):
        return STACK
    depth = load_word(state + 8 * DEPTH)
    if depth >= load_word(state + 8 * MOST_CALLS):
        return TOO_DEEP
    calls = load_word(state + 8 * CALLS) + 16 * depth
    store_word(calls, code + 24)
    store_word(calls + 8, load_word(code + 16))
    store_word(state + 8 * DEPTH, depth + 1)
    set_constants(function, inner)
    return 0


def set_constants(function: int, frame: int) -> None:
    """Copy the constants of a function into a frame of it."""
    source = load_word(function + 24)
    target = frame + load_word(function + 16)
    for number in range(load_word(function + 32)):
        store_word(target + 8 * number, load_word(source + 8 * number))


def begin(state: int, function: int) -> None:
    """Begin a run: no call is open, and nothing is counted yet."""
    store_word(state + 8 * BEGIN, 0)
    store_word(state + 8 * CODE, load_word(function))
    store_word(state + 8 * DEPTH, 0)
    store_word(state + 8 * TILE, 0)
    store_word(state + 8 * BLOCK, 0)
    store_word(state + 8 * RUNS, 0)
    set_constants(function, load_word(state + 8 * FRAME))
    begin_run(load_word(state + 8 * POOL))


def next_round(code: int, frame: int) -> int:
    """Carry out a `loop`: how far to jump, which is back unless it has ended."""
    index, step = operand(code, frame, 1), operand(code, frame, 3)
    if add_overflows(index, step) or index + step >= operand(code, frame, 2):
        return 40
    store_word(frame + load_word(code + 8), index + step)
    return load_word(code + 32)


def position(code: int, frame: int) -> int:
    """Carry out a `position`: how far to jump, which depends on whether there is one."""
    index, size = operand(code, frame, 3), operand(code, frame, 4)
    if index < 0 or index >= size:
        return load_word(code + 40)
    store_word(frame + load_word(code + 8), operand(code, frame, 2) * size + index)
    return 48


def blocks(state: int, opcode: int, code: int, frame: int) -> int:
    """Carry out an instruction that makes a block; 0 if there is no memory."""
    memory = load_word(state + 8 * POOL)
    if opcode == ALLOCATE:
        return allocate(memory, operand(code, frame, 2))
    block, address = operand(code, frame, 2), operand(code, frame, 3)
    if opcode == REUSE:
        return reuse(memory, block, address, operand(code, frame, 4))
    return own(memory, block, address, operand(code, frame, 4))


def write_words(state: int, opcode: int, code: int, frame: int) -> int:
    """Carry out an instruction that only reads and writes words: its bytes, 0 for any other."""
    if opcode == MOVE:
        store_word(frame + load_word(code + 8), operand(code, frame, 2))
        return 24
    if opcode >= LOAD_I8 and opcode <= LOAD_U32:
        value = load_element(opcode, operand(code, frame, 2))
        store_word(frame + load_word(code + 8), value)
        return 24
    if opcode >= STORE_8 and opcode <= STORE_64:
        store_element(opcode, operand(code, frame, 1), operand(code, frame, 2))
        return 24
    if opcode == RELEASE:
        release(load_word(state + 8 * POOL), operand(code, frame, 1))
        return 16
    if opcode == RETAIN:
        retain(operand(code, frame, 1))
        return 16
    if opcode == DEVICE:
        store_word(load_word(state + 8 * POOL) + 8 * CURRENT, load_word(code + 8))
        return 16
    if opcode == COUNT:
        word = load_word(state + 8 * POOL) + 8 * load_word(code + 8)
        store_word(word, load_word(word) + operand(code, frame, 2))
        return 24
    if opcode == GLOBAL_WORDS:
        store_word(frame + load_word(code + 8), load_word(state + 8 * GLOBALS))
        return 16
    if opcode == ADDRESS:
        store_word(frame + load_word(code + 8), frame + load_word(code + 16))
        return 24
    if opcode == PROCESS_NUMBER:
        store_word(frame + load_word(code + 8), load_word(state + 8 * PROCESS))
        return 16
    return 0


def work(state: int, opcode: int, code: int, frame: int) -> tuple[int, int]:
    """Carry out an instruction that may end the loop: its bytes, and 0 or why the loop has to
    return. No bytes: it is to be carried out again, or Python does it."""
    if opcode == RUN:
        reason = run_kernel(state, code, frame)
        if reason != 0:
            return 0, reason
        bindings = load_word(code + 40)
        return 8 * (7 + bindings + load_word(code + 48 + 8 * bindings)), look(state)
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
        reason = meet(state, code, frame)
        if reason != 0:
            return 0, reason
        results = load_word(code + 16)
        return 8 * (4 + results + load_word(code + 24 + 8 * results)), look(state)
    if opcode == SIZE:
        left, right = operand(code, frame, 2), operand(code, frame, 3)
        if multiply_overflows(left, right):
            return 0, OVERFLOW
        store_word(frame + load_word(code + 8), left * right)
        return 32, 0
    if opcode == COPY:
        copy_bytes(operand(code, frame, 1), operand(code, frame, 2), operand(code, frame, 3))
        return 32, look(state)
    return 0, PYTHON


def run(state: int) -> int:
    """Run from the state's instruction on, or a function's first; returns why it ended."""
    function = load_word(state + 8 * BEGIN)
    if function != 0:
        begin(state, function)
    code = load_word(state + 8 * CODE)
    frame = load_word(state + 8 * FRAME)
    store_word(state + 8 * DEADLINE, cycle_count() + SLICE_CYCLES)
    stepping = load_word(state + 8 * STEPPING)
    patience = PATIENCE
    reason = 0
    while reason == 0:
        opcode = load_word(code)
        distance = 1
        if opcode >= FIRST_SCALAR:
            compute(opcode, code, frame)
            code += 8 * SCALAR_WORDS
        elif opcode == JUMP:
            distance = load_word(code + 8)
            code += distance
        elif opcode == JUMP_IF:
            code += load_word(code + 16) if operand(code, frame, 1) != 0 else 24
        elif opcode == JUMP_UNLESS:
            code += load_word(code + 16) if operand(code, frame, 1) == 0 else 24
        elif opcode == LOOP:
            distance = next_round(code, frame)
            code += distance
        elif opcode == POSITION:
            code += position(code, frame)
        elif opcode in (CALL, CALL_REGISTER):
            reason = enter(state, code, frame)
            if reason == 0:
                function = callee(state, code, frame)
                frame += load_word(code + 16)
                code = load_word(function)
        elif opcode == RETURN:
            depth = load_word(state + 8 * DEPTH) - 1
            if depth < 0:
                reason = RETURNED
            else:
                store_word(state + 8 * DEPTH, depth)
                calls = load_word(state + 8 * CALLS) + 16 * depth
                code = load_word(calls)
                frame -= load_word(calls + 8)
        else:
            size = write_words(state, opcode, code, frame)
            if size == 0:
                size, reason = work(state, opcode, code, frame)
            code += size
        if distance <= 0:
            patience -= 1
            if patience == 0:
                patience = PATIENCE
                reason = time_is_up(state)
        if reason == 0:
            reason = stepping
    store_word(state + 8 * CODE, code)
    store_word(state + 8 * FRAME, frame)
    return DONE if reason == RETURNED else reason


@cache
def native_loop() -> Native:
    """The native code of `run`."""
    modules = (intrinsics, native, instructions, pool, scalar_code, team)
    return runtime_function(run, *(each.SOURCE for each in modules))

"""The native loop that runs host code; compiled once per machine, not per program.

It works on the words of a state. Where it needs Python, as for a Python call or a kernel that is
not compiled yet, it leaves the state at that instruction and returns the reason. Its caller does
what is needed and calls it again.
"""

from __future__ import annotations

from ..abi.native_code import rare, source_of
from ..intrinsics import (
    add_overflows,
    call_function,
    cycle_count,
    load_field,
    load_i8,
    load_i16,
    load_i32,
    load_u8,
    load_u16,
    load_u32,
    load_word,
    store_8,
    store_16,
    store_32,
    store_field,
    store_word,
)
from .instructions import CONTROL, FIRST_SCALAR
from .long_instructions import carry_out, move, operand, time_is_up
from .machine_state import (
    BEGIN,
    BLOCK,
    CALLS,
    CODE,
    DEADLINE,
    DEPTH,
    DONE,
    FRAME,
    FUNCTION_WORDS,
    FUNCTIONS,
    GLOBALS,
    MAX_CALLS,
    POOL,
    PROBLEM,
    PROCESS,
    RETURNED,
    RUNS,
    SCALAR,
    SCALAR_CODE,
    STACK,
    STACK_END,
    STARTED,
    STEPPING,
    TILE,
    TOO_DEEP,
)
from .pool import CURRENT, begin_run, release, retain

SOURCE = source_of(__file__)

SLICE_CYCLES = 1 << 27
"""Cycles after which the loop lets Python check for signals: some hundredths of a second."""

JUMPS_PER_CHECK = 256
"""The number of backward jumps between two checks of the clock."""

RETURN, CALL, CALL_REGISTER = (CONTROL[name].opcode for name in ("return", "call", "call_register"))
JUMP, JUMP_IF, JUMP_UNLESS, LOOP = (
    CONTROL[name].opcode for name in ("jump", "jump_if", "jump_unless", "loop")
)
MOVE, ADDRESS, PROCESS_NUMBER, POSITION = (
    CONTROL[name].opcode for name in ("move", "address", "process", "position")
)
RETAIN, RELEASE = (CONTROL[name].opcode for name in ("retain", "release"))
LOAD_I8, _, LOAD_I32, LOAD_I64, LOAD_U8, LOAD_U16, LOAD_U32 = (
    CONTROL[f"load_{name}"].opcode for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32")
)
STORE_8, _, STORE_32, STORE_64 = (CONTROL[f"store_{bits}"].opcode for bits in (8, 16, 32, 64))
DEVICE, COUNT, GLOBAL_WORDS = (CONTROL[name].opcode for name in ("device", "count", "globals"))


def load_element(opcode: int, address: int) -> int:
    """Return the value of a `load`."""
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
    """Execute a `store`."""
    if opcode == STORE_32:
        store_32(address, value)
    elif opcode == STORE_64:
        store_word(address, value)
    elif opcode == STORE_8:
        store_8(address, value)
    else:
        store_16(address, value)


def callee(state: int, code: int, frame: int) -> int:
    """Return the row of the function that a call instruction calls."""
    number = load_word(code + 8)
    if load_word(code) == CALL_REGISTER:
        number = load_word(frame + number)
    return load_field(state, FUNCTIONS) + 8 * FUNCTION_WORDS * number


@rare
def enter(state: int, code: int, frame: int) -> int:
    """Execute a `call` up to the callee's frame; return 0, or why the loop has to return."""
    function = callee(state, code, frame)
    inner = frame + load_word(code + 16)
    if inner + load_word(function + 8) > load_field(state, STACK_END):
        return STACK
    depth = load_field(state, DEPTH)
    if depth >= load_field(state, MAX_CALLS):
        return TOO_DEEP
    calls = load_field(state, CALLS) + 16 * depth
    store_word(calls, code + 24)
    store_word(calls + 8, load_word(code + 16))
    store_field(state, DEPTH, depth + 1)
    set_constants(function, inner)
    return 0


def set_constants(function: int, frame: int) -> None:
    """Copy the constants of a function to its frame."""
    source = load_word(function + 24)
    target = frame + load_word(function + 16)
    for number in range(load_word(function + 32)):
        store_word(target + 8 * number, load_word(source + 8 * number))


@rare
def begin(state: int, function: int) -> None:
    """Begin a run: reset open calls and counters."""
    store_field(state, BEGIN, 0)
    store_field(state, CODE, load_word(function))
    store_field(state, DEPTH, 0)
    store_field(state, TILE, 0)
    store_field(state, BLOCK, 0)
    store_field(state, STARTED, 0)
    store_field(state, PROBLEM, 0)
    store_field(state, RUNS, 0)
    set_constants(function, load_field(state, FRAME))
    begin_run(load_field(state, POOL))


def next_round(code: int, frame: int) -> int:
    """Execute a `loop`; return the distance to jump."""
    index, step = operand(code, frame, 1), operand(code, frame, 3)
    if add_overflows(index, step) or index + step >= operand(code, frame, 2):
        return 40
    store_word(frame + load_word(code + 8), index + step)
    return load_word(code + 32)


def position(code: int, frame: int) -> int:
    """Execute a `position`; return the distance to jump."""
    index, size = operand(code, frame, 3), operand(code, frame, 4)
    if index < 0 or index >= size:
        return load_word(code + 40)
    store_word(frame + load_word(code + 8), operand(code, frame, 2) * size + index)
    return 48


def write_words(state: int, opcode: int, code: int, frame: int) -> int:
    """Execute an instruction that only reads and writes words; return its bytes, 0 for others."""
    if opcode == MOVE:
        return move(code, frame)
    if opcode >= LOAD_I8 and opcode <= LOAD_U32:
        value = load_element(opcode, operand(code, frame, 2))
        store_word(frame + load_word(code + 8), value)
        return 24
    if opcode >= STORE_8 and opcode <= STORE_64:
        store_element(opcode, operand(code, frame, 1), operand(code, frame, 2))
        return 24
    if opcode == RELEASE:
        release(load_field(state, POOL), operand(code, frame, 1))
        return 16
    if opcode == RETAIN:
        retain(operand(code, frame, 1))
        return 16
    if opcode == DEVICE:
        store_field(load_field(state, POOL), CURRENT, load_word(code + 8))
        return 16
    if opcode == COUNT:
        word = load_field(state, POOL) + 8 * load_word(code + 8)
        store_word(word, load_word(word) + operand(code, frame, 2))
        return 24
    if opcode == GLOBAL_WORDS:
        store_word(frame + load_word(code + 8), load_field(state, GLOBALS))
        return 16
    if opcode == ADDRESS:
        store_word(frame + load_word(code + 8), frame + load_word(code + 16))
        return 24
    if opcode == PROCESS_NUMBER:
        store_word(frame + load_word(code + 8), load_field(state, PROCESS))
        return 16
    return 0


def run(state: int) -> int:
    """Run from the state's instruction, or from a function's first; return why the loop ended."""
    function = load_field(state, BEGIN)
    if function != 0:
        begin(state, function)
    code = load_field(state, CODE)
    frame = load_field(state, FRAME)
    store_field(state, DEADLINE, cycle_count() + SLICE_CYCLES)
    stepping = load_field(state, STEPPING)
    jumps_left = JUMPS_PER_CHECK
    reason = 0
    while reason == 0:
        opcode = load_word(code)
        if opcode >= FIRST_SCALAR:
            scalars = load_field(state, SCALAR_CODE)
            if scalars == 0:
                reason = SCALAR
            else:
                store_field(state, CODE, code)
                store_field(state, FRAME, frame)
                code = call_function(scalars, state)
        elif opcode in (LOOP, JUMP):
            distance = next_round(code, frame) if opcode == LOOP else load_word(code + 8)
            code += distance
            if distance <= 0:
                jumps_left -= 1
                if jumps_left == 0:
                    jumps_left = JUMPS_PER_CHECK
                    reason = time_is_up(state)
        elif opcode == JUMP_IF:
            code += load_word(code + 16) if operand(code, frame, 1) != 0 else 24
        elif opcode == JUMP_UNLESS:
            code += load_word(code + 16) if operand(code, frame, 1) == 0 else 24
        elif opcode == POSITION:
            code += position(code, frame)
        elif opcode in (CALL, CALL_REGISTER):
            reason = enter(state, code, frame)
            if reason == 0:
                function = callee(state, code, frame)
                frame += load_word(code + 16)
                code = load_word(function)
        elif opcode == RETURN:
            depth = load_field(state, DEPTH) - 1
            if depth < 0:
                reason = RETURNED
            else:
                store_field(state, DEPTH, depth)
                calls = load_field(state, CALLS) + 16 * depth
                code = load_word(calls)
                frame -= load_word(calls + 8)
        else:
            size = write_words(state, opcode, code, frame)
            if size == 0:
                size, reason = carry_out(state, opcode, code, frame)
            code += size
        if reason == 0:
            reason = stepping
    store_field(state, CODE, code)
    store_field(state, FRAME, frame)
    return DONE if reason == RETURNED else reason

"""The layout of a machine's state, on which the native loop works, and its return reasons."""

from __future__ import annotations

from ..abi.native_code import source_of

SOURCE = source_of(__file__)

# Words of a state -----------------------------------------------------------------------------

CODE, FRAME, STACK_END, CALLS, DEPTH, MAX_CALLS = 0, 1, 2, 3, 4, 5
CANCEL, DEADLINE, POOL, FUNCTIONS, KERNELS, CHECKS = 6, 7, 8, 9, 10, 11
PROCESS, STATUS, TILE, GUARDED, RUNS, EXCHANGES, ROW = 12, 13, 14, 15, 16, 17, 18
TEAM, GLOBALS, STEPPING, BEGIN, BLOCK = 19, 20, 21, 22, 23
STARTED, PROBLEM, SCALAR_CODE, FIRST_FRAME = 24, 25, 26, 27
STATE_WORDS = 32
"""Words of a state.

`CODE` is the address of the next instruction; `CALLS` the address of the return addresses; `CANCEL`
the address of a word that is nonzero when the run must stop; `TILE` the next tile of the current
kernel; `RUNS` the number of kernels run; `EXCHANGES` the table of the cached exchanges; `ROW` the
number of the command of an exchange that failed or waits; `TEAM` the words of the device's
workers, 0 if there is only one worker, -1 if others can be called. `STEPPING` is `STEP` to return
after each instruction, else 0. `BEGIN` is the row of a function that is to begin with the arguments
in the first frame, else 0. `BLOCK` is the result of an exchange that waits or was started, else 0;
`STARTED` the words of one that was started, else 0; `PROBLEM` the status with which it has failed
since. `SCALAR_CODE` is the address of the function for scalar instructions, 0 until one is needed.
`FIRST_FRAME` is the start of the stack.
"""

VALUE_COUNT, RESULT_BYTES, COMMAND_COUNT, SOURCE_COUNT, RESULT_COUNT, SIZE_COUNT = range(6)
SIZE_CHECK, IS_POLLABLE, EXCHANGE_HEAD_WORDS = 6, 7, 8
"""Words of the head of a cached exchange (see `CachedExchange`).

They are: the number of register values it is valid for, the bytes of its result, the number of its
commands, of bindings to its source, of bindings to its result and of dynamic sizes of the result;
`size_check` and `is_pollable`. Then follow the values, the sizes, the commands, and the addresses
of the bindings.
"""

FUNCTION, BINDINGS, CONSTANTS, TILES, COMMAND_WORDS = range(5)
"""Words of a command of a cached exchange, and their number."""

FUNCTION_WORDS = 6
"""Words of a function's row: its first instruction, the bytes of its frame with the outgoing words,
the offset of its constants in the frame, the address they are copied from, their number, unused.
"""

# Why the loop returns -------------------------------------------------------------------------

DONE, FAILED, PYTHON, CHECK, COMPILE, STACK, TIME, MEMORY, TOO_DEEP, CANCELLED = range(10)
OVERFLOW, CHECK_GUARDS, HELP, STEP, WAIT, RETURNED, SCALAR = range(10, 17)
"""Why the loop returns.

`FAILED`: a kernel or command failed with `STATUS`. `CHECK`: sizes are new. `STACK`: the stack must
grow. `TIME`: Python must check for signals. `OVERFLOW`: a size overflows. `CHECK_GUARDS`: guards
must be checked after the instruction. `HELP`: a kernel has enough work to call more workers.
`STEP`: an instruction was executed. `WAIT`: an exchange waits, and Python must check for failures.
`RETURNED` is `DONE` inside of the loop, where 0 means to continue. `SCALAR`: `SCALAR_CODE` is
needed.
"""

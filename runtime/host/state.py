"""The layout of a machine's state, on which the native loop works, and its return reasons."""

from __future__ import annotations

from ..abi.native_code import source_of

SOURCE = source_of(__file__)

# Words of a state -----------------------------------------------------------------------------

CODE, FRAME, STACK_END, CALLS, DEPTH, MOST_CALLS = 0, 1, 2, 3, 4, 5
CANCEL, DEADLINE, POOL, FUNCTIONS, KERNELS, CHECKS = 6, 7, 8, 9, 10, 11
PROCESS, STATUS, TILE, GUARDED, RUNS, MEETINGS, ROW = 12, 13, 14, 15, 16, 17, 18
TEAM, GLOBALS, STEPPING, BEGIN, BLOCK = 19, 20, 21, 22, 23
STARTED, PROBLEM = 24, 25
STATE_WORDS = 32
"""Words of a state.

`CODE` is the address of the next instruction; `CALLS` the address of the return addresses; `CANCEL`
the address of a word that is nonzero when the run must stop; `TILE` the next tile of the current
kernel; `RUNS` the number of kernels run; `MEETINGS` the table of the known meetings of exchanges;
`ROW` the number of the command of a meeting that failed or waits; `TEAM` the words of the device's
workers, 0 if there is only one worker, -1 if others can be called. `STEPPING` is `STEP` to return
after each instruction, else 0. `BEGIN` is the row of a function that is to begin with the arguments
in the first frame, else 0. `BLOCK` is the result of an exchange that waits or was started, else 0;
`STARTED` the meeting of one that was started, else 0; `PROBLEM` the status with which it has failed
since.
"""

MEETING_WORDS = 8
"""The head of a meeting.

Its words are: the number of register values it is valid for, the bytes of its result, the number of
its commands, of bindings to its source, of bindings to its result and of dynamic sizes of the
result; `is_open` and `gets_on` (see `Meeting`). The values, the sizes, four words per command
(function, bindings, constants, tiles) and the addresses of the bindings follow.
"""

FUNCTION_WORDS = 6
"""Words of a function's row: its first instruction, the bytes of its frame with the outgoing words,
the offset of its constants in the frame, the address they are copied from, their number, unused.
"""

# Why the loop returns -------------------------------------------------------------------------

DONE, FAILED, PYTHON, CHECK, COMPILE, STACK, TIME, MEMORY, TOO_DEEP, CANCELLED, OVERFLOW, LOOK = (
    range(12)
)
HELP, STEP, WAIT, RETURNED = 12, 13, 14, 15
"""Why the loop returns.

`FAILED`: a kernel or command failed with `STATUS`. `CHECK`: sizes are new. `STACK`: the stack must
grow. `TIME`: Python must check for signals. `OVERFLOW`: a size overflows. `LOOK`: guards must be
checked after the instruction. `HELP`: a kernel has enough work to call more workers. `STEP`: an
instruction was executed. `WAIT`: an exchange waits, and Python must check for failures. `RETURNED`
is `DONE` inside of the loop, where 0 means to continue.
"""

"""The words of a state, on which the native loop works, and why the loop returns."""

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
"""`CODE` is the next instruction, `CALLS` where return addresses lie, `CANCEL` the address of a
word that is not 0 when all is to end, `TILE` how far a kernel has got, `RUNS` how many kernels
have been run, `MEETINGS` the table of what is known of each `exchange`, `ROW` which of its
commands has failed or waits, `TEAM` the words of the device's workers: 0 if there is only one, -1
if others may be called. `STEPPING` is `STEP` to return after each instruction, else 0. `BEGIN` is
the address of the row of a function that is to begin with what the first frame holds, else 0.
`BLOCK` is the result of an `exchange` that waits or was started, else 0, `STARTED` the meeting of
one that was started, else 0, and `PROBLEM` a status with which it has failed since."""

MEETING_WORDS = 8
"""Of a meeting: how many values it is for, the bytes of its result, how many commands it has, how
many bindings are its source and its result, how many sizes the result has, whether devices must
look at all sizes again where one has others, and whether it gets on while kernels run, if it is
called from time to time. Then the values, the sizes, four words a command (its function, bindings,
constants, tiles), and the addresses of the bindings."""

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

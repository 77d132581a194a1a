"""Code shared by the console scripts: standard streams, and messages for internal errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from ..ir.garbage_collection import collect_rarely
from .progress import shown_progress

Main = Callable[[Sequence[str], TextIO, TextIO, TextIO], int]
"""The entry point of a tool: `main(arguments, stdin, stdout, stderr) -> exit code`."""

STDOUT_CLOSED = "cannot write the output: the standard output is closed"

DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def is_for_console(problem: Exception) -> bool:
    """Return whether an exception concerns standard output, so that `run_console` reports it."""
    if isinstance(problem, BrokenPipeError):
        return True
    return isinstance(problem, OSError) and problem.errno in DISK_FULL


def run_console(main: Main) -> int:
    """Run a tool on the process's arguments and streams. Returns the exit code."""
    collect_rarely()
    if not open_streams():
        sys.stderr.write(f"{Path(sys.argv[0]).name}: {STDOUT_CLOSED}\n")
        return 1

    def run() -> int:
        with shown_progress(sys.stdout, sys.stderr) as streams:
            code = main(sys.argv[1:], sys.stdin, *streams)
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    return exit_code_of(run, Path(sys.argv[0]).name, sys.stderr)


def exit_at_once(code: int) -> NoReturn:
    """End the process after `run_console`.

    Destroying modules and IR would take longer than parsing a small program, and 0.4 s after the
    compilation of a transformer block.
    """
    os._exit(code)


def exit_code_of(run: Callable[[], int], tool: str, stderr: TextIO) -> int:
    """Return the exit code of a run; report that standard output cannot be written.

    Other exceptions except KeyboardInterrupt pass through unchanged.
    """
    try:
        return run()
    except BrokenPipeError:
        # The reader of the output closed the pipe.
        _drop_output()
        return 1
    except OSError as problem:
        if problem.errno not in DISK_FULL:
            raise
        stderr.write(f"{tool}: cannot write the output: {problem.strerror}\n")
        _drop_output()
        return 1
    except KeyboardInterrupt:
        return 130


def open_streams() -> bool:
    """Open missing standard streams (as after `>&-`) on the null device.

    Otherwise files opened later would get their descriptors. Returns whether there was a standard
    output.
    """
    has_output = sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    return has_output


def _drop_output() -> None:
    """Discard buffered standard output, so that flushing it at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fault_text(tool: str, fault: Exception) -> str:
    """Return the message for an exception that no input should cause."""
    from ..ir.foreign_code import exception_text, foreign_origin

    function = foreign_origin(fault)
    if function is not None:
        return f"{tool}: in {function}: {exception_text(fault)}; --debug shows where\n"
    shown = "; ".join((exception_text(fault), *getattr(fault, "__notes__", ())))
    return (
        f"{tool}: internal error: this is a bug in {tool}, not in the program "
        f"({shown}); --debug shows where\n"
    )

"""Print the last error of an MPI rank and abort all ranks."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import time
from array import array
from contextlib import suppress

from mpi4py import MPI

READING_SECONDS = 1.0
"""Seconds that the launcher gets to read a rank's output."""


def print_error(text: str) -> None:
    """Print an error message to standard error."""
    sys.stderr.write(text)
    sys.stderr.flush()


def abort(code: int) -> None:
    """Abort all ranks at once.

    The error has been printed already, so MPI's own message about the abort is suppressed.
    """
    _await_reader()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    MPI.COMM_WORLD.Abort(code)


def _await_reader() -> None:
    """Wait until the launcher has read all output, since an abort discards unread output."""
    deadline = time.monotonic() + READING_SECONDS
    for stream in (2, 1):
        unread = array("i", [1])
        with suppress(OSError):
            while unread[0] and time.monotonic() < deadline:
                fcntl.ioctl(stream, termios.FIONREAD, unread)
                time.sleep(0.01)

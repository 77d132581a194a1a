"""The last words of an MPI rank, and the end of all ranks."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import time
from array import array
from contextlib import suppress

from mpi4py import MPI

PATIENCE = 1.0
"""Seconds in which the launcher reads what a rank has said."""


def print_error(text: str) -> None:
    """Say what was wrong."""
    sys.stderr.write(text)
    sys.stderr.flush()


def abort(code: int) -> None:
    """End all ranks at once. What was wrong has been said: MPI need not add that it aborts."""
    _await_reader()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    MPI.COMM_WORLD.Abort(code)


def _await_reader() -> None:
    """Wait until the launcher has read all: at an abort it drops what is left in its pipe."""
    deadline = time.monotonic() + PATIENCE
    for stream in (2, 1):
        unread = array("i", [1])
        with suppress(OSError):
            while unread[0] and time.monotonic() < deadline:
                fcntl.ioctl(stream, termios.FIONREAD, unread)
                time.sleep(0.01)

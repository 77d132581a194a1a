"""Show long-running activities on a terminal, in one line that disappears before other output."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from ..ir.activity import listen_to_activities

QUIET_SECONDS = 2.0
"""Activities during the first seconds of the process are not shown."""

_INTERVAL = 0.1
_TURN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR = "\r\x1b[K"


class Progress:
    """Shows the current activity once the tool has run for longer than `quiet` seconds."""

    def __init__(self, stream: TextIO, quiet: float = QUIET_SECONDS) -> None:
        self._stream = stream
        self._begin = time.monotonic()
        self._quiet = quiet
        self._lock = threading.Lock()
        self._open: list[str] = []
        """The activities in progress; the last one is shown."""
        self._is_shown = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def begin(self, name: str) -> None:
        """Begin to show an activity."""
        with self._lock:
            self._open.append(name)
            if not self._thread.is_alive() and not self._is_over.is_set():
                self._thread.start()

    def end(self, name: str) -> None:
        """Stop showing an activity, on whichever thread it ran."""
        with self._lock:
            self._open.reverse()
            self._open.remove(name)
            self._open.reverse()
            if not self._open:
                self._hide()

    def hide(self) -> None:
        """Remove the line before other output."""
        with self._lock:
            self._hide()

    def close(self) -> None:
        """Stop showing activities."""
        self._is_over.set()
        self.hide()

    def _hide(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _run(self) -> None:
        turn = 0
        while not self._is_over.wait(_INTERVAL):
            with self._lock:
                seconds = time.monotonic() - self._begin
                if self._open and seconds >= self._quiet:
                    turn += 1
                    self._show(f"{_TURN[turn % len(_TURN)]} {seconds:.0f} s  {self._open[-1]}")

    def _show(self, line: str) -> None:
        self._stream.write(f"{_CLEAR}{line[: _columns(self._stream) - 1]}")
        self._stream.flush()
        self._is_shown = True


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class _ClearingStream:
    """A stream that removes the progress line before each write."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._inner = stream
        self._progress = progress

    def write(self, text: str) -> int:
        self._progress.hide()
        return self._inner.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@contextmanager
def shown_progress(
    stdout: TextIO, stderr: TextIO, quiet: float = QUIET_SECONDS
) -> Generator[tuple[TextIO, TextIO]]:
    """Yield the streams to write to while progress is shown; only shown if stderr is a terminal."""
    if not stderr.isatty() or (os.environ.get("TERM") or "dumb") == "dumb":
        yield stdout, stderr
        return
    progress = Progress(stderr, quiet)
    try:
        with listen_to_activities(progress):
            yield (
                cast(TextIO, _ClearingStream(stdout, progress)),
                cast(TextIO, _ClearingStream(stderr, progress)),
            )
    finally:
        progress.close()

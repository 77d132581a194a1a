"""What fuzz tests start from, and what they let an input take."""

from __future__ import annotations

import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from mesh_opt.ir.text.source import split_source

TESTS = Path(__file__).parents[1]
LONGEST_PROGRAM = 3000
SECONDS = 20
MEGABYTES = 3000
"""Address space, of which Python and what it has imported take a part."""


@cache
def programs() -> list[str]:
    """Every small program of the tests and examples."""
    paths = sorted([*TESTS.glob("lit/**/*.mlir"), *TESTS.glob("cases/**/*.mlir")])
    paths += sorted((TESTS.parent / "examples").glob("*.mlir"))
    return [
        piece.content
        for path in paths
        for piece in split_source(path.name, path.read_text(encoding="utf-8"))
        if 0 < len(piece.content) <= LONGEST_PROGRAM
    ]


@contextmanager
def limits(text: str) -> Generator[None]:
    """Fail with the input if reading it takes too much time or memory."""

    def stop(signum: int, frame: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, stop)
    memory = resource.getrlimit(resource.RLIMIT_AS)
    # What earlier tests in this process hold is not this input's.
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + (MEGABYTES << 20), memory[1]))
    signal.alarm(SECONDS)
    try:
        yield
    except TimeoutError:
        pytest.fail(f"more than {SECONDS} seconds for:\n{text}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        resource.setrlimit(resource.RLIMIT_AS, memory)

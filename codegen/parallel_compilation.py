"""Compile LLVM modules in parallel: in this thread, and in processes on the other cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import count
from threading import Lock, Thread

from ..ir.activity import activity
from ..runtime.abi.cores import available_cores
from ..runtime.abi.native_code import CPU_FEATURES, target_machine, target_platform
from ..runtime.abi.object_code import CompilerProcess, compile_ir

MIN_MODULES = 4
"""The least number of modules per process: fewer are compiled before the process has started."""

Text = Callable[[], str]
"""Returns the text of a module in LLVM IR."""

_writing = Lock()
"""Held while a text is written: modules of llvmlite share tables that are not safe for threads."""

_compiled = count(1)
"""Numbers the modules that this process compiles, for the display of activity."""


def compile_in_parallel(texts: Sequence[Text]) -> list[bytes]:
    """Return the object code of each module, for this machine."""
    found: list[bytes | None] = [None] * len(texts)
    left = list(reversed(range(len(texts))))
    processes = _processes(len(texts))
    feeders = [
        Thread(target=_feed, args=(each, texts, left, found), daemon=True) for each in processes
    ]
    machine = target_machine()
    try:
        for each in feeders:
            each.start()
        _compile(lambda text: compile_ir(machine, text), texts, left, found)
        for each in feeders:
            each.join()
    finally:
        for process in processes:
            process.close()
    # Modules that failed in another process are compiled again here, so that the error is raised in
    # this thread.
    return [
        compile_ir(machine, _written(texts[number])) if code is None else code
        for number, code in enumerate(found)
    ]


def _written(text: Text) -> str:
    with _writing:
        return text()


def _compile(
    compile: Callable[[str], bytes],
    texts: Sequence[Text],
    left: list[int],
    found: list[bytes | None],
) -> None:
    """Compile modules that no other thread has taken, until none is left."""
    while True:
        try:
            # `list.pop` is atomic, so that each number goes to one thread.
            number = left.pop()
        except IndexError:
            return
        with activity(f"compiling kernel {next(_compiled)}"):
            found[number] = compile(_written(texts[number]))


def _feed(
    process: CompilerProcess, texts: Sequence[Text], left: list[int], found: list[bytes | None]
) -> None:
    try:
        _compile(process.compile, texts, left, found)
    except Exception:
        # The calling thread compiles the modules that are missing.
        return


def _processes(modules: int) -> list[CompilerProcess]:
    """Start compiler processes: at most one for each core but this thread's."""
    if not sys.executable or "mpi4py.MPI" in sys.modules:
        # The other MPI ranks use the other cores.
        return []
    platform = target_platform()
    most = min(available_cores(), modules // MIN_MODULES + 1) - 1
    try:
        return [CompilerProcess(platform["CPU"], platform[CPU_FEATURES]) for _ in range(most)]
    except OSError:
        return []

"""Modules that are compiled side by side: by this thread, and by processes on the other cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import count
from threading import Thread

from ..ir.activity import activity
from ..runtime.abi.cores import available_cores
from ..runtime.abi.native_code import CPU_FEATURES, target_machine, target_platform
from ..runtime.abi.object_code import CompilerProcess, compile_ir

LEAST_MODULES = 4
"""Modules for each process: fewer are compiled before one has begun."""

Text = Callable[[], str]
"""Writes a module in LLVM IR."""

_compiled = count(1)
"""How many modules have been compiled in this process."""


def compile_side_by_side(texts: Sequence[Text]) -> list[bytes]:
    """The object code of modules for this machine."""
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
    # What a process has failed at says here why.
    return [
        compile_ir(machine, texts[number]()) if code is None else code
        for number, code in enumerate(found)
    ]


def _compile(
    compile: Callable[[str], bytes],
    texts: Sequence[Text],
    left: list[int],
    found: list[bytes | None],
) -> None:
    """Compile modules that nobody else has begun, until none is left."""
    while True:
        try:
            # Of several threads, one gets a number.
            number = left.pop()
        except IndexError:
            return
        with activity(f"compiling kernel {next(_compiled)}"):
            found[number] = compile(texts[number]())


def _feed(
    process: CompilerProcess, texts: Sequence[Text], left: list[int], found: list[bytes | None]
) -> None:
    try:
        _compile(process.compile, texts, left, found)
    except Exception:
        # Whoever waits for this thread compiles what is not there.
        return


def _processes(modules: int) -> list[CompilerProcess]:
    """As many processes as there are cores for, beside this one."""
    if not sys.executable or "mpi4py.MPI" in sys.modules:
        # Other ranks are at work on the cores.
        return []
    platform = target_platform()
    most = min(available_cores(), modules // LEAST_MODULES + 1) - 1
    try:
        return [CompilerProcess(platform["CPU"], platform[CPU_FEATURES]) for _ in range(most)]
    except OSError:
        return []

"""`mesh-run --ranks=N`: start the MPI ranks and forward their output."""

from __future__ import annotations

import ctypes
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import IO, TextIO

from ...ir.usage_error import UsageError
from ..command_line import names_option
from .ranks import END_VARIABLE, MPI, SIZES, process_file

_PR_SET_PDEATHSIG = 1

PATIENCE = 30.0
"""Seconds without a started rank after which the launcher is reported as stuck."""

_RULER = "=" * 60
"""The first line of MPICH's message about a dead process."""


def start_ranks(
    count: int, argv: Sequence[str], stdout: TextIO, stderr: TextIO, devices: int = 1
) -> int:
    """Run mesh-run with these arguments on `count` ranks with `devices` devices each.

    Returns the exit code. Raises UsageError if MPI is missing or this process is a rank itself.
    """
    if any(os.environ.get(name, "").isdecimal() for name in SIZES):
        raise UsageError(f"--ranks={count} starts ranks, but this process is one already")
    command = [find_launcher(count), "-n", str(count), sys.executable, "-P", "-m"]
    command += ["mesh_opt.tools.mesh_run", f"--backend={MPI}", *without_option(argv)]
    error_lines: list[str] = []
    deaths: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mesh-run-") as folder:
        end = Path(folder) / "end"
        watch = _Watch(end, count, stderr)
        code = _run(command, {END_VARIABLE: str(end)}, stdout, stderr, error_lines, deaths)
        first = watch.stop()
        has_ended = end.exists()
    if not error_lines and (code or not has_ended):
        why = deaths[0] if deaths else f"mpiexec ended with {code}"
        who = "a rank" if first is None else _rank_text(first, devices)
        stderr.write(f"mesh-run: {who} ended early, so all ranks ended: {why}\n")
    return code if code == 130 else int(code != 0 or not has_ended)


def _rank_text(rank: int, devices: int) -> str:
    """Return a description of a rank with its devices."""
    first = rank * devices
    of = f"device {first}" if devices == 1 else f"devices {first} to {first + devices - 1}"
    return f"rank {rank} ({of})"


class _Watch:
    """Watches the processes of the ranks on Linux: whether they start, and which ends first."""

    def __init__(self, end: Path, count: int, stderr: TextIO) -> None:
        self._stderr = stderr
        self._files = {process_file(end, rank): rank for rank in range(count)}
        self._first: list[int] = []
        self._is_over = False
        self._thread = Thread(target=self._watch, daemon=True)
        if sys.platform == "linux":
            self._thread.start()

    def stop(self) -> int | None:
        """Stop watching; return the rank that ended before all others, if exactly one was seen."""
        self._is_over = True
        if self._thread.ident is not None:
            self._thread.join()
        return self._first[0] if len(self._first) == 1 else None

    def _watch(self) -> None:
        files, ranks = dict(self._files), dict[int, int]()
        poll, late = select.poll(), time.monotonic() + PATIENCE
        try:
            while not self._first and not self._is_over:
                for file in [each for each in files if each.exists()]:
                    # An empty file is not written yet and is read again.
                    if text := file.read_text():
                        ranks[os.pidfd_open(int(text))] = files[file]
                        poll.register(next(reversed(ranks)), select.POLLIN)
                        del files[file]
                self._first = [ranks[each] for each, _ in poll.poll(20)]
                if not ranks and time.monotonic() > late:
                    late = math.inf
                    self._stderr.write(
                        f"mesh-run: mpiexec has started no rank for {PATIENCE:g} s: does"
                        f" `mpiexec -n {len(files)} hostname` end? It is still waited for\n"
                    )
        except OSError:
            # The process has ended already, or the system has no process file descriptors.
            return
        finally:
            for each in ranks:
                os.close(each)


def _run(
    command: Sequence[str],
    variables: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
    error_lines: list[str],
    deaths: list[str],
) -> int:
    """Run mpiexec and return its exit code.

    `error_lines` receives the lines of standard error, `deaths` MPICH's reasons for dead processes.
    """
    if current_thread() is main_thread():
        # The `finally` below terminates the ranks.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **variables},
        # The child only calls a function of C, which needs no lock that another thread may hold.
        preexec_fn=_end_with_parent(),  # noqa: PLW1509
    )
    assert process.stdout is not None and process.stderr is not None
    errors = Thread(target=_pass_errors, args=(process.stderr, stderr, error_lines), daemon=True)
    errors.start()
    try:
        _pass_output(process.stdout, stdout, deaths)
        errors.join()
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def _end_with_parent() -> Callable[[], object] | None:
    """Return what makes Linux terminate a new process when its parent dies."""
    if sys.platform != "linux":
        return None
    return partial(ctypes.CDLL(None).prctl, _PR_SET_PDEATHSIG, int(signal.SIGTERM))


def find_launcher(count: int) -> str:
    """Return the mpiexec of this Python's environment or on the PATH. Raises UsageError."""
    install = "pip install 'mesh-opt[mpi]' installs MPICH and mpi4py"
    if find_spec("mpi4py") is None:
        raise UsageError(f"--ranks={count} needs mpi4py, which is not installed: {install}")
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise UsageError(
            f"--ranks={count} needs mpiexec, which is neither in {beside.parent} nor on the PATH:"
            f" {install}"
        )
    return found


def without_option(argv: Sequence[str]) -> list[str]:
    """Return the arguments without `--ranks` and `--backend`."""
    found: list[str] = []
    rest = iter(argv)
    for word in rest:
        if not (names_option(word, "ranks") or names_option(word, "backend")):
            found.append(word)
        elif "=" not in word:
            next(rest, None)
    return found


def _pass_output(source: IO[str], target: TextIO, deaths: list[str]) -> None:
    """Forward the output of the ranks, without MPICH's messages about dead processes."""
    blank = ""
    for line in source:
        if line.startswith(_RULER):
            following = next(source, "")
            if "BAD TERMINATION" in following:
                deaths += [
                    each.partition("EXIT STRING:")[2].strip()
                    for each in source
                    if "EXIT STRING:" in each
                ]
                return
            target.write(blank + line + following)
            blank = ""
        elif line == "\n":
            # MPICH's message starts with an empty line.
            blank += line
            continue
        else:
            target.write(blank + line)
            blank = ""
        target.flush()
    target.write(blank)


def _pass_errors(source: IO[str], target: TextIO, error_lines: list[str]) -> None:
    for line in source:
        error_lines.append(line)
        target.write(line)
        target.flush()

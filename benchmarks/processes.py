"""Other processes of benchmarks: peers that answer requests line by line, and MPI ranks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Peer:
    """A process that runs a module of this folder, which answers each line with a line."""

    def __init__(self, python: str | None, module: str, *words: str) -> None:
        """Start the module in a Python; with `None` every answer is `failed`."""
        self._process = None
        if python:
            command = [python, "-m", f"benchmarks.{module}", *words]
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def ask(self, *words: object) -> str:
        """Return the answer to a request."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return "failed"
        print(*words, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()


def run_ranks(count: int, module: str, *words: str) -> str:
    """Run a module of this folder on MPI ranks; return what they print."""
    launcher = Path(sys.prefix) / "bin" / "mpiexec"
    python = [sys.executable, "-m", "mpi4py", "-m", f"benchmarks.{module}"]
    command = [str(launcher), "-n", str(count), *python, *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout

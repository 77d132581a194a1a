"""Runs scripts in forks of one process that has imported what they all import.

PyTorch and what it loads at its first export take ten seconds, JAX and mesh-opt two. A fork has no
threads but its own: what is imported before must not need others.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile

SERVER = """
import json, os, sys, traceback

def run(script, *paths):
    code = 1
    try:
        for number, path in enumerate(paths, 1):
            os.dup2(os.open(path, os.O_WRONLY), number)
        exec(compile(script, "<string>", "exec"), globals())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

exec(json.loads(sys.stdin.readline()), {})
for line in sys.stdin:
    child = os.fork()
    if not child:
        run(*json.loads(line))
    print(os.waitpid(child, 0)[1], flush=True)
"""


class ScriptServer:
    """A process of a Python that has run `preload`; `run` runs a script in a fork of it."""

    def __init__(self, python: str, preload: str) -> None:
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [python, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._send(preload)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def run(self, script: str) -> str:
        """Return what a script prints; it must not fail."""
        assert self._process.stdout is not None
        with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as errors:
            self._send([script, output.name, errors.name])
            status = self._process.stdout.readline().strip()
            assert status == "0", errors.read().decode(errors="replace")[-2000:] or status
            return output.read().decode()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

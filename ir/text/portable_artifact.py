"""Read portable artifacts of StableHLO: bytecode of its versioned dialect.

`jax.export` writes them, and jaxlib reads them. Hostile files can crash it, so it runs in a process
of its own.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from ..usage_error import UsageError

_READ = """
import sys
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo
context = ir.Context()
# Shardings are stored in their own dialect.
sdy.register_dialect(context)
module = stablehlo.deserialize_portable_artifact(context, sys.stdin.buffer.read())
sys.stdout.write(module.operation.get_asm(enable_debug_info=True))
"""


def is_portable_artifact(data: bytes) -> bool:
    """Return whether bytecode was written by StableHLO; its producer's name is at the start."""
    return b"StableHLO" in data[:64]


def text_of_artifact(data: bytes, name: str, advice: str) -> str:
    """Return the text of a portable artifact, with its locations.

    Raises UsageError if jaxlib is not installed, with `advice`, or cannot read the artifact.
    """
    if find_spec("jaxlib") is None or not sys.executable:
        raise UsageError(
            f"'{name}' is a portable artifact of StableHLO, which is read by jaxlib: install"
            f" mesh-opt[jax]; or {advice}"
        )
    # `-P`: nothing is imported from the current folder.
    command = [sys.executable, "-P", "-c", _READ]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
    except OSError as problem:
        raise UsageError(f"cannot read '{name}' by jaxlib: {problem.strerror}") from problem
    if done.returncode:
        raise UsageError(f"cannot read '{name}' by jaxlib: {_reason(done)}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the error that jaxlib reported in a process that failed."""
    if done.returncode < 0:
        return f"it crashed (signal {-done.returncode})"
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    found = (line.partition("error: ")[2] for line in lines if "error: " in line)
    return next(found, lines[-1] if lines else f"exit code {done.returncode}")

"""Runs of tools inside of the test's process."""

from __future__ import annotations

import io

from mesh_opt.tools.mesh_run import main


def mesh_run(*arguments: str) -> tuple[int, str, str]:
    """The exit code, and what went to standard output and standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(arguments, io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()

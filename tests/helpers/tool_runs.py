"""Runs of tools inside the test's process."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from mesh_opt.tools import mesh_opt as opt_tool
from mesh_opt.tools import mesh_run as run_tool

Result = tuple[int, str, str]
"""The exit code, and what went to standard output and standard error."""


def result_of(
    main: Callable[..., int], arguments: Sequence[str], text: str = "", **more: Any
) -> Result:
    """Run a tool with `text` as standard input. It shows no traceback unless `--debug` is given."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main(arguments, io.StringIO(text), stdout, stderr, **more)
    assert "Traceback" not in stderr.getvalue() or "--debug" in arguments, stderr.getvalue()
    return code, stdout.getvalue(), stderr.getvalue()


def mesh_opt(*arguments: str, text: str = "") -> Result:
    return result_of(opt_tool.main, arguments, text)


def mesh_run(*arguments: str, text: str = "") -> Result:
    return result_of(run_tool.main, arguments, text)


def printed(*arguments: str, text: str = "") -> str:
    """What mesh-opt prints; it must not fail."""
    code, output, errors = mesh_opt(*arguments, text=text)
    assert code == 0, errors
    return output

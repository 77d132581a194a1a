"""StableHLO programs that check their results themselves, run by mesh-run."""

from __future__ import annotations

from tool_runs import mesh_run


def run(text: str, *options: str) -> tuple[int, str]:
    """The exit code, and what is written to standard error."""
    code, _, errors = mesh_run("-", *options, text=text)
    return code, errors

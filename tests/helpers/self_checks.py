"""StableHLO programs that check their results themselves, run by mesh-run."""

from __future__ import annotations

import io

from mesh_opt.tools.mesh_run import main


def run(text: str, *options: str) -> tuple[int, str]:
    """The exit code, and what is written to standard error."""
    errors = io.StringIO()
    code = main(["-", *options], io.StringIO(text), io.StringIO(), errors)
    return code, errors.getvalue()

"""A test format for LLVM's `lit` that runs RUN lines in the worker process; see `lit_run_lines`.

`lit --param shell=1 tests/lit` uses a real shell and processes instead, to check that RUN lines are
valid.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import lit.Test  # pyright: ignore[reportMissingTypeStubs]
from lit.formats.base import FileBasedTest  # pyright: ignore[reportMissingTypeStubs]

from .lit_run_lines import run_test


class RunLinesTest(FileBasedTest):
    """One test per file. It passes if every RUN line does."""

    def execute(self, test: Any, litConfig: Any) -> tuple[Any, str]:
        """Run one test file; called by lit."""
        shell = litConfig.params.get("shell", "0") not in ("0", "false")
        with tempfile.TemporaryDirectory(prefix="mesh-opt-lit-") as folder:
            outcome = run_test(Path(test.getSourcePath()), Path(folder), shell=shell)
        return (lit.Test.PASS if outcome.passed else lit.Test.FAIL), outcome.report

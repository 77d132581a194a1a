"""A format for LLVM's `lit` that runs RUN lines inside the worker; see `run_lines`.

`lit --param shell=1 tests/lit` starts real processes instead, so that RUN lines stay honest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import lit.Test  # pyright: ignore[reportMissingTypeStubs]
from lit.formats.base import FileBasedTest  # pyright: ignore[reportMissingTypeStubs]

from .run_lines import run_test


class RunLinesTest(FileBasedTest):
    """One test a file; passes if every RUN line does."""

    def execute(self, test: Any, litConfig: Any) -> tuple[Any, str]:
        """Run one test file, as lit asks for it."""
        shell = litConfig.params.get("shell", "0") not in ("0", "false")
        with tempfile.TemporaryDirectory(prefix="mesh-opt-lit-") as folder:
            outcome = run_test(Path(test.getSourcePath()), Path(folder), shell=shell)
        return (lit.Test.PASS if outcome.passed else lit.Test.FAIL), outcome.report

"""Lets pytest collect the lit files: one test a file, run inside this process.

`pytest tests/lit --shell` starts the commands of the RUN lines as real processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mesh_opt.tools.lit_run_lines import run_test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shell", action="store_true", help="run RUN lines as real processes")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and Path(__file__).parent in file_path.parents:
        return LitFile.from_parent(parent, path=file_path)
    return None


class LitFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield LitTest.from_parent(self, name="RUN")


class LitFailure(Exception):
    """The report of a RUN line that failed."""


class LitTest(pytest.Item):
    def runtest(self) -> None:
        folders = self.config._tmp_path_factory
        folder = folders.mktemp(self.path.stem[:40], numbered=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MESH_OPT_VERIFY_EACH", "1")
            outcome = run_test(self.path, folder, shell=self.config.getoption("--shell"))
        if not outcome.passed:
            raise LitFailure(outcome.report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style=None) -> str:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, str(self.path.relative_to(Path(__file__).parent))

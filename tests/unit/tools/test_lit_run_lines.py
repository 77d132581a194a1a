"""RUN lines in this process do what a shell would do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from breadth import is_sampled
from mesh_opt.tools.lit_run_lines import run_script, run_test, substitute

PROGRAM = "func.func @f() {\n  return\n}\n"


def write(folder: Path, *lines: str, program: str = PROGRAM) -> Path:
    path = folder / "test.mlir"
    path.write_text("".join(f"// RUN: {line}\n" for line in lines) + program)
    return path


def test_lines_go_on_after_a_backslash(tmp_path: Path) -> None:
    path = write(tmp_path, "mesh-opt %s \\", "  | cat", "true")
    assert run_script(path) == ["mesh-opt %s | cat", "true"]


def test_substitutions() -> None:
    names = {"%s": "/a/b.mlir", "%S": "/a", "%t": "/b/x", "%%": "%"}
    assert substitute("f %s %S/c %t.out %% %shape", names) == "f /a/b.mlir /a/c /b/x.out % %shape"


LINES = [
    (["mesh-opt %s | filecheck %s"], True),
    (["mesh-opt %s | filecheck %s --check-prefix=WRONG"], False),
    (["not mesh-opt %s --no-such-option"], True),
    (["not mesh-opt %s"], False),
    (["mesh-opt %s -o %t", "filecheck %s --input-file=%t"], True),
    (["mesh-opt %s > %t && filecheck %s --input-file=%t"], True),
    (["mesh-opt %s > %t", "cat %t >> %t.two", "cat %t.two | filecheck %s"], True),
    (["mesh-opt --nonsense %s 2>&1 | filecheck %s --check-prefix=ERR"], False),
    (["not mesh-opt --nonsense %s 2>&1 | filecheck %s --check-prefix=ERR"], True),
    (["not mesh-opt --nonsense %s 2> %t", "filecheck %s --check-prefix=ERR < %t"], True),
    (["not mesh-opt --nonsense %s 2>&1 >/dev/null | filecheck %s --check-prefix=ERR"], True),
    (["echo 'a | b' | filecheck %s --check-prefix=PIPE"], True),
    (["true && false"], False),
    (["false ; true"], False),
    (["no-such-program %s"], False),
    (["VALUE=seven sh -c 'echo $VALUE' | filecheck %s --check-prefix=ENV"], True),
]

CHECKS = """
// CHECK: func.func @f
// WRONG: func.func @g
// ERR: no option or pass '--nonsense'
// PIPE: a | b
// ENV: seven
"""


@pytest.mark.parametrize(("lines", "passes"), LINES)
def test_like_a_shell(lines: list[str], passes: bool, tmp_path: Path) -> None:
    path = write(tmp_path, *lines, program=CHECKS + PROGRAM)
    outcome = run_test(path, tmp_path / "in")
    assert outcome.passed is passes, outcome.report
    # A shell goes on after `;`, a test stops.
    if is_sampled(LINES.index((lines, passes)), 3) and lines != ["false ; true"]:
        assert run_test(path, tmp_path / "out", shell=True).passed is passes


def test_tests_outside_of_the_repository(tmp_path: Path) -> None:
    """The configuration that docs/extending.md shows is enough for LLVM's lit."""
    page = (Path(__file__).parents[3] / "docs" / "extending.md").read_text(encoding="utf-8")
    (config,) = (
        code
        for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        if "RunLinesTest" in code
    )
    (tmp_path / "lit.cfg.py").write_text(config, encoding="utf-8")
    write(tmp_path, "mesh-opt %s | filecheck %s", program="// CHECK: @f\n" + PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-v", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "PASS: acme :: test.mlir" in done.stdout, done.stdout


def test_no_run_line_is_a_failure(tmp_path: Path) -> None:
    assert not run_test(write(tmp_path), tmp_path / "in").passed


def test_report_tells_the_command_and_its_errors(tmp_path: Path) -> None:
    report = run_test(write(tmp_path, "mesh-opt %s --nonsense"), tmp_path / "in").report
    assert "RUN: mesh-opt" in report
    assert "no option or pass '--nonsense'" in report

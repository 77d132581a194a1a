"""What takes long is told on a terminal, and nowhere else."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mesh_opt.ir.activity import activity
from mesh_opt.tools.progress import shown_progress

ROOT = Path(__file__).parents[3]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(stream: io.StringIO, part: str) -> None:
    end = time.monotonic() + 20
    while part not in stream.getvalue():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_the_innermost_is_shown_and_goes() -> None:
    terminal = Terminal()
    shown = shown_progress(io.StringIO(), terminal, quiet=0)
    with shown as (_, stderr), activity("running @f"):
        with activity("compiling kernel 7"):
            wait_for(terminal, "s  compiling kernel 7")
        wait_for(terminal, "s  running @f")
        stderr.write("remark: x\n")
        assert "\r\x1b[Kremark: x\n" in terminal.getvalue()
        assert stderr.isatty()
    time.sleep(0.3)
    assert terminal.getvalue().endswith(("\r\x1b[K", "remark: x\n"))


def test_output_is_not_mixed_with_it() -> None:
    terminal, output = Terminal(), Terminal()
    with shown_progress(output, terminal, quiet=0) as (stdout, _), activity("running @f"):
        wait_for(terminal, "running @f")
        stdout.write("result")
        assert terminal.getvalue().endswith("\r\x1b[K")
    assert output.getvalue() == "result"


def test_short_tasks_print_nothing() -> None:
    terminal = Terminal()
    with shown_progress(io.StringIO(), terminal), activity("running @f"):
        time.sleep(0.3)
    assert not terminal.getvalue()


@pytest.mark.parametrize("term", ["dumb", ""])
def test_nothing_where_it_cannot_be_shown(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for stderr in (io.StringIO(), Terminal()):
        if stderr.isatty():
            monkeypatch.setenv("TERM", term)
        with shown_progress(io.StringIO(), stderr, quiet=0) as (_, given), activity("x"):
            assert given is stderr
            time.sleep(0.2)
        assert not stderr.getvalue()


CODE = """
import sys
import mesh_opt.tools.progress as progress
progress.QUIET_SECONDS, progress._INTERVAL = 0.0, 0.01
progress.shown_progress.__wrapped__.__defaults__ = (0.0,)
from mesh_opt.tools.mesh_opt import main
from mesh_opt.tools.console import run_console
sys.exit(run_console(main))
"""


def test_passes_are_told_on_a_terminal() -> None:
    program = str(ROOT / "examples" / "mlp_dp_tp.mlir")
    arguments = [sys.executable, "-c", CODE, program, "--spmd", "-o", os.devnull]
    leader, follower = pty.openpty()
    with subprocess.Popen(arguments, stderr=follower) as process:
        os.close(follower)
        told = b""
        with suppress(OSError):  # The terminal has no other side any more.
            while part := os.read(leader, 4096):
                told += part
    os.close(leader)
    assert process.returncode == 0
    assert re.search(rb"\r\x1b\[K\S+ \d s  (?:pass |reading )", told)
    assert told.endswith(b"\r\x1b[K")
    plain = subprocess.run(arguments, capture_output=True, check=False)
    assert plain.returncode == 0 and not plain.stderr

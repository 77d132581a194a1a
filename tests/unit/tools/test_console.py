"""A reader of our output that has gone is not a fault of ours."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from mesh_opt.tools import mesh_opt, mesh_run
from mesh_opt.tools.console import run_console

PROGRAM = "func.func @f() -> i32 { %0 = arith.constant 7 : i32 func.return %0 : i32 }"


class _Gone(io.StringIO):
    def write(self, s: str, /) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("main", [mesh_opt.main, mesh_run.main])
def test_a_broken_pipe_is_for_the_console(main: Callable[..., int]) -> None:
    stderr = io.StringIO()
    with pytest.raises(BrokenPipeError):
        main(["-"], io.StringIO(PROGRAM), _Gone(), stderr)
    assert not stderr.getvalue()


def test_the_console_on_an_interruption() -> None:
    def main(*_: object) -> int:
        raise KeyboardInterrupt

    assert run_console(main) == 130

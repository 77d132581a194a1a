"""A reader of our output that has gone is not a fault of ours."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from mesh_opt.tools import mesh_opt, mesh_run
from mesh_opt.tools.console import run_console
from mesh_opt.tools.run.ranks import runs_on_ranks

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


@pytest.mark.parametrize(
    ("arguments", "ranks", "expected"),
    [
        ("a.mlir --backend=mpi", "", True),
        ("a.mlir --backend mpi --wrong", "", True),
        ("a.mlir", "4", True),
        ("a.mlir", "1", False),
        ("a.mlir", "", False),
        ("", "", False),
        ("a.mlir --backend=native", "4", True),
        ("a.mlir --backend=native", "", False),
        ("--backend=mpi --backend=interpreter", "", False),
        ("-backend=mpi", "", True),
        ("-backend mpi --backend=native", "", False),
    ],
)
def test_who_runs_on_ranks(
    arguments: str, ranks: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMI_SIZE", ranks)
    assert runs_on_ranks(arguments.split()) == expected


def test_the_console_on_an_interruption() -> None:
    def main(*_: object) -> int:
        raise KeyboardInterrupt

    assert run_console(main) == 130

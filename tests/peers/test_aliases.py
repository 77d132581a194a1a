"""Aliases have the names, numbers and definitions that mlir-opt gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tool_runs import printed

CASES = Path(__file__).parent.parent / "cases"
FILES = [CASES / f"models/{name}.mlir" for name in ("mlp", "transformer_block")]


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_definitions(path: Path, generic: bool, mlir_opt: Callable[..., str]) -> None:
    text = path.read_text(encoding="utf-8")
    options = ["--mlir-print-op-generic"] if generic else []
    both = printed(*options, text=text), mlir_opt(text, *options)
    ours, theirs = map(_definitions, both)
    assert ours
    assert ours == theirs


def _definitions(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]

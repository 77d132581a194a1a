"""Tensor programs there and back through mlir-opt, both spellings, without any change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import sampled
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verify
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp

TESTS = Path(__file__).parents[1]

PROGRAMS = [
    *sampled(sorted((TESTS / "cases" / "shard").glob("*.mlir")), 2),
    *sorted((TESTS / "cases" / "models").glob("*.mlir")),
    *(
        path
        for dialect in ("arith", "linalg", "sdy", "tensor", "tosa")
        for path in sorted((TESTS / "lit" / "dialects" / dialect).glob("*.mlir"))
        if not path.name.startswith("invalid")
    ),
]

REFUSED_HERE = {"70_axis_out_of_range.mlir"}
"""Programs that mlir-opt lets pass and we do not: their shardings cannot mean anything."""

COMPARED = [path for path in PROGRAMS if path.name not in REFUSED_HERE]

SPLIT = "// -----\n"
OPTIONS = ("--allow-unregistered-dialect", "--split-input-file")

UNKNOWN_THERE = ("sdy.",)
"""Dialects that mlir-opt reads in the generic form only."""

IGNORED = "linalg.memoized_indexing_maps"
"""An attribute in which mlir-opt remembers what follows from the others."""


def read(text: str) -> ModuleOp:
    module = parse_module(new_context(), Source(text, "test"))
    verify(module)
    for operation in module.walk():
        operation.attributes.pop(IGNORED, None)
    return module


@pytest.fixture(scope="module")
def answers(mlir_opt: Callable[..., str]) -> dict[Path, list[str]]:
    """What mlir-opt makes of each program, in all spellings; it is started twice in all."""
    texts: list[tuple[Path, str]] = []
    for path in COMPARED:
        module = read(path.read_text())
        foreign = any(op.name.startswith(UNKNOWN_THERE) for op in module.walk())
        for generic in (True,) if foreign else (False, True):
            texts.append((path, print_operation(module, generic=generic) + "\n"))
    found: dict[Path, list[str]] = {path: [] for path in COMPARED}
    for options in ((), ("--mlir-print-op-generic",)):
        printed = mlir_opt(SPLIT.join(text for _, text in texts), *OPTIONS, *options).split(SPLIT)
        for (path, _), answer in zip(texts, printed, strict=True):
            found[path].append(answer)
    return found


@pytest.mark.parametrize("path", COMPARED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_unchanged(path: Path, answers: dict[Path, list[str]]) -> None:
    module = read(path.read_text())
    for answer in map(read, answers[path]):
        assert module.is_structurally_equivalent(answer), print_operation(answer)


@pytest.mark.parametrize(
    "path", sampled(PROGRAMS, 2, 1), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_own_text_is_read_back(path: Path) -> None:
    if path.name in REFUSED_HERE:
        pytest.skip("refused here, rightly")
    module = read(path.read_text())
    for generic in (False, True):
        text = print_operation(module, generic=generic)
        again = read(text)
        assert module.is_structurally_equivalent(again)
        assert print_operation(again, generic=generic) == text

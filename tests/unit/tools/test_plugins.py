"""Dialects of other packages: the example's, found through its entry points."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.tools import plugins
from tool_runs import mesh_opt

EXAMPLE = Path(__file__).parents[3] / "examples" / "third_party"
LAYOUT = EXAMPLE / "layout.mlir"
PROGRAM = EXAMPLE / "program.mlir"
UNIVERSE = EntryPoint("acme", "acme.universe:UNIVERSE", plugins.UNIVERSES)
DIALECT = EntryPoint("acme", "acme.dialect:Acme", plugins.ENTRY_POINT_GROUP)


def _run(*arguments: str, program: Path | str = LAYOUT) -> tuple[int, str, str]:
    name, text = (str(program), "") if isinstance(program, Path) else ("-", program)
    return mesh_opt(name, *arguments, text=text)


@pytest.fixture(params=[UNIVERSE])
def installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """As if the example were installed."""
    entry, real = request.param, importlib.metadata.entry_points

    def entry_points(**selection: str) -> Sequence[EntryPoint]:
        if selection.get("group") not in (plugins.ENTRY_POINT_GROUP, plugins.UNIVERSES):
            return real(**selection)
        return [entry] if selection["group"] == entry.group else []

    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(plugins, "without_plugin", set())
    plugins.universes.cache_clear()
    yield
    plugins.universes.cache_clear()


@pytest.mark.parametrize("installed", [UNIVERSE, DIALECT], indirect=True)
@pytest.mark.usefixtures("installed")
def test_solver_of_another_package() -> None:
    code, output, errors = _run("--specialize-encodings")
    assert code == 0, errors
    assert "#encoding = #iree_encoding.layout<[#acme.layout<{innerDimsPos =" in output
    code, output, errors = _run("--specialize-encodings", "--encode-host-tensors")
    assert code == 0, errors
    assert f"arith.constant {24 * 40 * 4} : index" in output


def test_a_dialect_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    monkeypatch.setattr(plugins, "without_plugin", set())
    code, _, errors = _run()
    assert code == 1 and "unknown attribute '#acme.solver'" in errors


def test_the_example_announces_what_is_tested() -> None:
    text = (EXAMPLE / "pyproject.toml").read_text()
    announced = f'[project.entry-points."{UNIVERSE.group}"]\n{UNIVERSE.name} = "{UNIVERSE.value}"\n'
    assert announced in text


@pytest.mark.usefixtures("installed")
def test_the_example_is_split_lowered_and_laid_out() -> None:
    code, output, errors = _run("--spmd", program=PROGRAM)
    assert code == 0, errors
    # The handler adds where the shard begins; the rule's partial sums are added up.
    assert "acme.add_positions %x from %first" not in output
    assert "shard.all_reduce %e on @g grid_axes = [0] : tensor<17xf32>" in output
    code, output, errors = _run("-p", PIPELINE, program=PROGRAM)
    assert code == 0, errors
    assert "acme.row_energy" not in output
    # 17 rows of 40 in tiles of 8x8.
    assert "tensor<3x5x8x8xf32>" in output


PIPELINE = "spmd,convert-acme-to-linalg,data-tile"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("pipeline", ["spmd", PIPELINE])
def test_the_example_computes_what_it_says(pipeline: str) -> None:
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape, np.float32) for shape in ((17, 40), (40, 33)))
    program = compile(PROGRAM, pipeline)["main"]
    positions = np.arange(1, 18, dtype=np.float32)[:, None]
    expected = (((x + positions) @ w) ** 2).sum(1)
    for backend in ("interpreter", "native"):
        (found,) = program.run([x, w], backend)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


WRONG = {
    "add_positions %x from %n : tensor<2x3xf32> -> tensor<3x2xf32>": (
        "expected a result of type tensor<2x3xf32>, as the operand, found tensor<3x2xf32>"
    ),
    "row_energy %x : tensor<2x3xf32> -> tensor<3xf32>": (
        "expected one number for each row, tensor<2xf32>, found tensor<3xf32>"
    ),
}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("operation", WRONG)
def test_the_verifiers_of_the_example(operation: str) -> None:
    text = "func.func @f(%x: tensor<2x3xf32>, %n: index) {{\n%r = acme.{}\nreturn\n}}"
    code, _, errors = _run(program=text.format(operation))
    assert code == 1
    assert errors.startswith(f"<stdin>:2:6: error: 'acme.{operation.split(maxsplit=1)[0]}' op ")
    assert WRONG[operation] in errors

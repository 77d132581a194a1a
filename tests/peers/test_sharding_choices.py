"""On small JAX programs we send no more than the better of Shardy and XLA, for no more work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mesh_opt.benchmarks.sharding_choices import of_peers, our_figures

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "jax_programs.py"
FEWER = {"block_seqpar", "mlp_fsdp", "attn_x_hidden"}


@pytest.fixture(scope="module")
def figures(peers_python: Callable[[str], str]) -> dict[str, dict[str, str | float]]:
    path = str(SCRIPT)
    script = f"import runpy, sys; sys.argv = ['', '64']; runpy.run_path({path!r}, None, '__main__')"
    return json.loads(peers_python(script))


def test_all_programs_are_there(figures: dict[str, dict[str, str | float]]) -> None:
    names = {key.partition("/")[0] for key in figures}
    assert len(names) == 33
    assert names > FEWER


def test_no_program_sends_more(figures: dict[str, dict[str, str | float]]) -> None:
    for key, found in figures.items():
        name = key.partition("/")[0]
        peers = of_peers(found)
        ours = our_figures(str(found["linalg"]))
        assert ours.no_worse(peers), (name, ours, peers)
        if name in FEWER:
            assert ours.kibibytes < min(each.kibibytes for each in peers) * 0.999, (name, ours)

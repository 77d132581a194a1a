"""The tables of passes and dialects name what is there, and passes are named as their classes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mesh_opt.dialects.registry import OWN_DIALECTS
from mesh_opt.passes.registry import OWN_PASSES
from xdsl.passes import ModulePass

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("name", OWN_DIALECTS)
def test_dialect(name: str) -> None:
    assert OWN_DIALECTS[name]().name == name


@pytest.mark.parametrize("name", OWN_PASSES)
def test_pass(name: str) -> None:
    """A pass is named as its class; IREE's names have a prefix that says the stage."""
    found = OWN_PASSES[name]()
    assert issubclass(found, ModulePass)
    assert found.name in OWN_PASSES
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", found.__name__.removesuffix("Pass")).lower()
    assert found.name.endswith(words)


@pytest.mark.parametrize("name", OWN_PASSES)
def test_every_pass_has_a_lit_file(name: str) -> None:
    module = OWN_PASSES[name]().__module__.split(".")[1:]
    assert TESTS.joinpath("lit", *module).with_suffix(".mlir").exists()

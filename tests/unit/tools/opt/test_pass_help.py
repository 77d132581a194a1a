"""What passes say of themselves: lists, and the help of one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import pytest
from mesh_opt.ir.usage_error import UsageError
from mesh_opt.passes.manager.named_pipeline import NamedPipeline
from mesh_opt.passes.registry import ALIASES, OWN_PASSES, all_passes
from mesh_opt.tools.opt.help import help_pass, list_passes, list_pipelines
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Described(ModulePass):
    """Does something to a
    program. And more.

    A second paragraph.
    """

    name = "described"

    grid: str
    """The grid
    to use."""

    way: Literal["up", "down"] = "up"

    sizes: tuple[int, ...] = field(default=())

    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class Silent(ModulePass):
    name = "silent"

    flag: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


TABLE = {"described": lambda: Described, "silent": lambda: Silent}


def test_help_of_a_pass() -> None:
    assert help_pass("described", TABLE) == (
        "described: Does something to a program.\n\n"
        "And more.\n\n"
        "A second paragraph.\n\n"
        "Options:\n"
        "  grid: text\n"
        "      The grid to use.\n"
        "  way: 'up' or 'down', by default up\n"
        "  sizes: a list of an integer, by default []\n"
        "  limit: an integer, by default none\n"
    )


def test_help_of_a_pass_without_docstring() -> None:
    text = (
        "silent: a pass without description\n\nOptions:\n  flag: true or false, by default false\n"
    )
    assert help_pass("silent", TABLE) == text


def test_unknown_pass() -> None:
    with pytest.raises(UsageError, match="there is no pass 'silen'; did you mean 'silent'"):
        help_pass("silen", TABLE)


def test_aliases_lead_to_the_pass() -> None:
    table = all_passes()
    text = help_pass("propagate-encodings", table)
    assert text == help_pass("iree-dispatch-creation-propagate-encodings", table)
    assert "Other names: propagate-encodings\n" in text


@pytest.mark.parametrize("name", sorted(OWN_PASSES.keys() - ALIASES.keys()))
def test_our_passes_describe_themselves(name: str) -> None:
    """A sentence for each pass, and one for each option."""
    text = help_pass(name, OWN_PASSES)
    assert "without description" not in text
    _, _, options = text.partition("Options:\n")
    options = options.partition("\n\nRuns:")[0]
    lines = options.splitlines()
    for line, below in pairwise([*lines, ""]):
        if line.startswith("  ") and line[2] != " ":
            assert below.startswith("      "), f"{name}: no docstring below {line.strip()}"


def test_passes_are_listed_in_lines() -> None:
    own, others = list_passes(all_passes()).split("\nPasses of xDSL and of other packages:\n")
    rows = own.splitlines()[2:]
    names = [row.split()[0] for row in rows]
    assert names == sorted(OWN_PASSES.keys() - ALIASES.keys())
    (partition,) = (row for row in rows if "  shard-partition " in row)
    assert partition.endswith("device. {abi=local} (also mesh-spmdization)")
    assert "\n  licm\n" in others and "shard-partition" not in others


def test_pipelines_are_listed_with_their_passes() -> None:
    text = list_pipelines()
    blocks = dict(block.split(":", 1) for block in text.split("\n\n")[1:])
    assert sorted(blocks) == ["compile", "convert-stream-to-hal", "data-tile", "spmd"]
    for name, block in blocks.items():
        listed = [line.split()[0] for line in block.splitlines()[1:]]
        pipeline = OWN_PASSES[name]()()
        assert isinstance(pipeline, NamedPipeline)
        assert listed == [stage.name for stage in pipeline.passes()]

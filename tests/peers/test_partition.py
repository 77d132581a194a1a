"""mlir-opt reads the partitioned programs, and lowers what it can of their collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from breadth import sampled
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import all_passes
from xdsl.context import Context

FOLDER = Path(__file__).parents[1] / "cases"
SEPARATOR = "// -----\n"
CASES, MORE_CASES = (
    [
        Source(text, path.name)
        for path in sorted(FOLDER.glob(f"{folder}/*.mlir"))
        if path.stem != "70_axis_out_of_range"
        for text in path.read_text().split(SEPARATOR)
        # Variables become globals of `util`, which mlir-opt does not know.
        if "tosa.variable" not in text
    ]
    for folder in ("shard", "shard_more")
)


def partitioned(source: Source, pipeline: str) -> str:
    context = Context()
    register_dialects(context)
    module = parse_module(context, source)
    all_passes()[pipeline]()().apply(context, module)
    return str(module)


@pytest.mark.parametrize(
    ("pipeline", "cases"),
    [("spmd", sampled([*CASES, *MORE_CASES], 2)), ("shard-partition", sampled(CASES, 2, 1))],
)
def test_output_parses(
    mlir_opt: Callable[..., str], pipeline: str, cases: Sequence[Source]
) -> None:
    text = f"\n{SEPARATOR}".join(partitioned(source, pipeline) for source in cases)
    mlir_opt(text, "--split-input-file")


LOWERED = ["03_mlp_megatron_hints_w", "08_reduce_sum", "09_reduce_max", "24_conv_spatial"]
"""Cases whose collectives are all-reduces and halo updates, which mlir-opt 22 lowers to MPI."""


@pytest.mark.parametrize("case", LOWERED)
def test_lowers_to_mpi(mlir_opt: Callable[..., str], case: str) -> None:
    path = FOLDER / "shard" / f"{case}.mlir"
    text = partitioned(Source(path.read_text(), path.name), "spmd")
    assert "shard.all_reduce" in text or "shard.update_halo" in text
    lowered = mlir_opt(text, "--convert-shard-to-mpi")
    assert "mpi." in lowered
    assert "shard.all_reduce" not in lowered and "shard.update_halo" not in lowered

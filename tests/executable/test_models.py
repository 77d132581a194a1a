"""A transformer block, partitioned on a 2x4 grid, computes what JAX computed for it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run_partitioned
from mesh_opt.passes.registry import all_passes
from mesh_opt.tools.parsing import parse_module
from mesh_opt.tools.source import Source
from xdsl.context import Context

MODELS = Path(__file__).parents[1] / "cases" / "models"


def test_transformer_block() -> None:
    context = Context()
    register_dialects(context)
    text = (MODELS / "transformer_block_sharded.mlir").read_text()
    module = parse_module(context, Source(text, "<test>"))
    all_passes()["spmd"]()().apply(context, module)
    module.verify()
    collectives = Counter(op.name for op in module.walk() if op.name.startswith("shard."))
    # One reduction after attention and one after the second matmul, as Megatron has it.
    assert collectives == {"shard.grid": 1, "shard.all_reduce": 2}
    stored = np.load(MODELS / "transformer_block_sharded.npz")
    inputs = [stored[f"in{index}"] for index in range(13)]
    (result,) = run_partitioned(module, "main", inputs)
    expected = stored["out0"]
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()

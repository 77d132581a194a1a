"""Random reshards, uneven, with offsets and with halos, run on all devices."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from breadth import breadth
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run_partitioned
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import all_passes
from xdsl.context import Context

COUNT = breadth(60, 2000)
GRIDS = [(2,), (3,), (2, 2), (2, 3), (2, 2, 2), (2, 1, 3)]


def random_sharding(chosen: random.Random, grid: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """What stands behind `shard.sharding @g`."""
    lists: list[list[int]] = [[] for _ in shape]
    for axis in chosen.sample(range(len(grid)), len(grid)):
        place = chosen.randint(0, len(shape))
        if place < len(shape):
            lists[place].append(axis)
    text = f"split_axes = [{', '.join(map(str, lists))}]"
    split = [
        (size, prod(grid[axis] for axis in axes))
        for size, axes in zip(shape, lists, strict=True)
        if axes
    ]
    if split and chosen.random() < 0.3:
        offsets: list[int] = []
        for size, parts in split:
            offsets += [0, *sorted(chosen.randint(0, size) for _ in range(parts - 1)), size]
        return f"{text} sharded_dims_offsets = {offsets}"
    if split and chosen.random() < 0.4:
        halos = [chosen.randint(0, min(2, size // parts)) for size, parts in split for _ in "lh"]
        return f"{text} halo_sizes = {halos}"
    return text


@pytest.mark.parametrize("batch", range(5))
def test_random_reshards(batch: int) -> None:
    chosen = random.Random(batch)
    for _ in range(COUNT // 5):
        grid = chosen.choice(GRIDS)
        shape = tuple(chosen.randint(1, 13) for _ in range(chosen.randint(1, 3)))
        held = f"tensor<{'x'.join(map(str, shape))}xf32>"
        lines = [
            f"shard.grid @g(shape = {'x'.join(map(str, grid))})",
            f"func.func @f(%x: {held}) -> {held} {{",
        ]
        last = "%x"
        for step in range(3):
            sharding = random_sharding(chosen, grid, shape)
            flag = " annotate_for_users" if step else ""
            lines += [
                f"  %s{step} = shard.sharding @g {sharding} : !shard.sharding",
                f"  %x{step} = shard.shard {last} to %s{step}{flag} : {held}",
            ]
            last = f"%x{step}"
        text = "\n".join([*lines, f"  return {last} : {held}", "}"])
        context = Context()
        register_dialects(context)
        module = parse_module(context, Source(text, "reshard"))
        module.verify()
        all_passes()["shard-partition"]()().apply(context, module)
        module.verify()
        whole = np.arange(prod(shape), dtype=np.float32).reshape(shape)
        (result,) = run_partitioned(module, "f", [whole])
        np.testing.assert_array_equal(result, whole, err_msg=f"{text}\n{module}")

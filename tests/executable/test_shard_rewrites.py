"""Folds and lowerings of `shard` operations compute, on every device, what was there before."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import Program as Loaded
from mesh_opt.interpreter.run import argument_types, find_function, run_spmd
from mesh_opt.passes.registry import all_passes
from mesh_opt.sharding.grid import Grid
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.parser import Parser

GRIDS = [Grid("g", (2, 3)), Grid("g", (3, 1, 2))]
DYNAMIC_SIZE = 12

FOLDS = """
func.func @main(%t: tensor<6x12xf32>, %own: tensor<6x12xf32>) -> (RESULTS) {
  %alone = shard.all_reduce %t on @g : tensor<6x12xf32> -> tensor<6x12xf32>
  %whole = shard.all_gather %own on @g grid_axes = [1, 0] gather_axis = 1 : GATHERED
  %back = shard.all_slice %whole on @g grid_axes = [1, 0] slice_axis = 1 : SLICED
  %crossed = shard.all_slice %whole on @g grid_axes = [0, 1] slice_axis = 1 : SLICED
  %piece = shard.all_slice %own on @g grid_axes = [0] slice_axis = 0 : PIECE
  %mixed = shard.all_gather %piece on @g grid_axes = [0] gather_axis = 0 : JOINED
  %sum = shard.all_reduce %own on @g grid_axes = [0] : tensor<6x12xf32> -> tensor<6x12xf32>
  %sum_piece = shard.all_slice %sum on @g grid_axes = [0] slice_axis = 0 : PIECE
  %sum_back = shard.all_gather %sum_piece on @g grid_axes = [0] gather_axis = 0 : JOINED
  %turned = shard.shift %own on @g grid_axes = [0] shift_axis = 0 offset = TURN rotate : SAME
  %moved = shard.shift %own on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate : SAME
  %extents:2 = shard.grid_shape @g axes = [1, 0] : index, index
  return %alone, %back, %crossed, %mixed, %sum_back, %turned, %moved, %extents#0, %extents#1
    : RESULTS
}
"""
RESULTS = ", ".join(["tensor<6x12xf32>"] * 7 + ["index"] * 2)

SLICES = """
func.func @main(%t: tensor<6x12xf32>, %d: tensor<?x12xf32>) -> (RESULTS) {
  %static = shard.all_slice %t on @g grid_axes = [0] slice_axis = 0 : PIECE
  %both = shard.all_slice %t on @g grid_axes = [1, 0] slice_axis = 1 : BOTH
  %dynamic = shard.all_slice %d on @g grid_axes = [0, 1] slice_axis = 0 : DYNAMIC
  %vague = shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : VAGUE
  %alone = shard.all_slice %t on @g slice_axis = 1 : tensor<6x12xf32> -> tensor<6x12xf32>
  %place:2 = shard.process_multi_index on @g axes = [1, 0] : index, index
  return %static, %both, %dynamic, %vague, %alone, %place#0, %place#1 : RESULTS
}
"""


def module(text: str, grid: Grid, **types: str) -> ModuleOp:
    """A program on a grid, with the words in capitals replaced."""
    for word, written in types.items():
        text = text.replace(word, written)
    shape = "x".join(str(extent) for extent in grid.shape)
    context = Context()
    register_dialects(context)
    parsed = Parser(context, f"shard.grid @g(shape = {shape})\n{text}").parse_module()
    parsed.verify()
    return parsed


def transformed(before: ModuleOp, *passes: str) -> ModuleOp:
    """The program after passes."""
    context = Context()
    register_dialects(context)
    after = before.clone()
    for name in passes:
        all_passes()[name]()().apply(context, after)
    after.verify()
    return after


def results(program: ModuleOp, grid: Grid) -> list[list[np.ndarray]]:
    """What each device computes: the first argument is the same on all, the others are not."""
    types = argument_types(find_function(Loaded(program), "main"))
    inputs = []
    for device in range(grid.device_count()):
        local = []
        for number, each in enumerate(types):
            assert isinstance(each, TensorType)
            shape = [DYNAMIC_SIZE if n == DYNAMIC_INDEX else n for n in each.get_shape()]
            generator = np.random.default_rng([number, device if number else 0])
            local.append(generator.integers(-8, 9, shape).astype(np.float32))
        inputs.append(local)
    return run_spmd(program, "main", inputs, grid)


def assert_same(before: ModuleOp, after: ModuleOp, grid: Grid) -> None:
    for expected, found in zip(results(before, grid), results(after, grid), strict=True):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: "x".join(map(str, grid.shape)))
def test_canonicalize_and_simplify(grid: Grid) -> None:
    group = grid.size((0, 1))
    first = grid.size((0,))
    assert group is not None and first is not None
    before = module(
        FOLDS,
        grid,
        RESULTS=RESULTS,
        GATHERED=f"tensor<6x12xf32> -> tensor<6x{12 * group}xf32>",
        SLICED=f"tensor<6x{12 * group}xf32> -> tensor<6x12xf32>",
        PIECE=f"tensor<6x12xf32> -> tensor<{6 // first}x12xf32>",
        JOINED=f"tensor<{6 // first}x12xf32> -> tensor<6x12xf32>",
        SAME="tensor<6x12xf32> -> tensor<6x12xf32>",
        TURN=str(2 * first),
    )
    after = transformed(before, "canonicalize")
    names = [operation.name for operation in after.walk()]
    assert names.count("shard.all_reduce") == 1
    assert names.count("shard.shift") == 1
    assert "shard.grid_shape" not in names
    assert_same(before, after, grid)
    assert_same(before, transformed(before, "cse", "canonicalize", "cse", "dce"), grid)
    assert_same(before, transformed(before, "shard-simplify"), grid)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: "x".join(map(str, grid.shape)))
def test_lower_all_slice_and_process_multi_index(grid: Grid) -> None:
    first, second = grid.size((0,)), grid.size((1,))
    assert first is not None and second is not None
    piece, both = f"tensor<{6 // first}x12xf32>", f"tensor<6x{12 // (first * second)}xf32>"
    results = f"{piece}, {both}, tensor<?x12xf32>, tensor<6x?xf32>, tensor<6x12xf32>, index, index"
    before = module(
        SLICES,
        grid,
        RESULTS=results,
        PIECE=f"tensor<6x12xf32> -> {piece}",
        BOTH=f"tensor<6x12xf32> -> {both}",
        DYNAMIC="tensor<?x12xf32> -> tensor<?x12xf32>",
        VAGUE="tensor<6x12xf32> -> tensor<6x?xf32>",
    )
    after = transformed(before, "shard-lower-all-slice", "shard-lower-process-multi-index")
    names = {operation.name for operation in after.walk()}
    assert names.isdisjoint({"shard.all_slice", "shard.process_multi_index"})
    assert_same(before, after, grid)


def test_a_slice_that_does_not_divide_stops_at_run_time() -> None:
    grid = Grid("g", (5,))
    text = """
    func.func @main(%t: tensor<1xf32>, %d: tensor<?xf32>) -> tensor<?xf32> {
      %r = shard.all_slice %d on @g grid_axes = [0] slice_axis = 0 : tensor<?xf32> -> tensor<?xf32>
      return %r : tensor<?xf32>
    }
    """
    lowered = transformed(module(text, grid), "shard-lower-all-slice")
    with pytest.raises(Exception, match="not exactly divisible by the grid process group size"):
        results(lowered, grid)

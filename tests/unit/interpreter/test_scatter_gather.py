"""Scattering whole tensors to devices, and gathering them back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from breadth import breadth
from hypothesis import given, settings
from hypothesis import strategies as st
from mesh_opt.interpreter.scatter_gather import gather, scatter
from mesh_opt.runtime.abi.arrays import count_undefined
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import Partial, ReductionKind, Sharding
from xdsl.dialects.builtin import TensorType, f32, i8

F32 = TensorType(f32, [-1, -1])


@st.composite
def _shardings(draw: st.DrawFn) -> tuple[tuple[int, int], Sharding]:
    grid = Grid("g", tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))))
    shape = (draw(st.integers(0, 9)), draw(st.integers(0, 9)))
    order = draw(st.permutations(range(grid.rank)))
    first, second = sorted(draw(st.integers(0, grid.rank)) for _ in range(2))
    axes = (tuple(order[:first]), tuple(order[first:second]))
    offsets: list[tuple[int, ...] | None] = [None, None]
    for dimension in range(2):
        if axes[dimension] and draw(st.booleans()):
            parts = grid.size(axes[dimension]) or 1
            inner = sorted(draw(st.integers(0, shape[dimension])) for _ in range(parts - 1))
            offsets[dimension] = (0, *inner, shape[dimension])
    halos = ((0, 0), (0, 0))
    if offsets == [None, None] and draw(st.booleans()):
        halos = tuple(
            (draw(st.integers(0, 2)), draw(st.integers(0, 2))) if axes[d] else (0, 0)
            for d in range(2)
        )
    partials = ()
    if second < grid.rank and draw(st.booleans()):
        partials = (Partial(ReductionKind.SUM, tuple(order[second:])),)
    return shape, Sharding(grid, axes, partials, halos, tuple(offsets))


@settings(max_examples=breadth(50, 500))
@given(_shardings())
def test_gathering_undoes_scattering(sharding: tuple[tuple[int, int], Sharding]) -> None:
    shape, sharding = sharding
    whole = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) + 1
    shards = scatter(whole, sharding, F32)
    assert len(shards) == sharding.grid.device_count()
    np.testing.assert_array_equal(gather(shards, sharding, shape, F32), whole)
    # Open extents are found from the shards.
    np.testing.assert_array_equal(gather(shards, sharding, (-1, -1), F32), whole)


def test_halos_hold_the_neighbours_elements() -> None:
    sharding = Sharding(Grid("g", (2,)), ((0,),), halos=((1, 2),))
    first, second = scatter(np.arange(6, dtype=np.float32), sharding, TensorType(f32, [6]))
    assert count_undefined(first) == 1
    assert first[1:].tolist() == [0, 1, 2, 3, 4]
    assert second[:4].tolist() == [2, 3, 4, 5]
    assert count_undefined(second[4:]) == 2


def test_gather_returns_a_copy() -> None:
    sharding = Sharding(Grid("g", (2,)), ((),))
    for _ in range(2):
        shards: list[Any] = [np.float32([1, 2]), np.float32([1, 2])]
        gather(shards, sharding, (2,), TensorType(f32, [2]))[:] = 0
        assert [each.tolist() for each in shards] == [[1, 2], [1, 2]]


def test_copies_that_differ() -> None:
    sharding = Sharding(Grid("g", (2, 2)), ((0,),))
    shards: list[Any] = [np.float32([1, 2]), np.float32([1, 2]), np.float32([3, 4])]
    shards.append(np.float32([3, 5]))
    with pytest.raises(ValueError, match=r"devices 2 and 3 .* differ: 5.0 and 4.0 at \[1\]"):
        gather(shards, sharding, (4,), TensorType(f32, [4]))
    # Copies may be undefined alike.
    alike = [np.float32([np.nan])] * 4
    assert np.isnan(gather(alike, sharding, (2,), TensorType(f32, [2]))).all()


def test_shards_of_the_wrong_shape() -> None:
    sharding = Sharding(Grid("g", (2,)), ((0,),))
    shards = [np.zeros(3, np.float32), np.zeros(4, np.float32)]
    assert gather(shards, sharding, (7,), TensorType(f32, [7])).shape == (7,)
    with pytest.raises(ValueError, match="device 0 holds a shard of 4, but its part of 7"):
        gather(shards[::-1], sharding, (7,), TensorType(f32, [7]))


@pytest.mark.parametrize("kind", [k for k in ReductionKind if k is not ReductionKind.GENERIC])
def test_pending_reductions(kind: ReductionKind) -> None:
    sharding = Sharding(Grid("g", (3,)), ((),), (Partial(kind, (0,)),))
    bitwise = kind.value.startswith("bitwise")
    whole = np.array([-3, 5], np.int8 if bitwise else np.float32)
    value_type = TensorType(i8 if bitwise else f32, [2])
    shards = scatter(whole, sharding, value_type)
    np.testing.assert_array_equal(gather(shards, sharding, (2,), value_type), whole)


def test_offsets_that_do_not_fit() -> None:
    sharding = Sharding(Grid("g", (2,)), ((0,),), offsets=((0, 3, 8),))
    with pytest.raises(ValueError, match="size 7"):
        scatter(np.zeros(7, np.float32), sharding, TensorType(f32, [7]))

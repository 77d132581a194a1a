"""Whoever writes outside of a block, to an input, or to a constant is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.runtime.host.guards import Guards
from mesh_opt.runtime.host.pool import UNWRITTEN, Pool, view


@pytest.mark.parametrize("place", [-8, -1, 20, 63, 64, 275])
def test_a_write_outside_of_a_block(place: int) -> None:
    pool, guards = Pool(guard_bytes=256), Guards([])
    block = pool.allocate(20)
    assert (view(block, 20) == UNWRITTEN).all()
    view(block, 20)[:] = 0
    assert guards.are_intact(pool)
    view(block + place, 1)[:] = 0
    assert not guards.are_intact(pool)


def test_a_block_that_is_used_again_has_new_guards() -> None:
    pool, guards = Pool(guard_bytes=256), Guards([])
    pool.release(pool.allocate(64))
    block = pool.allocate(20)
    assert guards.are_intact(pool)
    view(block + 20, 1)[:] = 0
    assert not guards.are_intact(pool)


def test_a_write_to_an_input() -> None:
    pool, guards = Pool(guard_bytes=256), Guards([])
    given = np.arange(16, dtype=np.uint8)
    block = guards.place_input(pool, given)
    assert guards.are_intact(pool)
    view(block, 1)[:] = 7
    assert not guards.are_intact(pool)
    assert given[0] == 0


def test_a_write_to_a_constant() -> None:
    constant = np.arange(4.0)
    pool, guards = Pool(guard_bytes=256), Guards([constant])
    assert guards.are_intact(pool)
    constant[2] = 7
    assert not guards.are_intact(pool)

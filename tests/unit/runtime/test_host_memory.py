"""The memory of the machine for host code: blocks, pools, and who owns them."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from host_code_checks import build, machine_of, used_bytes
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.codegen import cache
from mesh_opt.runtime.host.builder import Builder
from mesh_opt.runtime.host.pool import HEADER, TAKEN, Pool, pool_call, view
from mesh_opt.runtime.intrinsics import LARGE_BLOCK, LARGE_PAGE
from mesh_opt.runtime.native_registry import runtime_function


def update(b: Builder) -> None:
    """Add one to the first number of a block that may be shared."""
    block, target = b.argument(), b.result()
    b.emit("own", target, block, block, b.constant(8))
    b.emit("store_64", target, b.compute("addi_i64", b.compute("load_i64", target), b.constant(1)))
    b.emit("release", block)
    b.emit("return")


def test_a_block_is_written_in_place_only_if_nobody_else_reads_it() -> None:
    machine = machine_of(update)
    block = machine.pool.store(np.array([41], np.int64).view(np.uint8))
    assert machine.call(0, [block]) == [block]
    assert view(block, 8).view(np.int64)[0] == 42
    view(block - 64, 8).view(np.int64)[0] += 1
    (other,) = machine.call(0, [block])
    assert other != block
    assert (view(block, 8).view(np.int64)[0], view(other, 8).view(np.int64)[0]) == (42, 43)


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=40))
def test_blocks_do_not_overlap_and_are_used_again(sizes: list[int]) -> None:
    pool = Pool()
    blocks = [pool.allocate(size) for size in sizes]
    ranges = sorted(zip(blocks, sizes, strict=True))
    for (first, size), (second, _) in pairwise(ranges):
        assert first + size <= second - 64
    assert all(block % 64 == 0 for block in blocks)
    assert used_bytes(pool) == pool.peak_bytes == sum(sizes)
    for block in blocks:
        pool.release(block)
    taken = int(pool.words[TAKEN])
    for size in sizes:
        pool.allocate(size)
    assert int(pool.words[TAKEN]) == taken


def test_a_large_block_begins_at_a_large_page() -> None:
    """Else up to 2 MiB at each of its ends would have pages of 4 KiB."""
    pool = Pool()
    blocks = [pool.allocate(size) for size in (100, 5 << 20, 100, LARGE_BLOCK)]
    assert [(block - HEADER) % LARGE_PAGE for block in blocks[1::2]] == [0, 0]


def test_a_result_outlives_its_machine_and_gives_its_block_back() -> None:
    def main(b: Builder) -> None:
        b.emit("allocate", b.result(), b.constant(64))
        b.emit("return")

    machine = machine_of(main)
    block = machine.call(0, [])[0]
    array = machine.pool.take(block, block, (64,), np.dtype(np.uint8))
    pool = machine.pool
    assert used_bytes(pool) == 64
    part = array[:8]
    del array
    gc.collect()
    assert used_bytes(pool) == 64
    del part
    gc.collect()
    assert used_bytes(pool) == 0
    block = machine.call(0, [])[0]
    last = machine.pool.take(block, block, (64,), np.dtype(np.uint8))
    del machine, pool
    gc.collect()
    last[:] = 1


def test_a_run_that_fails_keeps_no_memory() -> None:
    def main(b: Builder) -> None:
        b.emit("allocate", b.register(), b.constant(1 << 20))
        b.emit("fail", 0, ())

    machine = machine_of(main, failures=[lambda numbers: IndexError()])
    for _ in range(3):
        with pytest.raises(IndexError):
            machine.call(0, [])
        assert used_bytes(machine.pool) == 0


def test_the_code_of_pools_stays_in_memory() -> None:
    """Of functions that nothing uses the code is unloaded when many others have been compiled."""
    Pool().allocate(64)
    code = weakref.ref(runtime_function(pool_call))
    cache._recent.clear()
    gc.collect()
    assert code() is not None
    assert Pool().allocate(64)


def test_a_block_is_replaced_only_by_one_of_its_size() -> None:
    def main(b: Builder) -> None:
        source = b.compute("allocate", b.hold(128))
        target = b.compute("allocate", b.hold(64))
        block = b.compute("allocate", b.hold(128))
        b.emit("copy", block, source, b.hold(128))
        assert b.is_unshared(block)
        assert not b.merge(block, target, 64)
        assert b.merge(block, target, 128)

    build(main)


def test_a_block_that_was_handed_on_is_not_replaced() -> None:
    def main(b: Builder) -> None:
        target = b.compute("allocate", b.hold(64))
        block = b.compute("allocate", b.hold(64))
        b.emit("retain", block)
        assert not b.is_unshared(block)
        assert not b.merge(block, target, 64)

    build(main)

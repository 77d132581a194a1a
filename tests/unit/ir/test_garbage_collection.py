"""Compiling goes without the collector: JAX's objects around are gone over each time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator

import pytest
from mesh_opt.api import compile
from mesh_opt.ir import garbage_collection
from mesh_opt.ir.garbage_collection import MANY, without_garbage_collection
from mesh_opt.passes.manager.pass_manager import Observer
from xdsl.ir import Operation
from xdsl.passes import ModulePass

TEXT = """
shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


class _Watch(Observer):
    def __init__(self) -> None:
        self.is_on: list[bool] = []

    def before(self, current: ModulePass, operation: Operation) -> None:
        self.is_on.append(gc.isenabled())

    def after(self, current: ModulePass, operation: Operation) -> None:
        self.is_on.append(gc.isenabled())


def test_no_collections_between_passes() -> None:
    watch = _Watch()
    compile(TEXT, "spmd", observers=[watch])
    assert watch.is_on and not any(watch.is_on)
    assert gc.isenabled()


class _Cycle:
    """Garbage that only the collector frees."""

    def __init__(self) -> None:
        self.other = self


def _many() -> weakref.ref[_Cycle]:
    cycles = [_Cycle() for _ in range(MANY)]
    return weakref.ref(cycles[0])


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compilation before a test has seen what is frozen."""
    monkeypatch.setattr(garbage_collection, "_unseen", garbage_collection._Unseen())


@pytest.fixture
def nothing_frozen() -> Generator[None]:
    """The test session freezes what it starts with."""
    gc.collect()
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_many_new_objects_count_as_old() -> None:
    with without_garbage_collection():
        cycle = _many()
        assert gc.get_count()[0] > MANY
    assert gc.get_count()[0] < MANY
    assert gc.get_freeze_count() == 0
    gc.collect(1)
    assert cycle() is not None
    gc.collect()
    assert cycle() is None


@pytest.mark.usefixtures("nothing_frozen")
def test_garbage_does_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "MOST", 4 * MANY)
    with without_garbage_collection():
        first = _many()
    for _ in range(4):
        with without_garbage_collection():
            _many()
    assert first() is None


def test_what_others_froze_stays_frozen() -> None:
    gc.freeze()
    with without_garbage_collection():
        cycle = _many()
    gc.collect()
    assert gc.get_freeze_count() > 0 and cycle() is None


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count visits each of them, which took longer than the compilation."""
    counts: list[int] = []

    def count() -> int:
        counts.append(1_000_000)
        return counts[-1]

    monkeypatch.setattr(garbage_collection.gc, "get_freeze_count", count)
    for _ in range(3):
        with without_garbage_collection():
            _many()
    assert len(counts) == 1

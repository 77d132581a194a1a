"""Compiling goes without the collector: JAX's objects around are gone over each time."""

from __future__ import annotations

import gc

from mesh_opt.api import compile
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

"""Encodes between types that differ in which sizes are static: each stage means the same."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile

PROGRAM = """
#rows = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info =
  {innerDimsPos = [0, 1], innerTileSizes = [16, 2], outerDimsPerm = [1, 0]}}>]>
#target = #hal.executable.target<"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
util.func public @main(%x: tensor<5x?xf32>, %m: index) -> tensor<5x?xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<5x?xf32>
  %0 = flow.tensor.transfer %x : tensor<5x?xf32>{%n} to #hal.device.affinity<@d>
  %1 = flow.tensor.encode %0 : tensor<5x?xf32>{%n} -> tensor<?x7xf32, #rows>{%m}
  %2 = flow.tensor.encode %1 : tensor<?x7xf32, #rows>{%m} -> tensor<5x?xf32>{%n}
  util.return %2 : tensor<5x?xf32>
}
"""
STAGES = (
    "",
    "iree-abi-wrap-entry-points,inline-calls,convert-to-stream",
    "iree-stream-materialize-encodings",
    "encode-host-tensors",
    "materialize-encodings",
)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("count", range(len(STAGES)))
def test_encode_between_types(backend: str, count: int) -> None:
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    pipeline = ",".join(filter(None, STAGES[: count + 1]))
    program = compile(PROGRAM, pipeline, backend=backend)
    np.testing.assert_array_equal(program["main"](x, 5), x)

"""Tensor operations of `flow` on the host mean the same as resources, and as bytes."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile

PARTS = """
util.func public @main(%x: tensor<?x6xf32>, %u: tensor<1x2xf32>, %i: index, %v: f32, %c: i1)
    -> (tensor<?x6xf32>, tensor<2x6xf32>, tensor<?x6xf32>, f32, tensor<3x4xf32>, tensor<12xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %n = tensor.dim %x, %c0 : tensor<?x6xf32>
  %0 = flow.tensor.update %u, %x[%i, %c2] : tensor<1x2xf32> -> %x as tensor<?x6xf32>{%n}
  %1 = flow.tensor.slice %0[%i, %c0 for %c2, %c6] : tensor<?x6xf32>{%n} -> tensor<2x6xf32>
  %2 = flow.tensor.clone %0 : tensor<?x6xf32>{%n}
  %3 = flow.tensor.store %v, %2[%c1, %i] : tensor<?x6xf32>{%n}
  %4 = flow.tensor.load %3[%c1, %i] : tensor<?x6xf32>{%n}
  %5 = arith.addf %4, %v : f32
  %6 = flow.tensor.splat %5 : tensor<3x4xf32>
  %e = flow.tensor.constant dense<7.0> : tensor<3x4xf32>
  %7 = arith.select %c, %6, %e : tensor<3x4xf32>
  %8 = flow.tensor.bitcast %7 : tensor<3x4xf32> -> tensor<12xi32>
  util.return %0, %1, %3, %5, %7, %8
    : tensor<?x6xf32>, tensor<2x6xf32>, tensor<?x6xf32>, f32, tensor<3x4xf32>, tensor<12xi32>
}
"""
STAGES = ["", "convert-to-stream", "convert-to-stream,encode-host-tensors"]


def expected(x: np.ndarray, u: np.ndarray, i: int, v: float, c: bool) -> list[np.ndarray]:
    updated = x.copy()
    updated[i, 2:4] = u[0]
    stored = updated.copy()
    stored[1, i] = v
    chosen = np.full((3, 4), np.float32(2 * v) if c else np.float32(7))
    bits = chosen.view(np.int32).reshape(12)
    return [updated, updated[i : i + 2], stored, np.float32(2 * v), chosen, bits]


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("stage", STAGES, ids=["flow", "stream", "bytes"])
def test_parts_of_tensors(stage: str, backend: str) -> None:
    pipeline = f"iree-abi-wrap-entry-points,{stage}" if stage else ""
    program = compile(PARTS, pipeline, backend=backend)
    assert not stage or "flow." not in str(program.module)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    u = np.array([[-1, -2]], np.float32)
    for c in (True, False):
        inputs = [x, u, np.int64(2), np.float32(1.5), np.bool_(c)]
        results = program["main"].run(inputs)
        for found, wanted in zip(results, expected(x, u, 2, 1.5, c), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_fill_with_a_complex_number(backend: str) -> None:
    text = """
    util.func public @main(%x: complex<f32>) -> tensor<2x3xcomplex<f32>> {
      %0 = flow.tensor.splat %x : tensor<2x3xcomplex<f32>>
      util.return %0 : tensor<2x3xcomplex<f32>>
    }"""
    pipeline = f"iree-abi-wrap-entry-points,{STAGES[-1]}"
    program = compile(text, pipeline, backend=backend)
    (found,) = program["main"].run([np.complex64(1 - 2j)])
    np.testing.assert_array_equal(found, np.full((2, 3), 1 - 2j, np.complex64))


HIDDEN = """
util.func public @main(%x: tensor<?x4xf32>, %n: index) -> (tensor<?x4xf32>, tensor<?xf32>) {
  flow.tensor.trace "k" = [%x : tensor<?x4xf32>{%n}]
  %y = util.optimization_barrier %x : tensor<?x4xf32>
  %c = flow.tensor.dynamic_constant dense<[1.0, 2.0]> : tensor<2xf32> -> tensor<?xf32>
  util.return %y, %c : tensor<?x4xf32>, tensor<?xf32>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("stage", STAGES, ids=["flow", "stream", "bytes"])
def test_what_hides_values_keeps_them(stage: str, backend: str) -> None:
    pipeline = f"iree-abi-wrap-entry-points,{stage}" if stage else ""
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    kept, constant = compile(HIDDEN, pipeline, backend=backend)["main"].run([x, np.int64(2)])
    np.testing.assert_array_equal(kept, x)
    np.testing.assert_array_equal(constant, [1, 2])


FENCES = """
util.func public @main(%view: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence)
    -> !hal.buffer_view {
  %x = hal.tensor.import wait(%wait) => %view : !hal.buffer_view -> tensor<4xf32>
  %y = flow.tensor.clone %x : tensor<4xf32>
  %z = hal.tensor.barrier join(%y : tensor<4xf32>) => %signal : !hal.fence
  %r = hal.tensor.export %z : tensor<4xf32> -> !hal.buffer_view
  util.return %r : !hal.buffer_view
}
"""


def test_fences_are_waited_for_and_signalled() -> None:
    text = str(compile(FENCES, "convert-to-stream", backend="interpreter").module)
    order = ["timepoint.import", "timepoint.await", "clone", "timepoint.barrier", "chain_external"]
    places = [text.index(word) for word in order]
    assert sorted(places) == places

"""Commands on resources mean the same as a runtime's calls on buffers."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.runtime.abi.errors import ExecutionError

PROGRAM = """
util.global private @device : !hal.device
util.func public @main(%view: !hal.buffer_view, %at: index, %count: index, %v: i32)
    -> (!hal.buffer_view, f32, index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %c6 = arith.constant 6 : index
  %type = hal.element_type<f32> : i32
  %order = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%view : !hal.buffer_view> message("x") shape([%c6]) type(%type)
    encoding(%order)
  %0 = stream.tensor.import on(#hal.device.affinity<@device>) %view : !hal.buffer_view
    -> tensor<6xf32> in !stream.resource<external>{%c24}
  %r, %t = stream.resource.alloca uninitialized on(#hal.device.affinity<@device>)
    : !stream.resource<external>{%c24} => !stream.timepoint
  %1 = stream.cmd.execute once on(#hal.device.affinity<@device>) await(%t) =>
      with(%0 as %a: !stream.resource<external>{%c24}, %r as %b: !stream.resource<external>{%c24}) {
    stream.cmd.copy %a[%c0], %b[%c0], %c24
      : !stream.resource<external>{%c24} -> !stream.resource<external>{%c24}
    stream.cmd.concurrent {
      stream.cmd.fill %v, %b[%at for %c8] : i32 -> !stream.resource<external>{%c24}
      stream.cmd.copy %a[%c4], %b[%c0], %c4
        : !stream.resource<external>{%c24} -> !stream.resource<external>{%c24}
    }
  } => !stream.timepoint
  %2 = stream.cmd.execute on(#hal.device.affinity<@device>) await(%1) =>
      with(%r as %b: !stream.resource<external>{%c24}) {
    stream.cmd.fill %v, %b[%count for %c4] : i32 -> !stream.resource<external>{%c24}
  } => !stream.timepoint
  %3 = stream.timepoint.await sync %2 => %r : !stream.resource<external>{%c24}
  %s = stream.resource.subview %3[%c4] : !stream.resource<external>{%c24}
    -> !stream.resource<external>{%c8}
  %n = stream.resource.size %s : !stream.resource<external>
  %4 = stream.tensor.export on(#hal.device.affinity<@device>) %3 : tensor<6xf32>
    in !stream.resource<external>{%c24} -> !hal.buffer_view
  %h = stream.resource.alloc uninitialized : !stream.resource<staging>{%c8}
  %f = arith.constant 2.5 : f32
  stream.resource.store %f, %h[%c4] : f32 -> !stream.resource<staging>{%c8}
  %g = stream.resource.load %h[%c4] : !stream.resource<staging>{%c8} -> f32
  util.return %4, %g, %n : !hal.buffer_view, f32, index
}
"""


def run(backend: str, at: int, count: int) -> list[np.ndarray]:
    program = compile(PROGRAM, "iree-hal-conversion", stages=False, backend=backend)
    assert "stream." not in str(program.module)
    bits = np.float32(7.5).view(np.int32)
    return list(program["main"].run([X, np.int64(at), np.int64(count), bits]))


X = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_commands_run_in_order(backend: str) -> None:
    result, loaded, size = run(backend, 8, 20)
    np.testing.assert_array_equal(result, np.array([1, 1, 7.5, 7.5, 4, 7.5], np.float32))
    assert loaded == 2.5
    assert size == 8


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
@pytest.mark.parametrize("at", [20, -4])
def test_commands_touch_what_is_there(backend: str, at: int) -> None:
    with pytest.raises(ExecutionError, match=r"fill_buffer.* touches bytes"):
        run(backend, at, 0)

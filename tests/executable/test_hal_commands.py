"""Commands on resources mean the same as a runtime's calls on buffers."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.interpreter.dialects.hal.commands import Buffer
from mesh_opt.interpreter.frames import Frame, Process, Program
from mesh_opt.interpreter.registry import find_entry
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.runtime.abi.arrays import dtype_named
from mesh_opt.runtime.abi.errors import ExecutionError
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp

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
    program = compile(PROGRAM, "iree-hal-conversion", backend=backend)
    assert "stream." not in str(program.module)
    bits = np.float32(7.5).view(np.int32)
    return list(program["main"].run([X, np.int64(at), np.int64(count), bits]))


X = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_commands_run_in_order(backend: str) -> None:
    result, loaded, size = run(backend, 8, 20)
    np.testing.assert_array_equal(result, np.array([1, 1, 7.5, 7.5, 4, 7.5], np.float32))
    assert loaded == 2.5
    assert size == 8


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("at", [20, -4])
def test_commands_touch_what_is_there(backend: str, at: int) -> None:
    with pytest.raises(ExecutionError, match=r"fill_buffer.* accesses bytes"):
        run(backend, at, 0)


LONG_PATTERN = """
module attributes {stream.affinity.default = #hal.device.affinity<@device>} {
  util.global private @device = #hal.device.target<"local", [
    #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
  util.func public @main(%value: f64, %size: index) -> !hal.buffer_view {
    %0 = flow.tensor.splat %value : tensor<?xf64>{%size}
    %1 = hal.tensor.export %0 : tensor<?xf64>{%size} -> !hal.buffer_view
    util.return %1 : !hal.buffer_view
  }
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_patterns_of_64_bits_are_kernels(backend: str) -> None:
    stages = "iree-stream-conversion,iree-stream-encode-host-tensors,convert-stream-to-hal"
    program = compile(LONG_PATTERN, stages, backend=backend)
    (found,) = program["main"].run([np.float64(2.5), np.int64(3)])
    np.testing.assert_array_equal(found, np.full(3, 2.5))


@pytest.mark.parametrize("element", ["f4E2M1FN", "f8E4M3FN", "i4", "i12", "si8", "ui8", "ui32"])
def test_results_of_any_element_type(element: str) -> None:
    kind = f"tensor<4x{element}>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  return %x : {kind}\n}}"
    x = np.arange(4).astype(dtype_named(element))
    program = compile(text, "data-tile,convert-stream-to-hal", backend="interpreter")
    (found,) = program["f"].run([x])
    np.testing.assert_array_equal(found, x)


RECORDED_ONCE = """
util.func public @main(%view: !hal.buffer_view, %slot: index) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %c6 = arith.constant 6 : index
  %none = arith.constant -1 : i64
  %bits = arith.constant 1089470464 : i32
  %type = hal.element_type<f32> : i32
  %order = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%view : !hal.buffer_view> message("x") shape([%c6]) type(%type)
    encoding(%order)
  %device = hal.devices.get %c0 : !hal.device
  %buffer = hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
  %fence = util.null : !hal.fence
  %commands = hal.device.memoize<%device : !hal.device> affinity(%none) -> !hal.command_buffer {
    %0 = hal.command_buffer.create device(%device : !hal.device) mode("None")
      categories("Transfer") affinity(%none) bindings(%c4) : !hal.command_buffer
    hal.command_buffer.fill_buffer<%0 : !hal.command_buffer>
      target(%slot : index)[%c4, %c8] pattern(%bits : i32) flags("None")
    hal.command_buffer.finalize<%0 : !hal.command_buffer>
    hal.return %0 : !hal.command_buffer
  }
  hal.device.queue.execute.indirect<%device : !hal.device> affinity(%none) wait(%fence)
    signal(%fence) commands(%commands) bindings([
      (%buffer : !hal.buffer)[%c8, %c8], (%buffer : !hal.buffer)[%c8, %c24]
    ]) flags("None")
  util.return %view : !hal.buffer_view
}
"""


@pytest.mark.parametrize(
    ("slot", "message"),
    [
        (0, "accesses bytes 4 to 12 of 8"),
        (1, "accesses bytes 8 to 32 of 24"),
        (2, "buffer #2, but"),
    ],
)
def test_tables_are_given_when_commands_run(slot: int, message: str) -> None:
    text = RECORDED_ONCE if slot == 1 else RECORDED_ONCE.replace("%c8, %c24]", "%c8, %c8]")
    program = compile(text, "", backend="interpreter")
    with pytest.raises(ExecutionError, match=message):
        program["main"].run([X, np.int64(slot)])


def test_commands_fill_what_the_table_says() -> None:
    text = RECORDED_ONCE.replace("%c8, %c24]", "%c8, %c16]").replace(
        "%c6 = arith", "%c16 = arith.constant 16 : index\n  %c6 = arith"
    )
    text = text.replace(
        "util.return %view",
        "%out = hal.buffer_view.create buffer(%buffer"
        " : !hal.buffer)[%c0, %c24] shape([%c6]) type(%type) encoding(%order)"
        " : !hal.buffer_view\n  util.return %out",
    )
    program = compile(text, "", backend="interpreter")
    (result,) = program["main"].run([X, np.int64(1)])
    np.testing.assert_array_equal(result, np.array([0, 1, 2, 7.5, 7.5, 5], np.float32))


@pytest.mark.parametrize("use", ["hal.buffer.length", "hal.buffer.assert"])
def test_deallocated_buffer_is_refused(use: str) -> None:
    entry, frame = find_entry(use), Frame(Process(Program(ModuleOp([]))))
    assert entry is not None and entry.execute is not None
    with pytest.raises(OperationError, match="has been returned to its queue"):
        entry.execute(test.TestOp(), (Buffer(None), None, np.int64(4)), frame)

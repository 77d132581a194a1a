// RUN: mesh-opt %s --convert-stream-to-hal | filecheck %s
// RUN: mesh-run %s --pass-pipeline=convert-stream-to-hal --input=4xf32=1,2,3,4 --backend=interpreter --check
// RUN: mesh-run %S/../../../../examples/mlp_dp_tp.mlir --pass-pipeline=compile,convert-stream-to-hal --random-inputs=0 --backend=interpreter --check

// From asynchronous operations to calls of a runtime.

// CHECK-LABEL: util.func public @main
// CHECK: hal.device.queue.alloca
// CHECK: hal.command_buffer.create
// CHECK: hal.command_buffer.copy_buffer
// CHECK: hal.command_buffer.fill_buffer
// CHECK: hal.device.queue.execute
// CHECK: hal.fence.await
// CHECK: hal.buffer_view.create
// CHECK-NOT: stream.
util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "vmvx-bytecode-fb">]> : !hal.device
util.func public @main(%v: !hal.buffer_view) -> !hal.buffer_view {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %bits = arith.constant 1077936128 : i32
  %type = hal.element_type<f32> : i32
  %order = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%v : !hal.buffer_view> message("v") shape([%c4]) type(%type) encoding(%order)
  %0 = stream.tensor.import on(#hal.device.affinity<@a>) %v : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%c16}
  %1 = stream.async.fill on(#hal.device.affinity<@a>) %bits, %0[%c4 to %c8 for %c4] : i32 -> %0 as !stream.resource<external>{%c16}
  %2 = stream.tensor.export on(#hal.device.affinity<@a>) %1 : tensor<4xf32> in !stream.resource<external>{%c16} -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}

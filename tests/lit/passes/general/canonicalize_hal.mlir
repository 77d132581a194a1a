// RUN: mesh-opt %s --canonicalize | filecheck %s

// CHECK-LABEL: @boundary(%v
// CHECK-NEXT: %[[T:.*]] = hal.tensor.import wait
// CHECK-NEXT: %[[W:.*]] = hal.tensor.export %[[T]]
// CHECK-NEXT: util.return %v, %[[W]]
util.func public @boundary(%v: !hal.buffer_view, %f: !hal.fence) -> (!hal.buffer_view, !hal.buffer_view) {
  %t = hal.tensor.import %v : !hal.buffer_view -> tensor<4xf32>
  %same = hal.tensor.export %t : tensor<4xf32> -> !hal.buffer_view
  %late = hal.tensor.import wait(%f) => %v : !hal.buffer_view -> tensor<4xf32>
  %other = hal.tensor.export %late : tensor<4xf32> -> !hal.buffer_view
  util.return %same, %other : !hal.buffer_view, !hal.buffer_view
}

// CHECK-LABEL: @subspans(%cb: !hal.command_buffer, %b: !hal.buffer, %n
// CHECK-NEXT: %[[AT:.*]] = arith.addi %n, %k
// CHECK-NEXT: %[[TO:.*]] = arith.addi %n, %n
// CHECK-NEXT: hal.command_buffer.copy_buffer<%cb : !hal.command_buffer> source(%b : !hal.buffer)[%[[AT]]] target(%b : !hal.buffer)[%[[TO]]]
util.func public @subspans(%cb: !hal.command_buffer, %b: !hal.buffer, %n: index, %k: index) {
  %x = hal.buffer.subspan<%b : !hal.buffer>[%n, %k] : !hal.buffer
  hal.command_buffer.copy_buffer<%cb : !hal.command_buffer> source(%x : !hal.buffer)[%k] target(%x : !hal.buffer)[%n] length(%n) flags("None")
  util.return
}

// CHECK-LABEL: @fences(%f: !hal.fence, %g
// CHECK-NEXT: %[[JOIN:.*]] = hal.fence.join at([%f, %g])
// CHECK-NEXT: util.return %[[JOIN]], %f
util.func public @fences(%f: !hal.fence, %g: !hal.fence) -> (!hal.fence, !hal.fence) {
  %z = util.null : !hal.fence
  %both = hal.fence.join at([%f, %z, %g, %f]) flags("None") -> !hal.fence
  %one = hal.fence.join at([%f, %f]) flags("None") -> !hal.fence
  util.return %both, %one : !hal.fence, !hal.fence
}

// Another use before the signal keeps the fence.
// CHECK-LABEL: @signalled
// CHECK-NEXT: %[[KEPT:.*]] = hal.fence.create
// CHECK-NEXT: util.optimization_barrier %[[KEPT]]
// CHECK-NEXT: hal.fence.signal<%[[KEPT]]
// CHECK-NEXT: %[[NULL:.*]] = util.null : !hal.fence
// CHECK-NEXT: util.return %[[NULL]]
util.func public @signalled(%dev: !hal.device, %a: i64) -> !hal.fence {
  %z = util.null : !hal.fence
  %kept = hal.fence.create device(%dev : !hal.device) flags("None") : !hal.fence
  %used = util.optimization_barrier %kept : !hal.fence
  hal.fence.signal<%kept : !hal.fence>
  %x = hal.fence.create device(%dev : !hal.device) flags("None") : !hal.fence
  hal.device.queue.barrier<%dev : !hal.device> affinity(%a) wait(%z) signal(%x) flags("None")
  util.return %x : !hal.fence
}

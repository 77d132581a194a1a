// RUN: mesh-opt %s --iree-hal-conversion --split-input-file | filecheck %s

// The host loads an element, and prints a tensor as a view of its buffer.

// CHECK-LABEL: util.func public @looks(%r: !hal.buffer, %n: index, %c: index) -> f32
// CHECK-NEXT: %e = hal.buffer.load<%r : !hal.buffer>[%c] : f32
// CHECK: [[VIEW:%[a-z0-9_]+]] = hal.buffer_view.create buffer(%r : !hal.buffer)[%c0, %n] shape([%c])
// CHECK-NEXT: hal.buffer_view.trace "k" = [[VIEW]] : !hal.buffer_view
// CHECK-NEXT: util.return %e
util.func public @looks(%r: !stream.resource<staging>, %n: index, %c: index) -> f32 {
  %e = stream.resource.load %r[%c] : !stream.resource<staging>{%n} -> f32
  stream.tensor.trace "k" = [%r : tensor<?xf32>{%c} in !stream.resource<staging>{%n}]
  util.return %e : f32
}

// -----

// CHECK-LABEL: util.func public @resolved() -> (!hal.device, !hal.allocator, i64)
// CHECK-NEXT: %d = util.global.load immutable @device : !hal.device
// CHECK-NEXT: %q = arith.constant -1 : i64
// CHECK-NEXT: %a = hal.device.allocator<%d : !hal.device> : !hal.allocator
// CHECK-NEXT: util.return %d, %a, %q
util.global private @device = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "x">]> : !hal.device
util.func public @resolved() -> (!hal.device, !hal.allocator, i64) {
  %d, %a, %q = stream.context.resolve on(#hal.device.affinity<@device>) : !hal.device, !hal.allocator, i64
  util.return %d, %a, %q : !hal.device, !hal.allocator, i64
}

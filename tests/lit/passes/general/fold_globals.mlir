// RUN: mesh-opt %s --iree-util-fold-globals --split-input-file | filecheck %s

// An initializer sets a constant; the copy of it is the same constant.
// CHECK-NOT: util.global
// CHECK-NOT: util.initializer
// CHECK: @loads
// CHECK-NEXT: %[[C:.*]] = arith.constant 4 : index
// CHECK-NEXT: util.return %[[C]], %[[C]]
util.global private @size : index
util.global private mutable @copy : index
util.initializer {
  %c4 = arith.constant 4 : index
  util.global.store %c4, @size : index
  util.return
}
util.initializer {
  %size = util.global.load @size : index
  util.global.store %size, @copy : index
  util.return
}
util.func public @loads() -> (index, index) {
  %0 = util.global.load @size : index
  %1 = util.global.load @copy : index
  util.return %0, %1 : index, index
}

// -----

// Nothing reads the global; the call may have effects.
// CHECK-LABEL: util.initializer
// CHECK-NEXT: util.call @compute
// CHECK-NEXT: util.return
// CHECK: @stores
// CHECK-NEXT: util.return
util.global private mutable @written : i32
util.func private @compute() -> i32
util.initializer {
  %0 = util.call @compute() : () -> i32
  util.global.store %0, @written : i32
  util.return
}
util.func public @stores(%x: i32) {
  util.global.store %x, @written : i32
  util.return
}

// -----

// CHECK: util.global public @seen = 1 : i32
// CHECK: util.global private mutable @changed = 2 : i32
// CHECK: util.global private @device = #device_target_local
// CHECK: util.global private @computed : i32
// CHECK: util.global private @kept <inlining_policy = #util.inline.never> = 3 : i32
// CHECK: @kept_globals
// CHECK: arith.constant 1 : i32
// CHECK: util.global.load @changed
// CHECK: util.global.load immutable @computed
// CHECK: util.global.load immutable @kept
util.global public @seen = 1 : i32
util.global private mutable @changed = 2 : i32
util.global private @device = #hal.device.target<"local"> : !hal.device
util.global private mutable @computed : i32
util.global private @kept <inlining_policy = #util.inline.never> = 3 : i32
util.func private @compute() -> i32
util.initializer attributes {stream.affinity = #hal.device.affinity<@device>} {
  %0 = util.call @compute() : () -> i32
  util.global.store %0, @computed : i32
  util.return
}
util.func public @kept_globals(%x: i32) -> (i32, i32, i32, i32) {
  %0 = util.global.load @seen : i32
  %1 = util.global.load @changed : i32
  util.global.store %x, @changed : i32
  %2 = util.global.load @computed : i32
  %3 = util.global.load @kept : i32
  util.return %0, %1, %2, %3 : i32, i32, i32, i32
}

// RUN: mesh-opt %s --iree-util-fuse-globals --split-input-file | filecheck %s

// Both functions store one value to @a and @b; @c gets another one in @set_some.
// CHECK: util.global private mutable @a = 5 : index
// CHECK-NOT: @b
// CHECK: util.global private mutable @c = 5 : index
// CHECK: @set_all(%[[N:.*]]: index)
// CHECK-NEXT: util.global.store %[[N]], @a
// CHECK-NEXT: util.global.store %[[N]], @c
// CHECK-NEXT: util.return
// CHECK: @set_some(%[[N:.*]]: index, %[[M:.*]]: index, %[[SET:.*]]: i1)
// CHECK: scf.if %[[SET]]
// CHECK-NEXT: util.global.store %[[N]], @a
// CHECK-NEXT: util.global.store %[[M]], @c
// CHECK-NEXT: }
// CHECK: @loads
// CHECK-NEXT: util.global.load @a
// CHECK-NEXT: util.global.load @a
// CHECK-NEXT: util.global.load @c
util.global private mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.global private mutable @c = 5 : index
util.func public @set_all(%n: index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.global.store %n, @c : index
  util.return
}
util.func public @set_some(%n: index, %m: index, %set: i1) {
  scf.if %set {
    util.global.store %n, @b : index
    util.global.store %n, @a : index
    util.global.store %m, @c : index
  }
  util.return
}
util.func public @loads() -> (index, index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  %2 = util.global.load @c : index
  util.return %0, %1, %2 : index, index, index
}

// -----

// A fused global is immutable if one of them is.
// CHECK: util.global private @a : index
// CHECK-NOT: @b
// CHECK: @loads
// CHECK-NEXT: util.global.load @a
// CHECK-NEXT: util.global.load immutable @a
util.global private mutable @a : index
util.global private @b : index
util.func private @compute() -> index
util.initializer {
  %n = util.call @compute() : () -> index
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  util.return
}
util.func public @loads() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load immutable @b : index
  util.return %0, %1 : index, index
}

// -----

// Code that runs between two stores sees different values.
// CHECK-LABEL: @across_call
// CHECK: util.global.store %{{.*}}, @a
// CHECK-NEXT: util.call @read
// CHECK-NEXT: util.global.store %{{.*}}, @b
// CHECK-LABEL: @between
// CHECK-NEXT: util.global.store %{{.*}}, @c
// CHECK-NEXT: util.global.load @d
// CHECK-NEXT: util.global.store %{{.*}}, @d
util.global private mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.global private mutable @c = 5 : index
util.global private mutable @d = 5 : index
util.func public @across_call(%n: index) {
  util.global.store %n, @a : index
  util.call @read() : () -> (index, index)
  util.global.store %n, @b : index
  util.return
}
util.func public @between(%n: index) -> index {
  util.global.store %n, @c : index
  %0 = util.global.load @d : index
  util.global.store %n, @d : index
  util.return %0 : index
}
util.func private @read() -> (index, index) {
  %0 = util.global.load @a : index
  %1 = util.global.load @b : index
  util.return %0, %1 : index, index
}

// -----

// Globals that differ in their first values, in their devices or in who may set them; and values
// that are written again.
// CHECK-DAG: @one
// CHECK-DAG: @two
// CHECK-DAG: @near
// CHECK-DAG: @far
// CHECK-DAG: @seen
// CHECK-DAG: @again
// CHECK-LABEL: @stores
// CHECK-COUNT-7: util.global.store
util.global private @device = #hal.device.target<"local"> : !hal.device
util.global private mutable @one = 1 : index
util.global private mutable @two = 2 : index
util.global private mutable @near : index
util.global private mutable @far {stream.affinity = #hal.device.affinity<@device>} : index
util.global public mutable @seen : index
util.global private mutable @again : index
util.func public @stores(%n: index, %m: index) {
  util.global.store %n, @one : index
  util.global.store %n, @two : index
  util.global.store %n, @near : index
  util.global.store %n, @far : index
  util.global.store %n, @seen : index
  util.global.store %n, @again : index
  util.global.store %m, @again : index
  util.return
}

// RUN: mesh-opt %s --merge-globals | filecheck %s

// Equal contents on one device are kept once; on another device, or changing, they are others.

// CHECK: util.global private @a {stream.affinity = #hal.device.affinity<@x>}
// CHECK-NOT: @b
// CHECK: util.global private @c {stream.affinity = #hal.device.affinity<@y>}
// CHECK: util.global private mutable @d
// CHECK-LABEL: util.func public @main
// CHECK: util.global.load @a
// CHECK: util.global.load @a
// CHECK: util.global.load @c
// CHECK: util.global.load @d
util.global private @a {stream.affinity = #hal.device.affinity<@x>} : i32
util.global private @b {stream.affinity = #hal.device.affinity<@x>} : i32
util.global private @c {stream.affinity = #hal.device.affinity<@y>} : i32
util.global private mutable @d {stream.affinity = #hal.device.affinity<@x>} : i32
util.initializer {
  %0 = arith.constant 1 : i32
  util.global.store %0, @a : i32
  util.return
}
util.initializer {
  %0 = arith.constant 1 : i32
  util.global.store %0, @b : i32
  util.return
}
util.initializer {
  %0 = arith.constant 1 : i32
  util.global.store %0, @c : i32
  util.return
}
util.initializer {
  %0 = arith.constant 1 : i32
  util.global.store %0, @d : i32
  util.return
}
util.func public @main() -> (i32, i32, i32, i32) {
  %a = util.global.load @a : i32
  %b = util.global.load @b : i32
  %c = util.global.load @c : i32
  %d = util.global.load @d : i32
  util.return %a, %b, %c, %d : i32, i32, i32, i32
}

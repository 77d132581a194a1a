// RUN: mesh-opt %s --canonicalize | filecheck %s

// CHECK-LABEL: util.func public @numbers
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[M:.*]] = arith.maxui %n, %[[EIGHT]] : index
// CHECK: util.return %[[EIGHT]], %n, %[[FOUR]], %[[M]], %m
util.func public @numbers(%n: index, %m: index) -> (index, index, index, index, index) {
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %0 = util.align %c5, %c8 : index
  %1 = util.align %n, %c1 : index
  %2 = util.sizeof f32
  %3 = util.range.max %c5, %n, %c8 : index
  %4 = util.switch index from [%n, %m] at %c1 else %c8 : index
  util.return %0, %1, %2, %3, %4 : index, index, index, index, index
}

// Numbers that no float of 64 bits holds.
// CHECK-LABEL: util.func public @large
// CHECK: %[[LARGE:.*]] = arith.constant 9007199254740994 : index
// CHECK: util.return %[[LARGE]]
util.func public @large() -> index {
  %c2 = arith.constant 2 : index
  %large = arith.constant 9007199254740993 : index
  %0 = util.align %large, %c2 : index
  util.return %0 : index
}

// The last number of a range is the one before its end.

// CHECK-LABEL: util.func public @extents
// CHECK: %[[END:.*]] = arith.addi %n, %m : index
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %{{.*}} : index
// CHECK: util.return %n, %[[LAST]]
util.func public @extents(%n: index, %m: index) -> (index, index) {
  %0, %1 = util.range.extents [%n for %m] : index
  util.return %0, %1 : index, index
}

// CHECK-LABEL: util.func public @casts
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[NULL:.*]] = util.null : !util.object
// CHECK-NOT: util.cast
// CHECK: util.return %b, %[[NULL]], %[[TRUE]]
util.func public @casts(%b: !util.buffer) -> (!util.buffer, !util.object, i1) {
  %0 = util.cast %b : !util.buffer to !util.object
  %1 = util.cast %0 : !util.object to !util.buffer
  %2 = util.null : !util.buffer
  %3 = util.cast %2 : !util.buffer to !util.object
  %4 = util.cmp.eq %b, %b : !util.buffer
  util.return %1, %3, %4 : !util.buffer, !util.object, i1
}

// CHECK-LABEL: util.func public @subspans
// CHECK: %[[AT:.*]] = arith.addi %o, %q : index
// CHECK: %[[X:.*]] = util.buffer.load %b[%[[AT]] for %{{.*}}] : !util.buffer{%n} -> i32
// CHECK: util.return %[[X]], %p
util.func public @subspans(%b: !util.buffer, %n: index, %o: index, %p: index, %q: index) -> (i32, index) {
  %c4 = arith.constant 4 : index
  %0 = util.buffer.subspan %b[%o] : !util.buffer{%n} -> !util.buffer{%p}
  %1 = util.buffer.load %0[%q for %c4] : !util.buffer{%p} -> i32
  %2 = util.buffer.size %0 : !util.buffer
  util.return %1, %2 : i32, index
}

// CHECK-NOT: util.initializer
// CHECK-LABEL: util.func public @globals
// CHECK-NEXT: %[[OLD:.*]] = util.global.load @g : i32
// CHECK-NEXT: util.global.store %v, @g : i32
// CHECK-NEXT: util.return %[[OLD]]
util.global private mutable @g : i32
util.initializer {
  util.return
}
util.func public @globals(%v: i32) -> i32 {
  %p = util.global.address @g : !util.ptr<i32>
  %0 = util.global.load @g : i32
  util.global.store %0, @g : i32
  util.global.store.indirect %v, %p : i32 -> !util.ptr<i32>
  util.return %0 : i32
}

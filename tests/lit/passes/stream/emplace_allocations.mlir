// RUN: mesh-opt %s --iree-stream-emplace-allocations | filecheck %s

// CHECK-LABEL: @halves
util.func private @halves(%x: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %target = stream.async.alloca : !stream.resource<*>{%c64}
  // CHECK: %0 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n], %target[%c0 to %c32 for %c32]) : (!stream.resource<*>{%n}, !stream.resource<*>{%c64}) -> %target{%c64}
  %0 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c32}
  %1 = stream.async.update %0, %target[%c0 to %c32] : !stream.resource<*>{%c32} -> %target as !stream.resource<*>{%c64}
  // CHECK-NEXT: %1 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n], %0[%c32 to %c64 for %c32]) : (!stream.resource<*>{%n}, !stream.resource<*>{%c64}) -> %0{%c64}
  %2 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c32}
  %3 = stream.async.update %2, %1[%c32 to %c64] : !stream.resource<*>{%c32} -> %1 as !stream.resource<*>{%c64}
  // CHECK-NEXT: util.return %1
  util.return %3 : !stream.resource<*>
}

// The place is made behind the dispatch.
// CHECK-LABEL: @place_behind
util.func private @place_behind(%x: !stream.resource<*>, %n: index, %v: i32) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // CHECK: %end = arith.addi %n, %c32
  // CHECK-NEXT: %target = stream.async.splat %v
  // CHECK-NEXT: stream.async.dispatch @ex::@f(%x[%c0 to %n for %n], %target[%n to %end for %c32])
  %0 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c32}
  %end = arith.addi %n, %c32 : index
  %target = stream.async.splat %v : i32 -> !stream.resource<*>{%end}
  %1 = stream.async.update %0, %target[%n to %end] : !stream.resource<*>{%c32} -> %target as !stream.resource<*>{%end}
  util.return %1 : !stream.resource<*>
}

// Kernels take results in order, behind operands: the second one stays behind the first.
// CHECK-LABEL: @two_results
util.func private @two_results(%x: !stream.resource<*>, %n: index, %target: !stream.resource<*>, %other: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK: stream.async.dispatch @ex::@g(%x[%c0 to %n for %n], %target[%c0 to %c8 for %c8]) : (!stream.resource<*>{%n}, !stream.resource<*>{%n}) -> (%target{%n}, !stream.resource<*>{%c8})
  %0:2 = stream.async.dispatch @ex::@g(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> (!stream.resource<*>{%c8}, !stream.resource<*>{%c8})
  %1 = stream.async.update %0#0, %target[%c0 to %c8] : !stream.resource<*>{%c8} -> %target as !stream.resource<*>{%n}
  // CHECK: stream.async.dispatch @ex::@g(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> (!stream.resource<*>{%c8}, !stream.resource<*>{%c8})
  %2:2 = stream.async.dispatch @ex::@g(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> (!stream.resource<*>{%c8}, !stream.resource<*>{%c8})
  // CHECK-NEXT: stream.async.update
  %3 = stream.async.update %2#1, %other[%c0 to %c8] : !stream.resource<*>{%c8} -> %other as !stream.resource<*>{%n}
  util.return %0#1, %1, %2#0, %3 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// Somebody else reads the result, it is in storage already, its place depends on it, or another
// device puts it there.
// CHECK-LABEL: @kept
// CHECK-COUNT-4: stream.async.update
util.func private @kept(%x: !stream.resource<*>, %n: index, %target: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %0 = stream.async.dispatch @ex::@f(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c8}
  %1 = stream.async.update %0, %target[%c0 to %c8] : !stream.resource<*>{%c8} -> %target as !stream.resource<*>{%n}
  %2 = stream.async.dispatch @ex::@f(%0[%c0 to %c8 for %c8]) : (!stream.resource<*>{%c8}) -> %0{%c8}
  %3 = stream.async.update %2, %1[%c0 to %c8] : !stream.resource<*>{%c8} -> %1 as !stream.resource<*>{%n}
  %4:2 = stream.async.dispatch @ex::@g(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> (!stream.resource<*>{%c8}, !stream.resource<*>{%n})
  %5 = stream.async.update %4#0, %4#1[%c0 to %c8] : !stream.resource<*>{%c8} -> %4#1 as !stream.resource<*>{%n}
  %6 = stream.async.dispatch on(#hal.device.affinity<@a>) @ex::@f(%x[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%c8}
  %7 = stream.async.update on(#hal.device.affinity<@b>) %6, %5[%c0 to %c8] : !stream.resource<*>{%c8} -> %5 as !stream.resource<*>{%n}
  util.return %3, %7 : !stream.resource<*>, !stream.resource<*>
}

// RUN: mesh-opt %s --split-input-file --iree-stream-reuse-allocations | filecheck %s

// CHECK-LABEL: @chain
// CHECK: %a, %at = stream.resource.alloca
// CHECK: %t = stream.cmd.execute await(%at) => with(%a as
// CHECK-NEXT: fill
// CHECK: %u = stream.cmd.execute await(%t) => with(%a as
// CHECK-NEXT: fill
// CHECK: %[[D:.*]] = stream.resource.dealloca await(%u) => %a
// CHECK-NEXT: util.return %[[D]], %t
util.func public @chain(%n: index, %v: i32) -> (!stream.timepoint, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %a, %at = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  %t = stream.cmd.execute await(%at) => with(%a as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %d = stream.resource.dealloca await(%t) => %a : !stream.resource<transient>{%n} => !stream.timepoint
  %b, %bt = stream.resource.alloca uninitialized await(%d) => !stream.resource<transient>{%n} => !stream.timepoint
  %u = stream.cmd.execute await(%bt) => with(%b as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e = stream.resource.dealloca await(%u) => %b : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %e, %d : !stream.timepoint, !stream.timepoint
}

// -----

// What the second allocation waits for besides is waited for still; one of two gets the storage.
// CHECK-LABEL: @joined
// CHECK: %a, %at = stream.resource.alloca
// CHECK-NEXT: %j = stream.timepoint.join max(%at, %s)
// CHECK-NEXT: %c, %ct = stream.resource.alloca uninitialized await(%j)
// CHECK-NEXT: stream.resource.dealloca await(%j) => %a
// CHECK-NEXT: stream.resource.dealloca await(%ct) => %c
util.func public @joined(%n: index, %s: !stream.timepoint) -> (!stream.timepoint, !stream.timepoint) {
  %a, %at = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  %d = stream.resource.dealloca await(%at) => %a : !stream.resource<transient>{%n} => !stream.timepoint
  %j = stream.timepoint.join max(%d, %s) => !stream.timepoint
  %b, %bt = stream.resource.alloca uninitialized await(%j) => !stream.resource<transient>{%n} => !stream.timepoint
  %c, %ct = stream.resource.alloca uninitialized await(%j) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.resource.dealloca await(%bt) => %b : !stream.resource<transient>{%n} => !stream.timepoint
  %f = stream.resource.dealloca await(%ct) => %c : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %e, %f : !stream.timepoint, !stream.timepoint
}

// -----

// Other sizes, lifetimes and devices.
// CHECK-LABEL: @others
// CHECK-COUNT-4: stream.resource.alloca
util.global private @device : !hal.device
util.func public @others(%n: index, %m: index) -> !stream.timepoint {
  %a, %at = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  %ad = stream.resource.dealloca await(%at) => %a : !stream.resource<transient>{%n} => !stream.timepoint
  %b, %bt = stream.resource.alloca uninitialized await(%ad) => !stream.resource<transient>{%m} => !stream.timepoint
  %bd = stream.resource.dealloca await(%bt) => %b : !stream.resource<transient>{%m} => !stream.timepoint
  %c, %ct = stream.resource.alloca uninitialized await(%bd) => !stream.resource<external>{%m} => !stream.timepoint
  %cd = stream.resource.dealloca await(%ct) => %c : !stream.resource<external>{%m} => !stream.timepoint
  %e, %et = stream.resource.alloca uninitialized on(#hal.device.affinity<@device>) await(%cd) => !stream.resource<external>{%m} => !stream.timepoint
  %ed = stream.resource.dealloca on(#hal.device.affinity<@device>) await(%et) => %e : !stream.resource<external>{%m} => !stream.timepoint
  util.return %ed : !stream.timepoint
}

// RUN: mesh-opt %s --iree-stream-automatic-reference-counting | filecheck %s

// A resource is given back behind all that uses it in its block; what is returned lives on.

// CHECK-LABEL: util.func private @main
// CHECK: %[[R:.*]], %[[T:.*]] = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>)
// CHECK: %[[S:.*]], %{{.*}} = stream.resource.alloca
// CHECK: %[[U:.*]] = stream.cmd.execute
// CHECK: %[[V:.*]] = stream.cmd.execute
// CHECK: %[[D:.*]] = stream.resource.dealloca on(#hal.device.affinity<@a>) await(%[[V]]) => %[[R]]
// CHECK-NEXT: stream.timepoint.await %[[D]] => %[[S]]
// CHECK-NEXT: util.return
util.global private @a : !hal.device
util.func private @main(%n: index, %v: i32) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %r, %t = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>) : !stream.resource<transient>{%n} => !stream.timepoint
  %s, %w = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>) : !stream.resource<external>{%n} => !stream.timepoint
  %u = stream.cmd.execute on(#hal.device.affinity<@a>) await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %j = stream.timepoint.join max(%u, %w) => !stream.timepoint
  %0 = stream.cmd.execute on(#hal.device.affinity<@a>) await(%j) => with(%r as %a: !stream.resource<transient>{%n}, %s as %b: !stream.resource<external>{%n}) {
    stream.cmd.copy %a[%c0], %b[%c0], %n : !stream.resource<transient>{%n} -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %1 = stream.timepoint.await %0 => %s : !stream.resource<external>{%n}
  util.return %1 : !stream.resource<external>
}

// Branches and loops are waited for, if what they return tells when they are over.

// CHECK-LABEL: util.func private @branch
util.func private @branch(%p: i1, %n: index, %v: i32) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  // CHECK: %[[R:.*]], %{{.*}} = stream.resource.alloca
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: %[[U:.*]] = scf.if
  %u = scf.if %p -> !stream.timepoint {
    %0 = stream.cmd.execute await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    %1 = stream.cmd.execute await(%0) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    scf.yield %1 : !stream.timepoint
  } else {
    scf.yield %t : !stream.timepoint
  }
  // Whichever branch runs, %u is reached after %t.
  // CHECK-NOT: stream.timepoint.join
  // CHECK: stream.resource.dealloca origin await(%[[U]]) => %[[R]]
  util.return %u : !stream.timepoint
}

// CHECK-LABEL: util.func private @loop
util.func private @loop(%m: index, %n: index, %v: i32) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: %[[L:.*]] = scf.for
  %l = scf.for %i = %c0 to %m step %c1 iter_args(%x = %t) -> !stream.timepoint {
    %0 = stream.cmd.execute await(%x) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    scf.yield %0 : !stream.timepoint
  }
  // CHECK: stream.resource.dealloca origin await(%[[L]])
  util.return %l : !stream.timepoint
}

// The host waits in the branch.
// CHECK-LABEL: util.func private @awaited
util.func private @awaited(%p: i1, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  scf.if %p {
    %0 = stream.cmd.execute await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    %1 = stream.timepoint.await %0 => %r : !stream.resource<transient>{%n}
  }
  // CHECK: stream.resource.dealloca
  util.return
}

// Nothing tells when earlier iterations are over, nor when this branch is; these resources live on.
// CHECK-LABEL: util.func private @unordered
// CHECK-NOT: stream.resource.dealloca
util.func private @unordered(%m: index, %n: index, %v: i32) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  %l = scf.for %i = %c0 to %m step %c1 iter_args(%x = %t) -> !stream.timepoint {
    %0 = stream.cmd.execute await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
    scf.yield %0 : !stream.timepoint
  }
  util.return %l : !stream.timepoint
}
// CHECK-LABEL: util.func private @lost
// CHECK-NOT: stream.resource.dealloca
util.func private @lost(%p: i1, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
  scf.if %p {
    %0 = stream.cmd.execute await(%t) => with(%r as %a: !stream.resource<transient>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    } => !stream.timepoint
  }
  util.return
}

// RUN: mesh-opt %s --iree-stream-automatic-reference-counting | filecheck %s

// A resource is given back behind all that uses it in its block; what is returned lives on.

// CHECK-LABEL: util.func private @main
// CHECK: %[[R:.*]], %[[T:.*]] = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>)
// CHECK: %[[S:.*]], %{{.*}} = stream.resource.alloca
// CHECK: %[[U:.*]] = stream.cmd.execute
// CHECK: %[[V:.*]] = stream.cmd.execute
// CHECK: %[[J:.*]] = stream.timepoint.join max(%[[U]], %[[V]])
// CHECK-NEXT: stream.resource.dealloca on(#hal.device.affinity<@a>) await(%[[J]]) => %[[R]]
// CHECK-NEXT: stream.timepoint.await %[[V]] => %[[S]]
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

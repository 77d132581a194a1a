// RUN: mesh-opt %s --iree-stream-schedule-execution | filecheck %s

// A device does what it can without asking the host; a transfer is done by the receiver.

// CHECK-LABEL: util.func public @groups
// CHECK-NEXT: %[[H:.*]] = arith.addi %n, %n : index
// CHECK-NEXT: %[[A:.*]], %[[A_T:.*]] = stream.async.execute on(#hal.device.affinity<@a>) with(%r as %[[R:.*]]: !stream.resource<external>{%n}) -> !stream.resource<transient>{%n} {
// CHECK-NEXT:   %[[C:.*]] = stream.async.clone %[[R]]
// CHECK-NEXT:   %[[S:.*]] = stream.async.splat %v : i32 -> !stream.resource<transient>{%[[H]]}
// CHECK-NEXT:   %[[U:.*]] = stream.async.copy %[[S]][%n to %[[H]]], %[[C]][%o to %n], %n {{.*}} -> %[[C]] as
// CHECK-NEXT:   stream.yield %[[U]] : !stream.resource<transient>{%n}
// CHECK-NEXT: } => !stream.timepoint
// CHECK-NEXT: %[[W:.*]] = stream.timepoint.await %[[A_T]] => %[[A]] : !stream.resource<transient>{%n}
// CHECK-NEXT: %[[B:.*]], %[[B_T:.*]] = stream.async.execute on(#hal.device.affinity<@b>) with(%[[W]] as %[[X:.*]]: {{.*}} {
// CHECK-NEXT:   %[[T:.*]] = stream.async.transfer %[[X]] : {{.*}} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>)
// CHECK-NEXT:   %[[F:.*]] = stream.async.fill %v, %[[T]]
// CHECK-NEXT:   stream.yield %[[F]]
// CHECK: %[[V:.*]] = stream.timepoint.await %[[B_T]] => %[[B]]
// CHECK-NEXT: util.return %[[V]]
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @groups(%r: !stream.resource<external>, %n: index, %o: index, %v: i32) -> !stream.resource<external> {
  %0 = stream.async.clone on(#hal.device.affinity<@a>) %r : !stream.resource<external>{%n} -> !stream.resource<transient>{%n}
  %m = arith.addi %n, %n : index
  %1 = stream.async.splat on(#hal.device.affinity<@a>) %v : i32 -> !stream.resource<transient>{%m}
  %2 = stream.async.copy on(#hal.device.affinity<@a>) %1[%n to %m], %0[%o to %n], %n : !stream.resource<transient>{%m} -> %0 as !stream.resource<transient>{%n}
  %3 = stream.async.transfer %2 : !stream.resource<transient>{%n} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<external>{%n}
  %4 = stream.async.fill on(#hal.device.affinity<@b>) %v, %3[%o to %n for %n] : i32 -> %3 as !stream.resource<external>{%n}
  util.return %4 : !stream.resource<external>
}

// Loops and branches have groups of their own, behind and in front of those around them.

// CHECK-LABEL: util.func public @nested
// CHECK: stream.async.execute
// CHECK: stream.timepoint.await
// CHECK: scf.if
// CHECK:   stream.async.execute {{.*}} -> %[[Y:.*]]{%n} {
// CHECK: stream.async.execute
// CHECK-NEXT: stream.async.splat
util.func public @nested(%n: index, %o: index, %v: i32, %c: i1) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %0 = stream.async.splat on(#hal.device.affinity<@a>) %v : i32 -> !stream.resource<transient>{%n}
  %1 = scf.if %c -> !stream.resource<transient> {
    %2 = stream.async.fill on(#hal.device.affinity<@a>) %v, %0[%o to %n for %n] : i32 -> %0 as !stream.resource<transient>{%n}
    scf.yield %2 : !stream.resource<transient>
  } else {
    scf.yield %0 : !stream.resource<transient>
  }
  %3 = stream.async.splat on(#hal.device.affinity<@a>) %v : i32 -> !stream.resource<transient>{%n}
  util.return %1, %3 : !stream.resource<transient>, !stream.resource<transient>
}

// A region waits for what its operations wait for.

// CHECK-LABEL: util.func public @waiting
// CHECK: %[[JOIN:.*]] = stream.timepoint.join max(%t, %u)
// CHECK: stream.async.execute on({{.*}}) await(%[[JOIN]]) => with() ->
// CHECK-NEXT: stream.async.splat %v
// CHECK-NEXT: stream.async.splat %v
util.func public @waiting(%n: index, %v: i32, %t: !stream.timepoint, %u: !stream.timepoint) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %0 = stream.async.splat on(#hal.device.affinity<@a>) await(%t) %v : i32 -> !stream.resource<transient>{%n}
  %1 = stream.async.splat on(#hal.device.affinity<@a>) await(%u) %v : i32 -> !stream.resource<transient>{%n}
  util.return %0, %1 : !stream.resource<transient>, !stream.resource<transient>
}

// RUN: mesh-opt %s --allow-unregistered-dialect --iree-stream-propagate-timepoints | filecheck %s

// Devices wait for devices; the host waits where it needs something. What is written in place waits
// for those that read it before.

// CHECK-LABEL: util.func public @main
// CHECK: %[[R:.*]], %[[T:.*]] = stream.async.execute on(#hal.device.affinity<@a>) with(
// CHECK: %[[S:.*]], %[[U:.*]] = stream.async.execute on(#hal.device.affinity<@b>) await(%[[T]]) => with(%[[R]] as
// CHECK: %[[J:.*]] = stream.timepoint.join max(%[[T]], %[[U]])
// CHECK-NEXT: stream.async.execute on(#hal.device.affinity<@a>) await(%[[J]]) => with(%[[R]] as %{{.*}}) -> %[[R]]{%n} {
// CHECK: "test.host"
// CHECK-NEXT: %[[W:.*]] = stream.timepoint.await %[[U]] => %[[S]]
// CHECK-NEXT: util.return %[[W]]
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @main(%x: !stream.resource<external>, %n: index, %v: i32) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %0, %t = stream.async.execute on(#hal.device.affinity<@a>) with(%x as %i: !stream.resource<external>{%n}) -> !stream.resource<transient>{%n} {
    %9 = stream.async.dispatch @ex::@f(%i[%c0 to %n for %n]) : (!stream.resource<external>{%n}) -> !stream.resource<transient>{%n}
    stream.yield %9 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %1 = stream.timepoint.await %t => %0 : !stream.resource<transient>{%n}
  %2, %u = stream.async.execute on(#hal.device.affinity<@b>) with(%1 as %i: !stream.resource<transient>{%n}) -> !stream.resource<external>{%n} {
    %9 = stream.async.transfer %i : !stream.resource<transient>{%n} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<external>{%n}
    stream.yield %9 : !stream.resource<external>{%n}
  } => !stream.timepoint
  %3 = stream.timepoint.await %u => %2 : !stream.resource<external>{%n}
  %4, %w = stream.async.execute on(#hal.device.affinity<@a>) with(%1 as %i: !stream.resource<transient>{%n}) -> %1 as !stream.resource<transient>{%n} {
    %9 = stream.async.fill %v, %i[%c0 to %n for %n] : i32 -> %i as !stream.resource<transient>{%n}
    stream.yield %9 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %5 = stream.timepoint.await %w => %4 : !stream.resource<transient>{%n}
  %6 = "test.host"() : () -> i32
  util.return %3 : !stream.resource<external>
}

// A wait of the host that is asked for stays where it is.
// CHECK-LABEL: @asked_for
// CHECK-NEXT: stream.timepoint.await sync %t => %r
// CHECK-NEXT: return
util.func public @asked_for(%t: !stream.timepoint, %r: !stream.resource<constant>, %n: index) {
  %w = stream.timepoint.await sync %t => %r : !stream.resource<constant>{%n}
  util.return
}

// Blocks of a region carry a resource, but its operation does not.
// CHECK-LABEL: @blocks_of_a_region
util.func public @blocks_of_a_region(%value: !stream.resource<external>, %size: index, %again: i1) -> index {
  // CHECK: scf.execute_region
  %0 = scf.execute_region -> index {
    // CHECK: cf.br ^bb1(%value, %{{.*}} : !stream.resource<external>, !stream.timepoint)
    cf.br ^bb1(%value : !stream.resource<external>)
  // CHECK: ^bb1(%carried: !stream.resource<external>, %[[READY:.*]]: !stream.timepoint):
  ^bb1(%carried: !stream.resource<external>):
    // CHECK: %[[NEXT:.*]], %[[DONE:.*]] = stream.async.execute await(%[[READY]])
    %next, %done = stream.async.execute with(%carried as %inner: !stream.resource<external>{%size}) -> !stream.resource<external>{%size} {
      %copy = stream.async.clone %inner : !stream.resource<external>{%size} -> !stream.resource<external>{%size}
      stream.yield %copy : !stream.resource<external>{%size}
    } => !stream.timepoint
    %ready = stream.timepoint.await %done => %next : !stream.resource<external>{%size}
    // CHECK: cf.cond_br %again, ^bb1(%[[NEXT]], %[[DONE]] : !stream.resource<external>, !stream.timepoint), ^bb2
    cf.cond_br %again, ^bb1(%ready : !stream.resource<external>), ^bb2
  ^bb2:
    scf.yield %size : index
  }
  util.return %0 : index
}

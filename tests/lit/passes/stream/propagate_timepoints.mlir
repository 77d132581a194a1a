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

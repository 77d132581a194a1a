// RUN: mesh-opt %s --iree-stream-schedule-concurrency | filecheck %s

// Operations that need nothing of each other are in one wave, as late as it is without one more.

// CHECK-LABEL: util.func private @waves
// CHECK: stream.async.execute with(%x as %[[X:.*]]: !stream.resource<external>{%n})
// CHECK-NEXT: %[[A:.*]]:3 = stream.async.concurrent with(%[[X]] as %[[Y:.*]]: !stream.resource<external>{%n}) -> (
// CHECK-NEXT:   %[[S:.*]] = stream.async.splat %v
// CHECK-NEXT:   %[[F:.*]] = stream.async.dispatch @ex::@f(%[[Y]][
// CHECK-NEXT:   %[[G:.*]] = stream.async.dispatch @ex::@g(%[[Y]][
// CHECK-NEXT:   stream.yield %[[S]], %[[F]], %[[G]]
// CHECK: %[[B:.*]] = stream.async.dispatch @ex::@h(%[[A]]#1[{{.*}}], %[[A]]#2[
// CHECK-NEXT: %[[C:.*]] = stream.async.dispatch @ex::@h(%[[A]]#0[{{.*}}], %[[B]][
// CHECK-NEXT: stream.yield %[[C]]
util.func private @waves(%x: !stream.resource<external>, %n: index, %v: i32) -> (!stream.resource<external>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %r, %t = stream.async.execute with(%x as %a: !stream.resource<external>{%n}) -> !stream.resource<external>{%n} {
    %0 = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
    %1 = stream.async.dispatch @ex::@f(%a[%c0 to %n for %n]) : (!stream.resource<external>{%n}) -> !stream.resource<transient>{%n}
    %2 = stream.async.dispatch @ex::@g(%a[%c0 to %n for %n]) : (!stream.resource<external>{%n}) -> !stream.resource<transient>{%n}
    %3 = stream.async.dispatch @ex::@h(%1[%c0 to %n for %n], %2[%c0 to %n for %n]) : (!stream.resource<transient>{%n}, !stream.resource<transient>{%n}) -> !stream.resource<transient>{%n}
    %4 = stream.async.dispatch @ex::@h(%0[%c0 to %n for %n], %3[%c0 to %n for %n]) : (!stream.resource<transient>{%n}, !stream.resource<transient>{%n}) -> !stream.resource<external>{%n}
    stream.yield %4 : !stream.resource<external>{%n}
  } => !stream.timepoint
  util.return %r, %t : !stream.resource<external>, !stream.timepoint
}

// What writes in place is behind those that read what was there, though no value says so.

// CHECK-LABEL: util.func private @in_place
// CHECK-NOT: concurrent
util.func private @in_place(%x: !stream.resource<transient>, %n: index, %v: i32) -> (!stream.resource<transient>, !stream.resource<external>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %r:2, %t = stream.async.execute with(%x as %a: !stream.resource<transient>{%n}) -> (%x{%n}, !stream.resource<external>{%n}) {
    %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<external>{%n}
    %1 = stream.async.fill %v, %a[%c0 to %n for %n] : i32 -> %a as !stream.resource<transient>{%n}
    stream.yield %1, %0 : !stream.resource<transient>{%n}, !stream.resource<external>{%n}
  } => !stream.timepoint
  util.return %r#0, %r#1, %t : !stream.resource<transient>, !stream.resource<external>, !stream.timepoint
}

// Processes meet in collectives, so these keep their order.

// CHECK-LABEL: util.func private @meeting
// CHECK: stream.async.concurrent
// CHECK-NEXT: stream.async.collective<all_reduce with sum : f32>[%n] channel(%c) %[[A:.*]][
// CHECK-NEXT: stream.async.collective<all_reduce with sum : f32>[%n] channel(%c) %[[B:.*]][
// CHECK-NEXT: stream.yield
util.func private @meeting(%x: !stream.resource<transient>, %y: !stream.resource<transient>, %n: index, %c: !stream.channel) -> (!stream.resource<transient>, !stream.resource<transient>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %r:2, %t = stream.async.execute with(%x as %a: !stream.resource<transient>{%n}, %y as %b: !stream.resource<transient>{%n}) -> (%x{%n}, %y{%n}) {
    %0 = stream.async.collective<all_reduce with sum : f32>[%n] channel(%c) %a[%c0 to %n for %n], %a[%c0 to %n for %n] : !stream.resource<transient>{%n} -> %a as !stream.resource<transient>{%n}
    %1 = stream.async.collective<all_reduce with sum : f32>[%n] channel(%c) %b[%c0 to %n for %n], %b[%c0 to %n for %n] : !stream.resource<transient>{%n} -> %b as !stream.resource<transient>{%n}
    stream.yield %0, %1 : !stream.resource<transient>{%n}, !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %r#0, %r#1, %t : !stream.resource<transient>, !stream.resource<transient>, !stream.timepoint
}

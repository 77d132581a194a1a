// RUN: mesh-opt %s --split-input-file --allow-unregistered-dialect --iree-stream-propagate-timepoints | filecheck %s

// A global has a timepoint: the initializer does not wait for what it starts, who loads it does.

// CHECK: util.global private mutable @g__timepoint_0 = #stream.timepoint<immediate> : !stream.timepoint
// CHECK: util.initializer
// CHECK: %[[R:.*]], %[[T:.*]] = stream.async.execute with()
// CHECK: util.global.store %[[T]], @g__timepoint_0 : !stream.timepoint
// CHECK-NEXT: util.global.store %[[R]], @g
// CHECK-LABEL: util.func public @use
// CHECK: %[[P:.*]] = util.global.load @g__timepoint_0
// CHECK: %[[G:.*]] = util.global.load @g :
// CHECK: stream.async.execute await(%[[P]]) => with(%[[G]] as
// A function that callers see is done with what it stores.
// CHECK: %[[I:.*]] = stream.timepoint.immediate
// CHECK-NEXT: util.global.store %[[I]], @h__timepoint
// CHECK-NEXT: %[[W:.*]] = stream.timepoint.await %{{.*}}
// CHECK-NEXT: util.global.store %[[W]], @h
util.global private @g__timepoint : i32
util.global private @g : !stream.resource<constant>
util.global private mutable @h : !stream.resource<variable>
util.initializer {
  %c4 = arith.constant 4 : index
  %v = arith.constant 3 : i32
  %r, %t = stream.async.execute with() -> !stream.resource<constant>{%c4} {
    %0 = stream.async.splat %v : i32 -> !stream.resource<constant>{%c4}
    stream.yield %0 : !stream.resource<constant>{%c4}
  } => !stream.timepoint
  %z = stream.timepoint.await %t => %r : !stream.resource<constant>{%c4}
  util.global.store %z, @g : !stream.resource<constant>
  util.return
}
util.func public @use(%s: index) {
  %c0 = arith.constant 0 : index
  %g = util.global.load @g : !stream.resource<constant>
  %r, %t = stream.async.execute with(%g as %x: !stream.resource<constant>{%s}) -> !stream.resource<variable>{%s} {
    %0 = stream.async.dispatch @ex::@f(%x[%c0 to %s for %s]) : (!stream.resource<constant>{%s}) -> !stream.resource<variable>{%s}
    stream.yield %0 : !stream.resource<variable>{%s}
  } => !stream.timepoint
  %z = stream.timepoint.await %t => %r : !stream.resource<variable>{%s}
  util.global.store %z, @h : !stream.resource<variable>
  util.return
}

// -----

// Calls of functions that nobody else sees take and give timepoints; others are waited for.

// CHECK-LABEL: util.func private @callee
// CHECK-SAME: (%a: !stream.resource<external>, %[[T:.*]]: !stream.timepoint, %s: index) -> (!stream.resource<external>, !stream.timepoint)
// CHECK: %[[R:.*]], %[[U:.*]] = stream.async.execute await(%[[T]]) => with(%a as
// CHECK: util.return %[[R]], %[[U]]
// CHECK-LABEL: util.func public @caller
// CHECK: %[[I:.*]] = stream.timepoint.immediate
// CHECK-NEXT: %[[X:.*]]:2 = util.call @callee(%a, %[[I]], %s)
// CHECK-NEXT: %[[Y:.*]]:2 = util.call @callee(%[[X]]#0, %[[X]]#1, %s)
// CHECK: %[[W:.*]] = stream.timepoint.await %[[Y]]#1 => %[[Y]]#0
// CHECK: %[[Z:.*]] = util.call @outside(%[[W]])
// CHECK-NEXT: util.return %[[Z]]
util.func private @outside(!stream.resource<external>) -> !stream.resource<external>
util.func private @callee(%a: !stream.resource<external>, %s: index) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %r, %t = stream.async.execute with(%a as %x: !stream.resource<external>{%s}) -> !stream.resource<external>{%s} {
    %0 = stream.async.dispatch @ex::@f(%x[%c0 to %s for %s]) : (!stream.resource<external>{%s}) -> !stream.resource<external>{%s}
    stream.yield %0 : !stream.resource<external>{%s}
  } => !stream.timepoint
  %z = stream.timepoint.await %t => %r : !stream.resource<external>{%s}
  util.return %z : !stream.resource<external>
}
util.func public @caller(%a: !stream.resource<external>, %s: index) -> !stream.resource<external> {
  %0 = util.call @callee(%a, %s) : (!stream.resource<external>, index) -> !stream.resource<external>
  %1 = util.call @callee(%0, %s) : (!stream.resource<external>, index) -> !stream.resource<external>
  %2 = util.call @outside(%1) : (!stream.resource<external>) -> !stream.resource<external>
  util.return %2 : !stream.resource<external>
}

// -----

// So do loops and branches.

// CHECK-LABEL: util.func public @loop
// CHECK: %x, %[[P:.*]] = scf.for %{{.*}} iter_args(%[[Y:.*]] = %a, %[[T:.*]] = %{{.*}}) -> (!stream.resource<external>, !stream.timepoint) {
// CHECK-NEXT: %[[R:.*]], %[[U:.*]] = stream.async.execute await(%[[T]]) => with(%[[Y]] as
// CHECK: scf.yield %[[R]], %[[U]]
// CHECK: cf.cond_br %c, ^[[B:.*]](%x, %[[P]] : !stream.resource<external>, !stream.timepoint), ^[[B]](%a, %{{.*}} :
// CHECK: ^[[B]](%[[Z:.*]]: !stream.resource<external>, %[[V:.*]]: !stream.timepoint):
// CHECK: %[[W:.*]] = stream.timepoint.await %[[V]] => %[[Z]]
// CHECK-NEXT: util.return %[[W]]
util.func public @loop(%n: index, %c: i1, %s: index, %a: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> !stream.resource<external> {
    %r, %t = stream.async.execute with(%y as %q: !stream.resource<external>{%s}) -> !stream.resource<external>{%s} {
      %0 = stream.async.dispatch @ex::@h(%q[%c0 to %s for %s]) : (!stream.resource<external>{%s}) -> !stream.resource<external>{%s}
      stream.yield %0 : !stream.resource<external>{%s}
    } => !stream.timepoint
    %z = stream.timepoint.await %t => %r : !stream.resource<external>{%s}
    scf.yield %z : !stream.resource<external>
  }
  cf.cond_br %c, ^bb1(%x : !stream.resource<external>), ^bb1(%a : !stream.resource<external>)
^bb1(%z: !stream.resource<external>):
  util.return %z : !stream.resource<external>
}

// -----

// Who writes in place to what a loop carries cannot see all who read it: the host waits.

// CHECK-LABEL: util.func public @in_place
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %a) -> (!stream.resource<external>) {
// CHECK: stream.timepoint.await
// CHECK: scf.yield
util.func public @in_place(%n: index, %v: i32, %s: index, %a: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> !stream.resource<external> {
    %r, %t = stream.async.execute with(%y as %q: !stream.resource<external>{%s}) -> %y as !stream.resource<external>{%s} {
      %0 = stream.async.fill %v, %q[%c0 to %s for %s] : i32 -> %q as !stream.resource<external>{%s}
      stream.yield %0 : !stream.resource<external>{%s}
    } => !stream.timepoint
    %z = stream.timepoint.await %t => %r : !stream.resource<external>{%s}
    scf.yield %z : !stream.resource<external>
  }
  util.return %x : !stream.resource<external>
}

// -----

// CHECK-LABEL: util.func public @barrier
// CHECK: %[[R:.*]], %[[T:.*]] = stream.async.execute
// CHECK: util.return %[[R]], %[[T]]
util.func public @barrier(%s: index, %v: i32) -> (!stream.resource<external>, !stream.timepoint) {
  %r, %t = stream.async.execute with() -> !stream.resource<external>{%s} {
    %0 = stream.async.splat %v : i32 -> !stream.resource<external>{%s}
    stream.yield %0 : !stream.resource<external>{%s}
  } => !stream.timepoint
  %z = stream.timepoint.await %t => %r : !stream.resource<external>{%s}
  %y, %u = stream.timepoint.barrier %z : !stream.resource<external>{%s} => !stream.timepoint
  util.return %y, %u : !stream.resource<external>, !stream.timepoint
}

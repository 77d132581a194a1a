// RUN: mesh-opt %s --iree-stream-elide-timepoints | filecheck %s

// CHECK-LABEL: util.func private @main
// CHECK: %[[T:.*]] = stream.cmd.execute with(
// CHECK: %[[U:.*]] = stream.cmd.execute await(%[[T]])
// CHECK-NOT: join
// CHECK: %[[V:.*]] = stream.cmd.execute await(%[[U]])
// CHECK: %[[A:.*]] = stream.timepoint.await %[[V]] => %x
// CHECK-NEXT: util.return %[[A]], %y
util.func private @main(%x: !stream.resource<external>, %y: !stream.resource<external>, %n: index, %v: i32) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %i = stream.timepoint.immediate => !stream.timepoint
  %t = stream.cmd.execute with(%x as %a: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %j = stream.timepoint.join max(%t, %i) => !stream.timepoint
  %u = stream.cmd.execute await(%j) => with(%x as %a: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %k = stream.timepoint.join max(%u, %t, %j) => !stream.timepoint
  %w = stream.cmd.execute await(%k) => with(%x as %a: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %0 = stream.timepoint.await %w => %x : !stream.resource<external>{%n}
  %1 = stream.timepoint.await %t => %y : !stream.resource<external>{%n}
  util.return %0, %1 : !stream.resource<external>, !stream.resource<external>
}

// What is awaited in one branch is not in the other, nor behind both.

// CHECK-LABEL: util.func private @branches
// CHECK-COUNT-3: stream.timepoint.await
util.func private @branches(%x: !stream.resource<external>, %t: !stream.timepoint, %n: index, %p: i1) -> !stream.resource<external> {
  %0 = scf.if %p -> (!stream.resource<external>) {
    %1 = stream.timepoint.await %t => %x : !stream.resource<external>{%n}
    scf.yield %1 : !stream.resource<external>
  } else {
    %2 = stream.timepoint.await %t => %x : !stream.resource<external>{%n}
    scf.yield %2 : !stream.resource<external>
  }
  %3 = stream.timepoint.await %t => %0 : !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// What a loop carries covers what its initial value and every iteration cover. A loop that may not
// run covers nothing if it starts with a timepoint that covers nothing.

// CHECK-LABEL: util.func public @loops
// CHECK: %[[I:.*]] = stream.timepoint.immediate
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%x = %t, %y = %[[I]])
// CHECK-NEXT:   stream.cmd.execute await(%x)
// CHECK: %[[J:.*]] = stream.timepoint.join max(%[[R]]#1, %t)
// CHECK-NEXT: util.return %[[R]]#0, %[[J]]
util.func public @loops(%r: !stream.resource<external>, %t: !stream.timepoint, %n: index, %v: i32) -> (!stream.timepoint, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = stream.timepoint.immediate => !stream.timepoint
  %0:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %t, %y = %i) -> (!stream.timepoint, !stream.timepoint) {
    %1 = stream.timepoint.join max(%x, %t) => !stream.timepoint
    %2 = stream.cmd.execute await(%1) => with(%r as %a: !stream.resource<external>{%n}) {
      stream.cmd.fill %v, %a[%c0 for %n] : i32 -> !stream.resource<external>{%n}
    } => !stream.timepoint
    scf.yield %2, %2 : !stream.timepoint, !stream.timepoint
  }
  %3 = stream.timepoint.join max(%0#0, %t) => !stream.timepoint
  %4 = stream.timepoint.join max(%0#1, %t) => !stream.timepoint
  util.return %3, %4 : !stream.timepoint, !stream.timepoint
}

// Immediate in all that it may be: through calls of private functions, and in private globals.

// CHECK-LABEL: util.func private @callee
// CHECK-NOT: join
// CHECK: util.return %t, %u
// CHECK-LABEL: util.func public @immediate
// CHECK: %[[C:.*]]:2 = util.call @callee
// CHECK-NOT: join
// CHECK: util.return %[[C]]#1
util.global private mutable @g = #stream.timepoint<immediate> : !stream.timepoint
util.func private @callee(%t: !stream.timepoint, %u: !stream.timepoint) -> (!stream.timepoint, !stream.timepoint) {
  %0 = stream.timepoint.join max(%t, %u) => !stream.timepoint
  util.return %t, %0 : !stream.timepoint, !stream.timepoint
}
util.func public @immediate(%u: !stream.timepoint) -> !stream.timepoint {
  %i = stream.timepoint.immediate => !stream.timepoint
  %0:2 = util.call @callee(%i, %u) : (!stream.timepoint, !stream.timepoint) -> (!stream.timepoint, !stream.timepoint)
  util.global.store %0#0, @g : !stream.timepoint
  %1 = util.global.load @g : !stream.timepoint
  %2 = stream.timepoint.join max(%0#0, %0#1, %1) => !stream.timepoint
  util.return %2 : !stream.timepoint
}

// A store of another timepoint, and callers elsewhere, count as well.

// CHECK-LABEL: util.func public @not_immediate
// CHECK-COUNT-2: stream.timepoint.join
util.global private mutable @h = #stream.timepoint<immediate> : !stream.timepoint
util.func public @not_immediate(%t: !stream.timepoint, %u: !stream.timepoint) -> (!stream.timepoint, !stream.timepoint) {
  %0 = util.global.load @h : !stream.timepoint
  util.global.store %u, @h : !stream.timepoint
  %1 = stream.timepoint.join max(%0, %u) => !stream.timepoint
  %2 = stream.timepoint.join max(%t, %u) => !stream.timepoint
  util.return %1, %2 : !stream.timepoint, !stream.timepoint
}
util.func public @caller(%u: !stream.timepoint) {
  %i = stream.timepoint.immediate => !stream.timepoint
  %0:2 = util.call @not_immediate(%i, %u) : (!stream.timepoint, !stream.timepoint) -> (!stream.timepoint, !stream.timepoint)
  util.return
}

// CHECK-LABEL: util.func public @nothing_joined
// CHECK: stream.timepoint.join max() => !stream.timepoint
util.func public @nothing_joined() -> !stream.timepoint {
  %0 = stream.timepoint.join max() => !stream.timepoint
  util.return %0 : !stream.timepoint
}

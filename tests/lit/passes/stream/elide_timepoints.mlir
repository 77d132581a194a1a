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

// RUN: mesh-opt %s --canonicalize | filecheck %s

// A constant pattern becomes the shortest one that repeats to it; any other stays.

// CHECK-LABEL: util.func public @patterns
// CHECK: %[[FIVE:.*]] = arith.constant 5 : i64
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK: stream.async.splat %[[ZERO]] : i8
// CHECK: %[[PAIR:.*]] = arith.constant 1 : i32
// CHECK: stream.async.splat %[[PAIR]] : i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i8
// CHECK: stream.async.splat %[[ONE]] : i8
// CHECK: stream.async.splat %[[FIVE]] : i64
// CHECK: %[[ONES:.*]] = arith.constant -1 : i8
// CHECK: stream.async.fill %[[ONES]], {{.*}} : i8
// CHECK: stream.async.splat %v : i64
util.func public @patterns(%n: index, %v: i64, %r: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %zero = arith.constant 0 : i64
  %pair = arith.constant 4294967297 : i64
  %one = arith.constant 16843009 : i32
  %five = arith.constant 5 : i64
  %ones = arith.constant -1 : i16
  %0 = stream.async.splat %zero : i64 -> !stream.resource<*>{%n}
  %1 = stream.async.splat %pair : i64 -> !stream.resource<*>{%n}
  %2 = stream.async.splat %one : i32 -> !stream.resource<*>{%n}
  %3 = stream.async.splat %five : i64 -> !stream.resource<*>{%n}
  %4 = stream.async.fill %ones, %r[%n to %n for %n] : i16 -> %r as !stream.resource<*>{%n}
  %5 = stream.async.splat %v : i64 -> !stream.resource<*>{%n}
  util.return %0, %1, %2, %3, %4, %5 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// Offsets of commands are computed in front of their region.

// CHECK-LABEL: util.func public @part
// CHECK: %[[A:.*]] = arith.addi %m, %m : index
// CHECK: stream.cmd.execute
// CHECK-NEXT: stream.cmd.serial {
// CHECK-NEXT: stream.cmd.discard %q[%[[A]] for %n]
util.func public @part(%n: index, %m: index, %r: !stream.resource<transient>) -> !stream.timepoint {
  %0 = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%n}) {
    %p = stream.resource.subview %q[%m] : !stream.resource<transient>{%n} -> !stream.resource<transient>{%m}
    stream.cmd.serial {
      stream.cmd.discard %p[%m for %n] : !stream.resource<transient>{%m}
    }
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// CHECK-LABEL: util.func public @channel(%rank: index, %count: index)
// CHECK: %[[OPEN:.*]] = stream.channel.create : !stream.channel
// CHECK-NEXT: %[[RANK:.*]] = stream.channel.rank %[[OPEN]] : index
// CHECK-NEXT: util.return %rank, %count, %[[RANK]] : index, index, index
util.func public @channel(%rank: index, %count: index) -> (index, index, index) {
  %given = stream.channel.create rank(%rank) count(%count) : !stream.channel
  %open = stream.channel.create : !stream.channel
  %0 = stream.channel.rank %given : index
  %1 = stream.channel.count %given : index
  %2 = stream.channel.rank %open : index
  util.return %0, %1, %2 : index, index, index
}

// Only an op that need not wait loses the timepoint that is reached.

// CHECK-LABEL: util.func public @reached
// CHECK: %[[REACHED:.*]] = stream.timepoint.immediate
// CHECK-NEXT: %[[FENCE:.*]] = stream.timepoint.export %[[REACHED]]
// CHECK-NEXT: stream.timepoint.chain_external %[[REACHED]] => (%f : !stream.test.fence)
// CHECK-NEXT: stream.resource.dealloca %r : !stream.resource<transient>{%n}
util.func public @reached(%f: !stream.test.fence, %r: !stream.resource<transient>, %n: index) -> (!stream.test.fence, !stream.timepoint) {
  %0 = stream.timepoint.immediate => !stream.timepoint
  %1 = stream.timepoint.export %0 => (!stream.test.fence)
  stream.timepoint.chain_external %0 => (%f : !stream.test.fence)
  %2 = stream.resource.dealloca await(%0) => %r : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %1, %2 : !stream.test.fence, !stream.timepoint
}

// One slice is at the base of its allocation; the base of several is added to each result.

// CHECK-LABEL: util.func public @one_slice(%size: index)
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: util.return %size, %[[C0]] : index, index
util.func public @one_slice(%size: index) -> (index, index) {
  %0:2 = stream.resource.pack slices({
    [0, 9] = %size
  }) : index
  util.return %0#0, %0#1 : index, index
}

// CHECK-LABEL: util.func public @no_slice(%base: index)
// CHECK-NEXT: util.return %base : index
util.func public @no_slice(%base: index) -> index {
  %0 = stream.resource.pack offset(%base) slices({}) : index
  util.return %0 : index
}

// CHECK-LABEL: util.func public @slices_at_base(%base: index, %size: index)
// CHECK-NEXT: %[[PACK:.*]]:3 = stream.resource.pack on(#hal.device.promise<@d>) slices({
// CHECK: %[[TOTAL:.*]] = arith.addi %base, %[[PACK]]#0 : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %base, %[[PACK]]#1 : index
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %base, %[[PACK]]#2 : index
// CHECK-NEXT: util.return %[[TOTAL]], %[[FIRST]], %[[SECOND]]
util.func public @slices_at_base(%base: index, %size: index) -> (index, index, index) {
  %0:3 = stream.resource.pack on(#hal.device.promise<@d>) offset(%base) slices({
    [0, 9] = %size,
    [3, 8] = %size
  }) : index
  util.return %0#0, %0#1, %0#2 : index, index, index
}

// A join of no timepoints is reached at once.

// CHECK-LABEL: util.func public @nothing_joined
// CHECK-NEXT: %[[REACHED:.*]] = stream.timepoint.immediate => !stream.timepoint
// CHECK-NEXT: util.return %[[REACHED]]
util.func public @nothing_joined() -> !stream.timepoint {
  %0 = stream.timepoint.join max() => !stream.timepoint
  util.return %0 : !stream.timepoint
}

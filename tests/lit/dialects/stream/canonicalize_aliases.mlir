// RUN: mesh-opt %s --canonicalize | filecheck %s

// Values that one op writes in place must not share storage with those that others read.

// The resource is filled in place while its slice still has the earlier contents.
// CHECK-LABEL: @slice_of_written
util.func public @slice_of_written(%r: !stream.resource<*>, %size: index, %v: i32)
    -> (!stream.resource<*>, !stream.resource<*>) {
  // CHECK: stream.async.slice
  %c0 = arith.constant 0 : index
  %0 = stream.async.slice %r[%c0 to %size] : !stream.resource<*>{%size} -> !stream.resource<*>{%size}
  %1 = stream.async.fill %v, %r[%c0 to %size for %size] : i32 -> %r as !stream.resource<*>{%size}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<*>
}

// A copy would read the resource after it has been filled.
// CHECK-LABEL: @update_of_written
util.func public @update_of_written(%r: !stream.resource<*>, %t: !stream.resource<*>, %size: index, %v: i32)
    -> (!stream.resource<*>, !stream.resource<*>) {
  // CHECK: stream.async.update
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %0 = stream.async.slice %r[%c4 to %c8] : !stream.resource<*>{%size} -> !stream.resource<*>{%c4}
  %1 = stream.async.fill %v, %r[%c0 to %size for %size] : i32 -> %r as !stream.resource<*>{%size}
  %2 = stream.async.update %0, %t[%c0 to %c4] : !stream.resource<*>{%c4} -> %t as !stream.resource<*>{%size}
  util.return %1, %2 : !stream.resource<*>, !stream.resource<*>
}

// A slice that starts inside of a repetition is not the same splat.
// CHECK-LABEL: @slice_of_splat
util.func public @slice_of_splat(%v: i32, %size: index) -> (!stream.resource<*>, !stream.resource<*>) {
  // CHECK: %[[ALL:.*]] = stream.async.splat
  // CHECK: stream.async.slice %[[ALL]][%c2 to %c6]
  // CHECK-NOT: stream.async.slice
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%size}
  %1 = stream.async.slice %0[%c2 to %c6] : !stream.resource<*>{%size} -> !stream.resource<*>{%c4}
  %2 = stream.async.slice %0[%c4 to %c8] : !stream.resource<*>{%size} -> !stream.resource<*>{%c4}
  util.return %1, %2 : !stream.resource<*>, !stream.resource<*>
}

// The result is reached no earlier than what it waits for.
// CHECK-LABEL: @no_commands
util.func public @no_commands(%r: !stream.resource<transient>, %size: index, %t: !stream.timepoint) -> !stream.timepoint {
  // CHECK-NEXT: util.return %t
  %0 = stream.cmd.execute await(%t) => with(%r as %c: !stream.resource<transient>{%size}) {
  } => !stream.timepoint
  util.return %0 : !stream.timepoint
}

// A constant of floats has no integer pattern of one element's type.
// CHECK-LABEL: @constants
util.func public @constants() -> (!stream.resource<constant>, !stream.resource<constant>) {
  // CHECK: stream.async.constant {{.*}} = dense<1.000000e+00> : tensor<4xf32>
  // CHECK: stream.tensor.splat %{{.*}} : f32
  %c16 = arith.constant 16 : index
  %0 = stream.async.constant : !stream.resource<constant>{%c16} = dense<1.0> : tensor<4xf32>
  %1 = stream.tensor.constant : tensor<4xf32> in !stream.resource<constant> = dense<1.0> : tensor<4xf32>
  util.return %0, %1 : !stream.resource<constant>, !stream.resource<constant>
}

// RUN: mesh-opt %s --iree-stream-materialize-builtins | filecheck %s
// RUN: mesh-opt %s --iree-stream-materialize-builtins --iree-stream-materialize-builtins | filecheck %s

// CHECK: stream.executable private @__builtin_fill_i64 {
// CHECK: func.func @__builtin_fill_i64(%binding: !stream.binding, %value: i64, %count: index)
// CHECK: linalg.fill ins(%value : i64)
// CHECK: stream.executable private @__builtin_splat_i64 {
// CHECK: func.func @__builtin_splat_i64(%value: i64, %count: index, %binding: !stream.binding)
// CHECK-NOT: stream.executable

// CHECK-LABEL: util.func public @patterns
util.func public @patterns(%n: index, %v: i64, %w: i32, %x: !stream.resource<*>, %a: index, %b: index, %length: index) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  // CHECK: %[[COUNT:.*]] = arith.divui %n, %{{.*}} : index
  // CHECK-NEXT: stream.async.dispatch on(#hal.device.affinity<@d>) @__builtin_splat_i64::@__builtin_splat_i64[%[[COUNT]]](%v, %[[COUNT]]) : (i64, index) -> !stream.resource<*>{%n}
  %0 = stream.async.splat on(#hal.device.affinity<@d>) %v : i64 -> !stream.resource<*>{%n}
  // CHECK: %[[PART:.*]] = arith.divui %length, %{{.*}} : index
  // CHECK-NEXT: stream.async.dispatch @__builtin_fill_i64::@__builtin_fill_i64[%[[PART]]](%x[%a to %b for %length], %v, %[[PART]]) : (!stream.resource<*>{%n}, i64, index) -> %x{%n}
  %1 = stream.async.fill %v, %x[%a to %b for %length] : i64 -> %x as !stream.resource<*>{%n}
  // CHECK: stream.async.splat %w : i32
  %2 = stream.async.splat %w : i32 -> !stream.resource<*>{%n}
  util.return %0, %1, %2 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// A constant that repeats a part of itself is no longer than that part.

// CHECK-LABEL: util.func public @repeated
// CHECK: %[[Z:.*]] = arith.constant 0 : i8
// CHECK: stream.async.splat %[[Z]] : i8
// CHECK: %[[L:.*]] = arith.constant -2 : i32
// CHECK: stream.async.fill %[[L]], {{.*}} : i32
util.func public @repeated(%n: index, %x: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>) {
  %zero = arith.constant 0 : i64
  %low = arith.constant -4294967298 : i64
  %0 = stream.async.splat %zero : i64 -> !stream.resource<*>{%n}
  %1 = stream.async.fill %low, %x[%n to %n for %n] : i64 -> %x as !stream.resource<*>{%n}
  util.return %0, %1 : !stream.resource<*>, !stream.resource<*>
}

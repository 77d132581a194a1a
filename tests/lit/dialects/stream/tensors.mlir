// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Operations on resources that stand for tensors.

// CHECK: util.func private @f(%r: !stream.resource<*>, %s: index, %st: !stream.resource<staging>, %n: index, %fence: !hal.fence, %v: i32, %f: f32, %bv: !hal.buffer_view, %c0: index, %tp: !stream.timepoint) {
// CHECK: %0 = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<?x4xf32>{%n} in !stream.resource<*>{%s}
// CHECK: %1 = stream.tensor.constant on(#hal.device.affinity<@d>) : tensor<2x2xf32> in !stream.resource<constant> = dense<1.000000e+00> : tensor<2x2xf32>
// CHECK: %2 = stream.tensor.splat on(#hal.device.affinity<@d>) %f : f32 -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
// CHECK: %3 = stream.tensor.fill on(#hal.device.affinity<@d>) %f, %r[%c0 for %n] : f32 -> tensor<?xf32>{%n} in %r as !stream.resource<*>{%s}
// CHECK: %4 = stream.tensor.clone on(#hal.device.affinity<@d>) %r : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
// CHECK: %5 = stream.tensor.slice on(#hal.device.affinity<@d>) %r[%c0 for %n] : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
// CHECK: %6 = stream.tensor.update on(#hal.device.affinity<@d>) %4, %r[%c0] : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in %r as !stream.resource<*>{%s}
// CHECK: %7 = stream.tensor.load %st[%c0] : tensor<?xf32>{%n} in !stream.resource<staging>{%s} -> f32
// CHECK: %8 = stream.tensor.store %7, %st[%c0] : f32 -> tensor<?xf32>{%n} in %st as !stream.resource<staging>{%s}
// CHECK: %9 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
// CHECK: %10:2 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%r, %n, %v) : (tensor<?xf32>{%n} in !stream.resource<*>{%s}, index, i32) -> (tensor<?xf32>{%n} in %r{%s}, tensor<4xf32> in !stream.resource<*>{%s})
// CHECK: %11 = stream.tensor.import on(#hal.device.affinity<@d>) consume %bv : !hal.buffer_view -> tensor<?xf32>{%n} in !stream.resource<external>{%s}
// CHECK: %12 = stream.tensor.export on(#hal.device.affinity<@d>) %11 : tensor<?xf32>{%n} in !stream.resource<external>{%s} -> !hal.buffer_view
// CHECK: stream.tensor.trace "k" = [
// CHECK-NEXT:   %st : tensor<?xf32>{%n} in !stream.resource<staging>{%s}
// CHECK-NEXT: ]

util.func private @f(%r: !stream.resource<*>, %s: index, %st: !stream.resource<staging>, %n: index, %fence: !hal.fence, %v: i32, %f: f32, %bv: !hal.buffer_view, %c0: index, %tp: !stream.timepoint) {
  %14 = stream.tensor.empty on(#hal.device.affinity<@d>) : tensor<?x4xf32>{%n} in !stream.resource<*>{%s}
  %15 = stream.tensor.constant on(#hal.device.affinity<@d>) : tensor<2x2xf32> in !stream.resource<constant> = dense<1.0> : tensor<2x2xf32>
  %16 = stream.tensor.splat on(#hal.device.affinity<@d>) %f : f32 -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
  %17 = stream.tensor.fill on(#hal.device.affinity<@d>) %f, %r[%c0 for %n] : f32 -> tensor<?xf32>{%n} in %r as !stream.resource<*>{%s}
  %18 = stream.tensor.clone on(#hal.device.affinity<@d>) %r : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
  %19 = stream.tensor.slice on(#hal.device.affinity<@d>) %r[%c0 for %n] : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
  %20 = stream.tensor.update on(#hal.device.affinity<@d>) %18, %r[%c0] : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in %r as !stream.resource<*>{%s}
  %21 = stream.tensor.load %st[%c0] : tensor<?xf32>{%n} in !stream.resource<staging>{%s} -> f32
  %22 = stream.tensor.store %21, %st[%c0] : f32 -> tensor<?xf32>{%n} in %st as !stream.resource<staging>{%s}
  %23 = stream.tensor.encode on(#hal.device.affinity<@d>) %r : tensor<?xf32>{%n} in !stream.resource<*>{%s} -> tensor<?xf32>{%n} in !stream.resource<*>{%s}
  %24:2 = stream.tensor.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%r, %n, %v) : (tensor<?xf32>{%n} in !stream.resource<*>{%s}, index, i32) -> (tensor<?xf32>{%n} in %r{%s}, tensor<4xf32> in !stream.resource<*>{%s})
  %25 = stream.tensor.import on(#hal.device.affinity<@d>) consume %bv : !hal.buffer_view -> tensor<?xf32>{%n} in !stream.resource<external>{%s}
  %26 = stream.tensor.export on(#hal.device.affinity<@d>) %25 : tensor<?xf32>{%n} in !stream.resource<external>{%s} -> !hal.buffer_view
  stream.tensor.trace "k" = [%st : tensor<?xf32>{%n} in !stream.resource<staging>{%s}]
  util.return
}

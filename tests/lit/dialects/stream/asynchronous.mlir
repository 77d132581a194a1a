// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Operations on bytes.

// CHECK: util.func private @f(%r: !stream.resource<*>, %s: index, %st: !stream.resource<staging>, %n: index, %fence: !hal.fence, %v: i32, %f: f32, %bv: !hal.buffer_view, %c0: index, %tp: !stream.timepoint) {
// CHECK: %0 = stream.async.alloca on(#hal.device.affinity<@d>) : !stream.resource<transient>{%s}
// CHECK: %1 = stream.async.constant on(#hal.device.affinity<@d>) : !stream.resource<constant>{%s} = dense<1.000000e+00> : tensor<4xf32>
// CHECK: %2 = stream.async.splat on(#hal.device.affinity<@d>) %v : i32 -> !stream.resource<*>{%s}
// CHECK: %3 = stream.async.clone on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
// CHECK: %4 = stream.async.slice on(#hal.device.affinity<@d>) %r[%c0 to %s] : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
// CHECK: %5 = stream.async.fill on(#hal.device.affinity<@d>) %v, %r[%c0 to %s for %s] : i32 -> %r as !stream.resource<*>{%s}
// CHECK: %6 = stream.async.update on(#hal.device.affinity<@d>) %3, %r[%c0 to %s] : !stream.resource<*>{%s} -> %r as !stream.resource<*>{%s}
// CHECK: %7 = stream.async.copy on(#hal.device.affinity<@d>) %3[%c0 to %s], %r[%c0 to %s], %s : !stream.resource<*>{%s} -> %r as !stream.resource<*>{%s}
// CHECK: %8 = stream.async.barrier on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s}
// CHECK: %9 = stream.async.transfer %r : !stream.resource<*>{%s} from(#hal.device.affinity<@d>) -> to(#hal.device.affinity<@d>) !stream.resource<*>{%s}
// CHECK: %10 = stream.async.load %st[%c0] : !stream.resource<staging>{%s} -> f32
// CHECK: %11 = stream.async.store %10, %st[%c0] : f32 -> %st as !stream.resource<staging>{%s}
// CHECK: %12:2 = stream.async.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%r[%c0 to %s for %s], %n, %v) {a = 1 : i32} : (!stream.resource<*>{%s}, index, i32) -> (%r{%s}, !stream.resource<*>{%s})
// CHECK: %13 = stream.async.cast on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} -> !stream.resource<external>{%s}
// CHECK: util.func private @nested(%r: !stream.resource<*>, %s: index, %tp: !stream.timepoint) {
// CHECK: %q, %t = stream.async.execute on(#hal.device.affinity<@d>) await(%tp) => with(%r as %a: !stream.resource<*>{%s}) -> !stream.resource<*>{%s} {
// CHECK: %c = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
// CHECK: stream.yield %c : !stream.resource<*>{%s}
// CHECK: } => !stream.timepoint
// CHECK: %q_1, %t_1 = stream.async.execute with(%r as %a_1: !stream.resource<*>{%s}) -> %r{%s} {
// CHECK: %c_1 = stream.async.concurrent with(%a_1 as %b: !stream.resource<*>{%s}) -> %a_1{%s} {
// CHECK: stream.yield %b : !stream.resource<*>{%s}
// CHECK: stream.yield %c_1 : !stream.resource<*>{%s}
// CHECK: } => !stream.timepoint

util.func private @f(%r: !stream.resource<*>, %s: index, %st: !stream.resource<staging>, %n: index, %fence: !hal.fence, %v: i32, %f: f32, %bv: !hal.buffer_view, %c0: index, %tp: !stream.timepoint) {
  %0 = stream.async.alloca on(#hal.device.affinity<@d>) : !stream.resource<transient>{%s}
  %1 = stream.async.constant on(#hal.device.affinity<@d>) : !stream.resource<constant>{%s} = dense<1.0> : tensor<4xf32>
  %2 = stream.async.splat on(#hal.device.affinity<@d>) %v : i32 -> !stream.resource<*>{%s}
  %3 = stream.async.clone on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %4 = stream.async.slice on(#hal.device.affinity<@d>) %r[%c0 to %s] : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
  %5 = stream.async.fill on(#hal.device.affinity<@d>) %v, %r[%c0 to %s for %s] : i32 -> %r as !stream.resource<*>{%s}
  %6 = stream.async.update on(#hal.device.affinity<@d>) %3, %r[%c0 to %s] : !stream.resource<*>{%s} -> %r as !stream.resource<*>{%s}
  %7 = stream.async.copy on(#hal.device.affinity<@d>) %3[%c0 to %s], %r[%c0 to %s], %s : !stream.resource<*>{%s} -> %r as !stream.resource<*>{%s}
  %8 = stream.async.barrier on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s}
  %9 = stream.async.transfer %r : !stream.resource<*>{%s} from(#hal.device.affinity<@d>) -> to(#hal.device.affinity<@d>) !stream.resource<*>{%s}
  %10 = stream.async.load %st[%c0] : !stream.resource<staging>{%s} -> f32
  %11 = stream.async.store %10, %st[%c0] : f32 -> %st as !stream.resource<staging>{%s}
  %12:2 = stream.async.dispatch on(#hal.device.affinity<@d>) @ex::@f[%n](%r[%c0 to %s for %s], %n, %v) {a = 1 : i32} : (!stream.resource<*>{%s}, index, i32) -> (%r{%s}, !stream.resource<*>{%s})
  %13 = stream.async.cast on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%s} -> !stream.resource<external>{%s}
  util.return
}
util.func private @nested(%r: !stream.resource<*>, %s: index, %tp: !stream.timepoint) {
  %q, %t = stream.async.execute on(#hal.device.affinity<@d>) await(%tp) => with(%r as %a: !stream.resource<*>{%s}) -> !stream.resource<*>{%s} {
    %c = stream.async.clone %a : !stream.resource<*>{%s} -> !stream.resource<*>{%s}
    stream.yield %c : !stream.resource<*>{%s}
  } => !stream.timepoint
  %q_1, %t_1 = stream.async.execute with(%r as %a: !stream.resource<*>{%s}) -> %r{%s} {
    %c = stream.async.concurrent with(%a as %b: !stream.resource<*>{%s}) -> %a{%s} {
      stream.yield %b : !stream.resource<*>{%s}
    }
    stream.yield %c : !stream.resource<*>{%s}
  } => !stream.timepoint
  util.return
}

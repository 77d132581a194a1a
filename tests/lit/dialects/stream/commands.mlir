// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What devices do.

// CHECK: util.func private @commands(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %v: i32, %n: index, %c0: index) {
// CHECK: %t = stream.cmd.execute once on(#hal.device.affinity<@d>) await(%tp) => with(%r as %a: !stream.resource<transient>{%s}, %r as %b: !stream.resource<transient>{%s}) {
// CHECK: stream.cmd.concurrent {
// CHECK: stream.cmd.invalidate from(#hal.device.affinity<@d>) %a[%c0 for %s] : !stream.resource<transient>{%s}
// CHECK: stream.cmd.serial {
// CHECK: stream.cmd.fill %v, %a[%c0 for %s] : i32 -> !stream.resource<transient>{%s}
// CHECK: stream.cmd.copy %a[%c0], %b[%c0], %s : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
// CHECK: stream.cmd.discard %b[%c0 for %s] : !stream.resource<transient>{%s}
// CHECK: stream.cmd.dispatch {@ex::@f, @ex::@g}[%n](%v, %n : i32, index) {
// CHECK-NEXT:   ro %a[%c0 for %s] : !stream.resource<transient>{%s},
// CHECK-NEXT:   rw %b[%c0 for %s] : !stream.resource<transient>{%s}
// CHECK-NEXT: }
// CHECK: stream.cmd.dispatch @ex::@g {
// CHECK-NEXT:   wo %b[%c0 for %s] : !stream.resource<transient>{%s}
// CHECK-NEXT: }
// CHECK: stream.cmd.flush to(#hal.device.affinity<@d>) %b[%c0 for %s] : !stream.resource<transient>{%s}
// CHECK: } => !stream.timepoint

util.func private @commands(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %v: i32, %n: index, %c0: index) {
  %t = stream.cmd.execute once on(#hal.device.affinity<@d>) await(%tp) => with(%r as %a: !stream.resource<transient>{%s}, %r as %b: !stream.resource<transient>{%s}) {
    stream.cmd.concurrent {
      stream.cmd.invalidate from(#hal.device.affinity<@d>) %a[%c0 for %s] : !stream.resource<transient>{%s}
      stream.cmd.serial {
        stream.cmd.fill %v, %a[%c0 for %s] : i32 -> !stream.resource<transient>{%s}
        stream.cmd.copy %a[%c0], %b[%c0], %s : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
      }
      stream.cmd.discard %b[%c0 for %s] : !stream.resource<transient>{%s}
    }
    stream.cmd.dispatch {@ex::@f, @ex::@g}[%n](%v, %n : i32, index) {ro %a[%c0 for %s] : !stream.resource<transient>{%s}, rw %b[%c0 for %s] : !stream.resource<transient>{%s}}
    stream.cmd.dispatch @ex::@g {wo %b[%c0 for %s] : !stream.resource<transient>{%s}}
    stream.cmd.flush to(#hal.device.affinity<@d>) %b[%c0 for %s] : !stream.resource<transient>{%s}
  } => !stream.timepoint
  util.return
}

// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// How constants come onto devices.

// CHECK: util.global private mutable @ready = #stream.timepoint<immediate> : !stream.timepoint
// CHECK: util.func private @f
// CHECK: %did, %r = stream.resource.try_map on(#hal.device.affinity<@d>) %b[%o] : !util.buffer -> i1, !stream.resource<constant>{%s}
// CHECK: %f = stream.file.constant on(#hal.device.affinity<@d>) %b[%o for %s] : !util.buffer{%s} -> !stream.file
// CHECK: %t = stream.file.read on(#hal.device.affinity<@d>) await(%tp) => %f[%i], %r[%o], %s : !stream.file -> !stream.resource<constant>{%s} => !stream.timepoint
// CHECK: %u = stream.file.write : %r[%o], %f[%i], %s : !stream.resource<constant>{%s} -> !stream.file => !stream.timepoint
util.global private mutable @ready = #stream.timepoint<immediate> : !stream.timepoint
util.func private @f(%b: !util.buffer, %o: index, %s: index, %i: i64, %tp: !stream.timepoint) {
  %did, %r = stream.resource.try_map on(#hal.device.affinity<@d>) %b[%o] : !util.buffer -> i1, !stream.resource<constant>{%s}
  %f = stream.file.constant on(#hal.device.affinity<@d>) %b[%o for %s] : !util.buffer{%s} -> !stream.file
  %t = stream.file.read on(#hal.device.affinity<@d>) await(%tp) => %f[%i], %r[%o], %s : !stream.file -> !stream.resource<constant>{%s} => !stream.timepoint
  %u = stream.file.write : %r[%o], %f[%i], %s : !stream.resource<constant>{%s} -> !stream.file => !stream.timepoint
  util.return
}

// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Where bytes come from and how they are cut.

// CHECK: util.func private @resources(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %scope: !util.buffer, %key: !util.buffer, %o: i64, %c0: index) {
// CHECK: %a = stream.resource.alloc uninitialized on(#hal.device.affinity<@d>) : !stream.resource<variable>{%s}
// CHECK: %b, %b_1 = stream.resource.alloca uninitialized indeterminate on(#hal.device.affinity<@d>) await(%tp) => !stream.resource<transient>{%s} => !stream.timepoint
// CHECK: %c, %c_1 = stream.resource.alloca uninitialized : !stream.resource<transient>{%s} => !stream.timepoint
// CHECK: %d = stream.resource.dealloca origin on(#hal.device.affinity<@d>) await(%tp) => %b : !stream.resource<transient>{%s} => !stream.timepoint
// CHECK: %e = stream.resource.size %r : !stream.resource<transient>
// CHECK: %f = stream.resource.subview %r[%c0] : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
// CHECK: %g:3 = stream.resource.pack on(#hal.device.affinity<@d>) offset(%c0) slices({
// CHECK-NEXT:   [0, 2] = %s,
// CHECK-NEXT:   [1, 3] = %s
// CHECK-NEXT: }) : index
// CHECK: %h, %h_1 = stream.cmd.parameter.load on(#hal.device.affinity<@d>) await(%tp) => {
// CHECK-NEXT:   %scope::%key[%o] : !stream.resource<constant>{%s}
// CHECK-NEXT: } => !stream.timepoint
// CHECK: %i, %i_1 = stream.cmd.parameter.load {
// CHECK-NEXT:   %key[%o] : !stream.resource<constant>{%s}
// CHECK-NEXT: } => !stream.timepoint
// CHECK: %k = stream.tensor.constant : tensor<4xf32> in !stream.resource<constant> = #stream.parameter.named<"model"::"w"> : tensor<4xf32>

util.func private @resources(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %scope: !util.buffer, %key: !util.buffer, %o: i64, %c0: index) {
  %a = stream.resource.alloc uninitialized on(#hal.device.affinity<@d>) : !stream.resource<variable>{%s}
  %b, %b_1 = stream.resource.alloca uninitialized indeterminate on(#hal.device.affinity<@d>) await(%tp) => !stream.resource<transient>{%s} => !stream.timepoint
  %c, %c_1 = stream.resource.alloca uninitialized : !stream.resource<transient>{%s} => !stream.timepoint
  %d = stream.resource.dealloca origin on(#hal.device.affinity<@d>) await(%tp) => %b : !stream.resource<transient>{%s} => !stream.timepoint
  %e = stream.resource.size %r : !stream.resource<transient>
  %f = stream.resource.subview %r[%c0] : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
  %g, %g_1, %g_2 = stream.resource.pack on(#hal.device.affinity<@d>) offset(%c0) slices({[0, 2] = %s, [1, 3] = %s}) : index
  %h, %h_1 = stream.cmd.parameter.load on(#hal.device.affinity<@d>) await(%tp) => {%scope::%key[%o] : !stream.resource<constant>{%s}} => !stream.timepoint
  %i, %i_1 = stream.cmd.parameter.load {%key[%o] : !stream.resource<constant>{%s}} => !stream.timepoint
  %k = stream.tensor.constant : tensor<4xf32> in !stream.resource<constant> = #stream.parameter.named<"model"::"w"> : tensor<4xf32>
  util.return
}

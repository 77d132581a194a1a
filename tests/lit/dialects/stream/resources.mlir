// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Where bytes come from and how they are cut.

// CHECK: util.func private @resources(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %scope: !util.buffer, %key: !util.buffer, %o: i64, %c0: index) {
// CHECK: %e = stream.resource.size %r : !stream.resource<transient>
// CHECK: %f = stream.resource.subview %r[%c0] : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
// CHECK: %k = stream.tensor.constant : tensor<4xf32> in !stream.resource<constant> = #stream.parameter.named<"model"::"w"> : tensor<4xf32>

util.func private @resources(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %scope: !util.buffer, %key: !util.buffer, %o: i64, %c0: index) {
  %e = stream.resource.size %r : !stream.resource<transient>
  %f = stream.resource.subview %r[%c0] : !stream.resource<transient>{%s} -> !stream.resource<transient>{%s}
  %k = stream.tensor.constant : tensor<4xf32> in !stream.resource<constant> = #stream.parameter.named<"model"::"w"> : tensor<4xf32>
  util.return
}

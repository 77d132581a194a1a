// RUN: mesh-opt %s --fold-constant-encodes | filecheck %s
// RUN: mesh-opt %s --fold-constant-encodes --iree-stream-encode-host-tensors | filecheck %s --check-prefix=BYTES

#lhs = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {
  encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [2, 1], outerDimsPerm = [0, 1]}}>]>
#rhs = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {
  encoding_info = {innerDimsPos = [1, 0], innerTileSizes = [2, 1], outerDimsPerm = [1, 0]}}>]>
#on_a = #hal.device.affinity<@a>

util.global private @w : !stream.resource<constant>

// Rows are filled up with zeros; where the constant was is not asked.
// CHECK-LABEL: util.initializer
// CHECK-NOT: tensor<3x2xi32>
// CHECK: %[[P:.*]] = stream.tensor.constant on({{.*}}@a>) : tensor<2x2x2x1xi32> in !stream.resource<*>
// CHECK-SAME{LITERAL}: dense<[[[[1], [3]], [[2], [4]]], [[[5], [0]], [[6], [0]]]]>
// CHECK: stream.async.cast on({{.*}}) %[[P]] : !stream.resource<*>
// BYTES: arith.constant 32 : index
// BYTES: stream.async.constant on({{.*}}) : !stream.resource<*>
util.initializer {
  %s = arith.constant 24 : index
  %t = arith.constant 32 : index
  %0 = stream.tensor.constant on(#on_a) : tensor<3x2xi32> in !stream.resource<constant>
    = dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %1 = stream.async.cast on(#on_a) %0 : !stream.resource<constant>{%s} -> !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#on_a) %1 : tensor<3x2xi32> in !stream.resource<*>{%s}
    -> tensor<3x2xi32, #lhs> in !stream.resource<*>{%t}
  %3 = stream.async.cast on(#on_a) %2 : !stream.resource<*>{%t} -> !stream.resource<constant>{%t}
  util.global.store %3, @w : !stream.resource<constant>
  util.return
}

// The same value everywhere, and no tile to fill up.
// CHECK-LABEL: util.func public @splat
// CHECK: stream.tensor.constant : tensor<2x3x2x1xf32> in !stream.resource<*> = dense<2.000000e+00> : tensor<2x3x2x1xf32>
util.func public @splat() -> !stream.resource<*> {
  %s = arith.constant 48 : index
  %0 = stream.tensor.constant : tensor<3x4xf32> in !stream.resource<*> = dense<2.0> : tensor<3x4xf32>
  %1 = stream.tensor.encode %0 : tensor<3x4xf32> in !stream.resource<*>{%s}
    -> tensor<3x4xf32, #rhs> in !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// What is known at run time only is encoded then.
// CHECK-LABEL: util.func public @unknown
// CHECK: stream.tensor.encode
util.func public @unknown(%0: !stream.resource<*>) -> !stream.resource<*> {
  %s = arith.constant 48 : index
  %1 = stream.tensor.encode %0 : tensor<3x4xf32> in !stream.resource<*>{%s}
    -> tensor<3x4xf32, #rhs> in !stream.resource<*>{%s}
  util.return %1 : !stream.resource<*>
}

// The bytes of a constant that are read as a tensor of another shape.
// CHECK-LABEL: util.func public @other_shape
// CHECK: stream.tensor.encode
util.func public @other_shape() -> !stream.resource<*> {
  %s = arith.constant 24 : index
  %t = arith.constant 32 : index
  %0 = stream.tensor.constant : tensor<2x3xi32> in !stream.resource<*> = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %1 = stream.tensor.encode %0 : tensor<3x2xi32> in !stream.resource<*>{%s}
    -> tensor<3x2xi32, #lhs> in !stream.resource<*>{%t}
  util.return %1 : !stream.resource<*>
}

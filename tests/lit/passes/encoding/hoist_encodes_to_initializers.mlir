// RUN: mesh-opt %s --split-input-file --allow-unregistered-dialect --hoist-encodes-to-initializers | filecheck %s

#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 2, 2]>

// A weight is encoded when the module is loaded, once for each device; what changes is not.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 2, 2]>
// CHECK: util.global private @w = dense
util.global private @w = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
util.global private mutable @v = dense<0.0> : tensor<2x2xf32>

// CHECK: util.global private @w__encoded {stream.affinity = #hal.device.affinity<@a>} : tensor<2x2xf32, #encoding
// CHECK: util.initializer {
// CHECK:   %[[C:.*]] = arith.constant {stream.affinity = #hal.device.affinity<@a>} dense<{{\[\[}}1.0
// CHECK:   %[[E:.*]] = flow.tensor.encode %[[C]]
// CHECK:   util.global.store %[[E]], @w__encoded
// CHECK: util.global private @w__encoded_0 {stream.affinity = #hal.device.affinity<@b>}
// CHECK-LABEL: func.func @main
// CHECK-NOT: encode %
// CHECK: util.global.load immutable @w__encoded :
// CHECK: util.global.load immutable @w__encoded :
// CHECK: util.global.load immutable @w__encoded_0 :
// CHECK: flow.tensor.encode %
func.func @main() -> (tensor<2x2xf32, #e>, tensor<2x2xf32, #e>, tensor<2x2xf32, #e>, tensor<2x2xf32, #e>) {
  %0 = util.global.load @w : tensor<2x2xf32>
  %1 = flow.tensor.encode %0 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #hal.device.affinity<@a>}
  %2 = flow.tensor.encode %0 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #hal.device.affinity<@a>}
  %3 = flow.tensor.encode %0 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #hal.device.affinity<@b>}
  %4 = util.global.load @v : tensor<2x2xf32>
  %5 = flow.tensor.encode %4 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #hal.device.affinity<@a>}
  return %1, %2, %3, %5 : tensor<2x2xf32, #e>, tensor<2x2xf32, #e>, tensor<2x2xf32, #e>, tensor<2x2xf32, #e>
}

// -----

#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 2, 2]>

// What a loop does not change is encoded in front of it.

// CHECK-LABEL: func.func @loop
// CHECK: %[[E:.*]] = flow.tensor.encode %w
// CHECK: scf.for
// CHECK:   flow.tensor.encode %x
// CHECK:   "test.use"(%[[E]],
func.func @loop(%w: tensor<2x2xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %w) -> (tensor<2x2xf32>) {
    %0 = flow.tensor.encode %w : tensor<2x2xf32> -> tensor<2x2xf32, #e>
    %1 = flow.tensor.encode %x : tensor<2x2xf32> -> tensor<2x2xf32, #e>
    %2 = "test.use"(%0, %1) : (tensor<2x2xf32, #e>, tensor<2x2xf32, #e>) -> tensor<2x2xf32>
    scf.yield %2 : tensor<2x2xf32>
  }
  return
}

// -----

#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 2, 2]>
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>

// A weight of @a that @b encodes moves there when the module is loaded; a known one is made there.

util.global private @known {stream.affinity = #on_a} = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
util.global private @computed {stream.affinity = #on_a} : tensor<2x2xf32>
util.initializer {
  %0 = arith.constant dense<1.0> : tensor<2x2xf32>
  util.global.store %0, @computed : tensor<2x2xf32>
  util.return
}
// CHECK: util.global private @known__encoded {stream.affinity = #hal.device.affinity<@b>}
// CHECK: util.initializer {
// CHECK-NEXT: %[[C:.*]] = arith.constant {stream.affinity = #hal.device.affinity<@b>} dense<{{\[\[}}1.0
// CHECK-NEXT: flow.tensor.encode %[[C]]
// CHECK: util.global private @computed__encoded {stream.affinity = #hal.device.affinity<@b>}
// CHECK: util.initializer {
// CHECK-NEXT: %[[L:.*]] = util.global.load @computed
// CHECK-NEXT: %[[T:.*]] = flow.tensor.transfer %[[L]] : tensor<2x2xf32> to #hal.device.affinity<@b>
// CHECK-NEXT: flow.tensor.encode %[[T]]
// CHECK-LABEL: func.func @moved
// CHECK-NEXT: util.global.load immutable @known__encoded
// CHECK-NEXT: util.global.load immutable @computed__encoded
// CHECK-NEXT: return
func.func @moved() -> (tensor<2x2xf32, #e>, tensor<2x2xf32, #e>) {
  %0 = util.global.load @known : tensor<2x2xf32>
  %1 = flow.tensor.transfer %0 : tensor<2x2xf32> to #on_b
  %2 = flow.tensor.encode %1 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #on_b}
  %3 = util.global.load @computed : tensor<2x2xf32>
  %4 = flow.tensor.transfer %3 : tensor<2x2xf32> to #on_b
  %5 = flow.tensor.encode %4 : tensor<2x2xf32> -> tensor<2x2xf32, #e> attributes {stream.affinity = #on_b}
  return %2, %5 : tensor<2x2xf32, #e>, tensor<2x2xf32, #e>
}

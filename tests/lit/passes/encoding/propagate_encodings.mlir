// RUN: mesh-opt %s --split-input-file --propagate-encodings | filecheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#e = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 6, 5]>

// Two decoded tensors are added while they are encoded, and the sum is encoded already.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 6, 5]>
// CHECK-LABEL: func.func @sum
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%a, %b : tensor<4x6xf32, #encoding
// CHECK-NOT: set_encoding
// CHECK: return %[[S]]
func.func @sum(%a: tensor<4x6xf32, #e>, %b: tensor<4x6xf32, #e>) -> tensor<4x6xf32, #e> {
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #e> -> tensor<4x6xf32>
  %1 = iree_encoding.unset_encoding %b : tensor<4x6xf32, #e> -> tensor<4x6xf32>
  %o = tensor.empty() : tensor<4x6xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %3 = arith.addf %x, %y : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %4 = iree_encoding.set_encoding %2 : tensor<4x6xf32> -> tensor<4x6xf32, #e>
  return %4 : tensor<4x6xf32, #e>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#e = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [i32, i32, i32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 6, 5]>

// Padding holds anything: dividing by it may trap.

// CHECK-LABEL: func.func @division
// CHECK: %[[A:.*]] = iree_encoding.unset_encoding %a
// CHECK: linalg.generic {{.*}} ins(%[[A]] : tensor<4x6xi32>)
func.func @division(%a: tensor<4x6xi32, #e>) -> tensor<4x6xi32> {
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xi32, #e> -> tensor<4x6xi32>
  %o = tensor.empty() : tensor<4x6xi32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<4x6xi32>) outs(%o : tensor<4x6xi32>) {
  ^bb0(%x: i32, %z: i32):
    %c = arith.constant 12 : i32
    %2 = arith.divsi %c, %x : i32
    linalg.yield %2 : i32
  } -> tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [?, 6, 5]>

// The narrow tensor is laid out, not the wide one.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, 6, 5]>
// CHECK-LABEL: func.func @widened
// CHECK: %[[E:.*]] = iree_encoding.set_encoding %a encoding_dims{%m} : tensor<5x6xbf16> -> tensor<5x6xbf16, #encoding
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<5x6xbf16, #encoding
// CHECK: return %[[W]]
func.func @widened(%a: tensor<5x6xbf16>, %m: index) -> tensor<5x6xf32, #e> {
  %o = tensor.empty() : tensor<5x6xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<5x6xbf16>) outs(%o : tensor<5x6xf32>) {
  ^bb0(%x: bf16, %z: f32):
    %1 = arith.extf %x : bf16 to f32
    linalg.yield %1 : f32
  } -> tensor<5x6xf32>
  %2 = iree_encoding.set_encoding %0 encoding_dims{%m} : tensor<5x6xf32> -> tensor<5x6xf32, #e>
  return %2 : tensor<5x6xf32, #e>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#e = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32]>

// The result lists the sizes that its own type leaves open.

// CHECK-LABEL: func.func @other_open_sizes
// CHECK: iree_encoding.unset_encoding %{{.*}} -> tensor<?x6xf32>{%d}
// CHECK: iree_encoding.unset_encoding %{{.*}} -> tensor<4x6xf32>{{$}}
func.func @other_open_sizes(%a: tensor<4x6xf32, #e>, %b: tensor<?x6xf32, #e>, %d: index) -> (tensor<?x6xf32>, tensor<4x6xf32>) {
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #e> -> tensor<4x6xf32>
  %o = tensor.empty(%d) : tensor<?x6xf32>
  %1 = linalg.exp ins(%0 : tensor<4x6xf32>) outs(%o : tensor<?x6xf32>) -> tensor<?x6xf32>
  %2 = iree_encoding.unset_encoding %b : tensor<?x6xf32, #e> -> tensor<?x6xf32>{%d}
  %p = tensor.empty() : tensor<4x6xf32>
  %3 = linalg.exp ins(%2 : tensor<?x6xf32>) outs(%p : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1, %3 : tensor<?x6xf32>, tensor<4x6xf32>
}

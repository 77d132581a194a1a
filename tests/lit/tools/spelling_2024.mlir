// RUN: mesh-opt %s --spelling=2024 | filecheck %s

// M and N of today's iteration sizes become what 2024 rounded them up to.

// CHECK-NOT: iteration_sizes
// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 8, 32, 32>>
// CHECK: iree_encoding.set_encoding %t : tensor<5x?xf32> -> tensor<5x?xf32, #encoding>
// CHECK: iree_encoding.unset_encoding %{{.*}}{{.*}} -> tensor<5x?xf32>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [5, 100, ?]>
func.func @f(%t: tensor<5x?xf32>, %k: index) -> tensor<5x?xf32> {
  %0 = iree_encoding.set_encoding %t encoding_dims{%k} : tensor<5x?xf32> -> tensor<5x?xf32, #e>
  %1 = iree_encoding.unset_encoding %0 encoding_dims{%k} : tensor<5x?xf32, #e> -> tensor<5x?xf32>{%k}
  return %1 : tensor<5x?xf32>
}

// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Encodings are set and taken away.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, 33, ?]>
// CHECK-DAG: #encoding2 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
// CHECK: func.func @f(%t: tensor<?x?xf32>, %m: index, %k: index) {
// CHECK: %a = iree_encoding.set_encoding %t encoding_dims{%m, %k} : tensor<?x?xf32> -> tensor<?x?xf32, #encoding1>
// CHECK: %b = iree_encoding.unset_encoding %a encoding_dims{%m, %k} : tensor<?x?xf32, #encoding1> -> tensor<?x?xf32>{%m, %k}
// CHECK: %c = iree_encoding.set_encoding %t : tensor<?x?xf32> -> tensor<?x?xf32, #encoding2>
// CHECK: %d = iree_encoding.unset_encoding %c : tensor<?x?xf32, #encoding2> -> tensor<?x?xf32>

#today = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iteration_sizes = [?, 33, ?]>
#in_2024 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], round_dims_to = array<i64: 32, 32, 32>>
func.func @f(%t: tensor<?x?xf32>, %m: index, %k: index) {
  %a = iree_encoding.set_encoding %t encoding_dims{%m, %k} : tensor<?x?xf32> -> tensor<?x?xf32, #today>
  %b = iree_encoding.unset_encoding %a encoding_dims{%m, %k} : tensor<?x?xf32, #today> -> tensor<?x?xf32>{%m, %k}
  %c = iree_encoding.set_encoding %t : tensor<?x?xf32> -> tensor<?x?xf32, #in_2024>
  %d = iree_encoding.unset_encoding %c : tensor<?x?xf32, #in_2024> -> tensor<?x?xf32>
  func.return
}

// Encodings that do not say which sizes they have take any number of them.

// CHECK-LABEL: func.func @of_other_encodings(
// CHECK: iree_encoding.set_encoding %t encoding_dims{%m, %k} : tensor<?x?xf32> -> tensor<?x?xf32, #encoding>
// CHECK: iree_encoding.set_encoding %t encoding_dims{%k} : tensor<?x?xf32> -> tensor<?x?xf32, #iree_encoding.padding<[0, ?]>>
func.func @of_other_encodings(%t: tensor<?x?xf32>, %m: index, %k: index) {
  %a = iree_encoding.set_encoding %t encoding_dims{%m, %k} : tensor<?x?xf32> -> tensor<?x?xf32, #iree_encoding.testing<>>
  %b = iree_encoding.set_encoding %t encoding_dims{%k} : tensor<?x?xf32> -> tensor<?x?xf32, #iree_encoding.padding<[0, ?]>>
  func.return
}

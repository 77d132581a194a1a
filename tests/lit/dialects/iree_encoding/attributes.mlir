// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Every attribute, in both spellings, keys in any order.

// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = scaled_matmul, element_types = [f32]>
// CHECK-DAG: #encoding1 = #iree_encoding.layout<[#iree_encoding.padding<[0, ?, 64]>, #iree_encoding.identity]>
// CHECK-DAG: #encoding2 = #iree_encoding.unknown
// CHECK-DAG: #encoding3 = #iree_encoding.testing<>
// CHECK-DAG: #encoding4 = #iree_encoding.testing<layouts = [#iree_encoding.specialized<12>, #iree_encoding.specialized<12, tensor<4xf32>>], original_element_type = i1>
// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #map4 = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #encoding5 = #iree_encoding.encoding<operand_index = 0 : index, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map3], bcast_map = #map4, round_dims_to = array<i64: 32, 32, 32>, targets = [#iree_cpu.vmvx_encoding_solver<>]>
// CHECK-DAG: #encoding6 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, bf16, f32], original_element_type = i4, user_indexing_maps = [#map, [#map1, #map2], #map3], iteration_sizes = [?, 33, 40]>
// CHECK: func.func private @today(tensor<4x8xf32, #encoding6>, tensor<4x8xf32, #encoding>, tensor<4x8xf32, #encoding1>, tensor<4x8xi4, #iree_encoding.packed_storage>, tensor<4x8xf32, #encoding2>, tensor<4x8xf32, #encoding3>, tensor<4x8xf32, #encoding4>) attributes {a = #iree_encoding.unsupported_resolver, b = #iree_encoding.identity_resolver, c = #iree_encoding.specialization_resolver<123>}
// CHECK: func.func private @in_2024(tensor<4x8xf32, #encoding5>)

func.func private @today(
    tensor<4x8xf32, #iree_encoding.encoding<element_types = [f32, bf16, f32], op_type = matmul, operand_index = 1 : index, iteration_sizes = [?, 33, 40], original_element_type = i4, user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, [affine_map<(m, n, k) -> (k, n)>, affine_map<(k, n) -> (k)>], affine_map<(m, n, k) -> (m, n)>]>>,
    tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = scaled_matmul, element_types = [f32]>>,
    tensor<4x8xf32, #iree_encoding.layout<[#iree_encoding.padding<[0, ?, 64]>, #iree_encoding.identity]>>,
    tensor<4x8xi4, #iree_encoding.packed_storage>,
    tensor<4x8xf32, #iree_encoding.unknown>,
    tensor<4x8xf32, #iree_encoding.testing<>>,
    tensor<4x8xf32, #iree_encoding.testing<layouts = [#iree_encoding.specialized<12>, #iree_encoding.specialized<12, tensor<4xf32>>], original_element_type = i1>>) attributes {a = #iree_encoding.unsupported_resolver, b = #iree_encoding.identity_resolver, c = #iree_encoding.specialization_resolver<123>}
func.func private @in_2024(
    tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = conv, element_types = [f32, f32, f32], round_dims_to = array<i64: 32, 32, 32>, bcast_map = affine_map<(d0, d1) -> (d1)>, user_indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], targets = [#iree_cpu.vmvx_encoding_solver<>]>>)

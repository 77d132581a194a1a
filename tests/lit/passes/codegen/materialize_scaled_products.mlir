// RUN: mesh-opt %s --iree-gpu-test-target=gfx950 --iree-codegen-materialize-device-encoding=test-gpu-encoding-resolver=gpu_data_tiling | filecheck %s

// Factors whose blocks of 32 elements share a scale, on matrix instructions that multiply such.

#m0 = affine_map<(m, n, g, i) -> (m, g, i)>
#m1 = affine_map<(m, n, g, i) -> (n, g, i)>
#m2 = affine_map<(m, n, g, i) -> (m, g)>
#m3 = affine_map<(m, n, g, i) -> (n, g)>
#m4 = affine_map<(m, n, g, i) -> (m, n)>
#left = #iree_encoding.encoding<operand_index = 0, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>
#scales = #iree_encoding.encoding<operand_index = 3, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>
#mixed = #iree_encoding.encoding<operand_index = 0, op_type = scaled_matmul, element_types = [f4E2M1FN, f8E5M2, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>

// The elements of a block are adjacent.
// CHECK-LABEL: func.func @factor
// CHECK: %[[P:.*]] = linalg.pack %a {{.*}}outer_dims_perm = [0, 1, 2] inner_dims_pos = [0, 1, 2] inner_tiles = [32, 16, 32] {{.*}} -> tensor<32x7x1x32x16x32xf4E2M1FN>
// CHECK: %[[E:.*]] = tensor.expand_shape %[[P]] {{.*}} into tensor<32x7x1x2x16x4x4x32xf4E2M1FN>
// CHECK: linalg.transpose ins(%[[E]] : {{.*}}) outs(%{{.*}} : tensor<32x7x1x2x4x4x16x32xf4E2M1FN>) permutation = [0, 1, 2, 3, 5, 6, 4, 7]
func.func @factor(%a: tensor<1000x100x32xf4E2M1FN>) -> tensor<1000x100x32xf4E2M1FN, #left> {
  %0 = iree_encoding.set_encoding %a : tensor<1000x100x32xf4E2M1FN> -> tensor<1000x100x32xf4E2M1FN, #left>
  return %0 : tensor<1000x100x32xf4E2M1FN, #left>
}

// The scales of one lane for four instructions are adjacent.
// CHECK-LABEL: func.func @scales
// CHECK: linalg.pack %a {{.*}} inner_tiles = [64, 16]
// CHECK: linalg.transpose {{.*}} outs(%{{.*}} : tensor<16x7x4x4x16x4xf8E8M0FNU>) permutation = [0, 1, 2, 5, 3, 4]
func.func @scales(%a: tensor<1000x100xf8E8M0FNU>) -> tensor<1000x100xf8E8M0FNU, #scales> {
  %0 = iree_encoding.set_encoding %a : tensor<1000x100xf8E8M0FNU> -> tensor<1000x100xf8E8M0FNU, #scales>
  return %0 : tensor<1000x100xf8E8M0FNU, #scales>
}

// No instruction multiplies these two types.
// CHECK-LABEL: func.func @mixed
// CHECK-NEXT: return %a
func.func @mixed(%a: tensor<1000x100x32xf4E2M1FN>) -> tensor<1000x100x32xf4E2M1FN, #mixed> {
  %0 = iree_encoding.set_encoding %a : tensor<1000x100x32xf4E2M1FN> -> tensor<1000x100x32xf4E2M1FN, #mixed>
  return %0 : tensor<1000x100x32xf4E2M1FN, #mixed>
}

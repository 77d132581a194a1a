// RUN: mesh-opt %s --split-input-file --iree-gpu-test-target=gfx942:+xnack@hip --pass-pipeline='builtin.module(func.func(iree-codegen-materialize-device-encoding{test-gpu-encoding-resolver=gpu_data_tiling}))' | filecheck %s
// RUN: mesh-opt %s --split-input-file --iree-gpu-test-target=gfx1201 --pass-pipeline='builtin.module(func.func(iree-codegen-materialize-device-encoding{test-gpu-encoding-resolver=gpu_data_tiling}))' | filecheck %s --check-prefix=WMMA
// RUN: mesh-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(iree-codegen-materialize-device-encoding{test-gpu-encoding-resolver=gpu_padding}))' | filecheck %s --check-prefix=ROWS
// RUN: mesh-opt %s --split-input-file --iree-gpu-test-target=other --iree-codegen-materialize-device-encoding=test-gpu-encoding-resolver=gpu_data_tiling | filecheck %s --check-prefix=ROWS
// RUN: mesh-opt %s --split-input-file --iree-gpu-test-target=gfx942 --iree-codegen-materialize-device-encoding | filecheck %s --check-prefix=ROWS

// A function that names no target is compiled for the processor of the flag, if the pass is asked to.

// CHECK-LABEL: func.func @product(%a: tensor<32x8x2x2x4x16x2x4xf16>, %b: tensor<16x8x2x2x4x16x2x4xf16>,
// CHECK: iree_codegen.inner_tiled {{.*}}<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2, subgroups_m = 2, intrinsics_n = 2, subgroups_n = 2, intrinsics_k = 2
// WMMA-LABEL: func.func @product
// WMMA: intrinsic = WMMAR4_F32_16x16x16_F16
// ROWS-LABEL: func.func @product(%a: tensor<2048x256xf16>, %b: tensor<256x1024xf16>,
// ROWS: linalg.matmul ins(%a, %b : tensor<2048x256xf16>, tensor<256x1024xf16>)
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f16, f16, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [2048, 1024, 256]>
#e1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f16, f16, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [2048, 1024, 256]>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f16, f16, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [2048, 1024, 256]>
func.func @product(%a: tensor<2048x256xf16, #e0>, %b: tensor<256x1024xf16, #e1>, %c: tensor<2048x1024xf32, #e2>) -> tensor<2048x1024xf32, #e2> {
  %0 = linalg.matmul ins(%a, %b : tensor<2048x256xf16, #e0>, tensor<256x1024xf16, #e1>) outs(%c : tensor<2048x1024xf32, #e2>) -> tensor<2048x1024xf32, #e2>
  return %0 : tensor<2048x1024xf32, #e2>
}

// -----

// What is decoded has the sizes that are listed, whatever else is known of it.

// CHECK-LABEL: func.func @sizes
// CHECK: tensor.empty(%m, %n) : tensor<?x?xf32>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f16, f16, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [?, ?, 256]>
func.func @sizes(%c: tensor<?x?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %c encoding_dims{%m, %n} : tensor<?x?xf32> -> tensor<?x?xf32, #e2>
  %1 = util.optimization_barrier %0 : tensor<?x?xf32, #e2>
  %2 = iree_encoding.unset_encoding %1 encoding_dims{%m, %n} : tensor<?x?xf32, #e2> -> tensor<?x?xf32>{%m, %n}
  return %2 : tensor<?x?xf32>
}

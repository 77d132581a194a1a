// RUN: mesh-opt %s --split-input-file --verify-diagnostics | mesh-opt --split-input-file - | filecheck %s

// CHECK-LABEL: @product
// CHECK: iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [#map, #map1, #map2], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x4_F32, operands_interleaving_intrinsics_k = [0, 1]>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> {lowering_config = "x"} : tensor<?x3x4x16xf32>, tensor<5x3x4x16xf32> into tensor<?x5x4x16x4xf32>
func.func @product(%a: tensor<?x3x4x16xf32>, %b: tensor<5x3x4x16xf32>, %c: tensor<?x5x4x16x4xf32>) -> tensor<?x5x4x16x4xf32> {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x4_F32, operands_interleaving_intrinsics_k = [0, 1]>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>> {lowering_config = "x"} : tensor<?x3x4x16xf32>, tensor<5x3x4x16xf32> into tensor<?x5x4x16x4xf32>
  return %0 : tensor<?x5x4x16x4xf32>
}

// -----

func.func @sizes(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has operands with 3 and with 4 tiles along loop 1}}
  %0 = iree_codegen.inner_tiled ins(%a) outs(%b) <indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "x", semantics = "y"> : tensor<2x3xf32> into tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_loop(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{expects maps of 2 loops, not (d0, d1) -> ((d0 + d1))}}
  %0 = iree_codegen.inner_tiled ins(%a) outs(%b) <indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "x", semantics = "y"> : tensor<2x3xf32> into tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @maps(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{has 1 maps for 2 tensors}}
  %0 = iree_codegen.inner_tiled ins(%a) outs(%b) <indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "x", semantics = "y"> : tensor<2x3xf32> into tensor<3xf32>
  return %0 : tensor<3xf32>
}

// RUN: mesh-opt %s --split-input-file | filecheck %s
// RUN: mesh-opt %s --split-input-file --mlir-print-op-generic | mesh-opt --split-input-file | filecheck %s

// CHECK:      %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i, %m : tensor<10x4xf32>, tensor<3xi32>, tensor<3xi1>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
func.func @gather(%s: tensor<10x4xf32>, %i: tensor<3xi32>, %m: tensor<3xi1>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i, %m : tensor<10x4xf32>, tensor<3xi32>, tensor<3xi1>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK: iree_linalg_ext.im2col strides = [1, 1] dilations = [1, 1] kernel_size = [3, %d] offsets = [%d, 0, %e] output_sizes = {{\[\[}}%d], [32, 32], [3, 3, %e]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2] output_pad_high = [0, %d, 0] pad_value(%p : f32) ins(%a : tensor<?x34x34x640xf32>)
func.func @im2col(%a: tensor<?x34x34x640xf32>, %o: tensor<?x1024x5760xf32>, %d: index, %e: index, %p: f32) -> tensor<?x1024x5760xf32> {
  %0 = iree_linalg_ext.im2col strides = [1, 1] dilations = [1, 1] kernel_size = [3, %d] offsets = [%d, 0, %e] output_sizes = [[%d], [32, 32], [3, 3, %e]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2] output_pad_high = [0, %d, 0] pad_value(%p : f32) ins(%a : tensor<?x34x34x640xf32>) outs(%o : tensor<?x1024x5760xf32>) -> tensor<?x1024x5760xf32>
  return %0 : tensor<?x1024x5760xf32>
}

// -----

// CHECK: iree_linalg_ext.quantize_affine <indexing_maps = [#map, #map1, #map], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<2x10xf32>, tensor<2xf32>) outs(%o : tensor<2x10xi8>) -> tensor<2x10xi8>
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @quantize(%a: tensor<2x10xf32>, %s: tensor<2xf32>, %o: tensor<2x10xi8>) -> tensor<2x10xi8> {
  %0 = iree_linalg_ext.quantize_affine <{indexing_maps = [#m, #r, #m], quant_min = -128 : i64, quant_max = 127 : i64}> ins(%a, %s : tensor<2x10xf32>, tensor<2xf32>) outs(%o : tensor<2x10xi8>) -> tensor<2x10xi8>
  return %0 : tensor<2x10xi8>
}

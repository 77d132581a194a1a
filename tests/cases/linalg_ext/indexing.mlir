// Gathers, scatters, and elements that move to where a body says.
func.func @gathered(%x: tensor<5x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x2x3xf32>) {
  %i = arith.constant dense<[4, 1]> : tensor<2xi32>
  %j = arith.constant dense<[[[0, 3], [4, 2]], [[1, 1], [0, 0]]]> : tensor<2x2x2xi64>
  %e = tensor.empty() : tensor<2x4x3xf32>
  %f = tensor.empty() : tensor<2x2x3xf32>
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%x, %i : tensor<5x4x3xf32>, tensor<2xi32>) outs(%e : tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %1 = iree_linalg_ext.gather dimension_map = [0, 1] ins(%x, %j : tensor<5x4x3xf32>, tensor<2x2x2xi64>) outs(%f : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  return %0, %1 : tensor<2x4x3xf32>, tensor<2x2x3xf32>
}

func.func @scattered(%x: tensor<5x4x3xf32>, %u: tensor<2x4x3xf32>, %v: tensor<3x3xf32>) -> (tensor<5x4x3xf32>, tensor<5x4x3xf32>) {
  %i = arith.constant dense<[[3], [0]]> : tensor<2x1xi32>
  %j = arith.constant dense<[[0, 3], [4, 2], [0, 3]]> : tensor<3x2xi32>
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<2x4x3xf32>, tensor<2x1xi32>) outs(%x : tensor<5x4x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    iree_linalg_ext.yield %new : f32
  } -> tensor<5x4x3xf32>
  %1 = iree_linalg_ext.scatter dimension_map = [0, 1] unique_indices(false) ins(%v, %j : tensor<3x3xf32>, tensor<3x2xi32>) outs(%x : tensor<5x4x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    %sum = arith.addf %new, %old : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<5x4x3xf32>
  return %0, %1 : tensor<5x4x3xf32>, tensor<5x4x3xf32>
}

func.func @mapped(%x: tensor<4x8xf32>, %o: tensor<32xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = iree_linalg_ext.map_store %x into %o {
  ^bb0(%i: index, %j: index):
    %at = affine.apply affine_map<(i, j) -> (i + j * 4)>(%i, %j)
    %c3 = arith.constant 3 : index
    %is_stored = arith.cmpi sgt, %j, %c3 : index
    iree_linalg_ext.yield %at, %is_stored : index, i1
  } : tensor<4x8xf32> into tensor<32xf32> -> tensor<32xf32>
  %1 = iree_linalg_ext.map_load %0 into %e {
  ^bb0(%i: index, %j: index):
    %c9 = arith.constant 9 : index
    %row = arith.muli %i, %c9 : index
    %at = arith.addi %row, %j : index
    %padding = arith.constant 7.0 : f32
    iree_linalg_ext.yield %at, %padding : index, f32
  } : tensor<32xf32> into tensor<4x8xf32> -> tensor<4x8xf32>
  return %0, %1 : tensor<32xf32>, tensor<4x8xf32>
}

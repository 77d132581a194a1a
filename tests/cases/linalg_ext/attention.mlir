// Attention with several batch dimensions, operands in other orders, masks, and a body that reads indices.
#q = affine_map<(b, h, m, n, k1, k2) -> (b, h, m, k1)>
#k = affine_map<(b, h, m, n, k1, k2) -> (b, h, k2, k1)>
#v = affine_map<(b, h, m, n, k1, k2) -> (b, h, k2, n)>
#vt = affine_map<(b, h, m, n, k1, k2) -> (b, h, n, k2)>
#s = affine_map<(b, h, m, n, k1, k2) -> ()>
#mask = affine_map<(b, h, m, n, k1, k2) -> (b, m, k2)>
#o = affine_map<(b, h, m, n, k1, k2) -> (b, h, m, n)>
#ot = affine_map<(b, h, m, n, k1, k2) -> (b, m, h, n)>

func.func @masked(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x5x6xf32>, %m: tensor<2x4x6xf32>) -> tensor<2x3x4x5xf32> {
  %scale = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2x3x4x5xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #vt, #s, #mask, #o]}>
      ins(%q, %k, %v, %scale, %m : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x5x6xf32>, f32, tensor<2x4x6xf32>)
      outs(%e : tensor<2x3x4x5xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x3x4x5xf32>
  return %r : tensor<2x3x4x5xf32>
}

func.func @causal(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x5xf32>) -> tensor<2x4x3x5xf32> {
  %scale = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<2x4x3x5xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #ot]}>
      ins(%q, %k, %v, %scale : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x5xf32>, f32)
      outs(%e : tensor<2x4x3x5xf32>) {
  ^bb0(%score: f32):
    %row = iree_linalg_ext.index 2 : index
    %column = iree_linalg_ext.index 3 : index
    %is_after = arith.cmpi ugt, %column, %row : index
    %low = arith.constant -1.0e+9 : f32
    %kept = arith.select %is_after, %low, %score : f32
    iree_linalg_ext.yield %kept : f32
  } -> tensor<2x4x3x5xf32>
  return %r : tensor<2x4x3x5xf32>
}

// Scaled dot products of attention, split by heads: two heads on each of four devices.
shard.grid @g(shape = 4)
func.func @scores(%q: tensor<8x16x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  %heads = shard.sharding @g split_axes = [[0], [], []] : !shard.sharding
  %q_heads = shard.shard %q to %heads : tensor<8x16x32xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul ins(%q_heads, %k : tensor<8x16x32xf32>, tensor<8x32x16xf32>)
                           outs(%start : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%empty : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %out = tensor.empty() : tensor<8x16x32xf32>
  %begin = linalg.fill ins(%zero : f32) outs(%out : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>)
                           outs(%begin : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %y : tensor<8x16x32xf32>
}

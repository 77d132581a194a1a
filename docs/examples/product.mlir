shard.grid @g(shape = 2x2)

func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x16xf32>
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %o = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x32xf32>)
      outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %o : tensor<8x32xf32>
}

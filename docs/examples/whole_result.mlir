// Rows of %x on two devices each; the result is wanted whole on all.
shard.grid @g(shape = 4)
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %rows = shard.sharding @g split_axes = [[0], []] : !shard.sharding
  %whole = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x32xf32>)
                     outs(%zero : tensor<8x32xf32>) -> tensor<8x32xf32>
  %all = shard.shard %y to %whole : tensor<8x32xf32>
  %users = shard.shard %all to %whole annotate_for_users : tensor<8x32xf32>
  return %users : tensor<8x32xf32>
}

shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s priority = 1 : tensor<4x4xf32>
  %ys = shard.shard %y to %t : tensor<4x4xf32>
  %q = arith.addf %xs, %ys : tensor<4x4xf32>
  return %q : tensor<4x4xf32>
}

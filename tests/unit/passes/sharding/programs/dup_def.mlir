shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %e = math.exp %x : tensor<4x4xf32>
  %d = math.tanh %e : tensor<4x4xf32>
  %es = shard.shard %e to %s : tensor<4x4xf32>
  %et = shard.shard %e to %t : tensor<4x4xf32>
  %a = math.absf %es : tensor<4x4xf32>
  %b = math.absf %et : tensor<4x4xf32>
  %c = arith.addf %b, %d : tensor<4x4xf32>
  return %a, %c : tensor<4x4xf32>, tensor<4x4xf32>
}

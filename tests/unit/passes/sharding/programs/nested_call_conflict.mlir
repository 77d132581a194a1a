shard.grid @g(shape = 2)
func.func private @sq(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = arith.mulf %x, %x : tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}
func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %ys = shard.shard %y to %t : tensor<4x4xf32>
  %a = func.call @sq(%xs) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = func.call @sq(%ys) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

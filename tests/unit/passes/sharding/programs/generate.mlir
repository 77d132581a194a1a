shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x4xf32>, %c: tensor<8xf32>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x4xf32>
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %c[%i] : tensor<8xf32>
    tensor.yield %v : f32
  } : tensor<8x4xf32>
  %y = arith.addf %xs, %g : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

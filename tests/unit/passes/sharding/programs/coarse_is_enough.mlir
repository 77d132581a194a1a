shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x6xf32>
  %e = tensor.expand_shape %xs [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  %y = math.tanh %e : tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}

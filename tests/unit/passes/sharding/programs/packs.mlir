shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x16xf32>
  %e = tensor.empty() : tensor<4x4x2x4xf32>
  %p = linalg.pack %xs inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %e : tensor<8x16xf32> -> tensor<4x4x2x4xf32>
  %y = math.tanh %p : tensor<4x4x2x4xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %u = linalg.unpack %y inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %e2 : tensor<4x4x2x4xf32> -> tensor<8x16xf32>
  return %u : tensor<8x16xf32>
}

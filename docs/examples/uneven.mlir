// Seven rows on four devices.
shard.grid @g(shape = 4)
func.func @main(%x: tensor<7x16xf32>) -> tensor<7x16xf32> {
  %rows = shard.sharding @g split_axes = [[0], []] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<7x16xf32>
  %y = arith.mulf %a, %a : tensor<7x16xf32>
  return %y : tensor<7x16xf32>
}

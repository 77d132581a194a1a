// A constant that the program annotates, and that another user wants split otherwise.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %c = arith.constant dense<1.0> : tensor<8x8xf32>
  %c_rows = shard.shard %c to %rows : tensor<8x8xf32>
  %y_columns = shard.shard %y to %columns : tensor<8x8xf32>
  %s = arith.addf %x, %c_rows : tensor<8x8xf32>
  %t = arith.addf %y_columns, %c : tensor<8x8xf32>
  return %s, %t : tensor<8x8xf32>, tensor<8x8xf32>
}

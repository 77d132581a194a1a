shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %ws = shard.shard %w to %t annotate_for_users : tensor<4x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %xs, %b = %x) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %m = arith.addf %b, %ws : tensor<4x4xf32>
    %n = arith.mulf %a, %a : tensor<4x4xf32>
    scf.yield %m, %n : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %r#1 : tensor<4x4xf32>
}

// A transposition of rows that are split unevenly.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<7x4xf32>) -> tensor<4x7xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<7x4xf32>
  %y = tosa.transpose %xs {perms = array<i32: 1, 0>} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %r = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %yr = shard.shard %y to %r : tensor<4x7xf32>
  return %yr : tensor<4x7xf32>
}

// Offsets alone and through an op, gathered.
// Collectives: 2 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %o = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  %r = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %o annotate_for_users : tensor<8x4xf32>
  %y = tosa.tanh %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = shard.shard %y to %o : tensor<8x4xf32>
  %c = shard.shard %b to %r annotate_for_users : tensor<8x4xf32>
  return %c, %y : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Offsets 2 dims, a shard empty.
// Collectives: 1 all_gather, 1 all_slice, 1 all_to_all.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %o = shard.sharding @g split_axes = [[0], [1]] sharded_dims_offsets = [0, 3, 8, 0, 0, 4] : !shard.sharding
  %r = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %a = shard.shard %x to %o annotate_for_users : tensor<8x4xf32>
  %y = tosa.tanh %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = shard.shard %y to %r annotate_for_users : tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}

// -----

// Offsets on two axes of one dim.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0, 1]] sharded_dims_offsets = [0, 1, 3, 6, 8] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x4xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.addf } ins(%a : tensor<8x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
  return %r : tensor<4xf32>
}

// -----

// Two operands with different offsets.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  %t = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 5, 8] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x4xf32>
  %b = shard.shard %y to %t annotate_for_users : tensor<8x4xf32>
  %r = arith.addf %a, %b : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

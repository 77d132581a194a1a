// Rows in reverse: shards change places, each process reverses its own.
// Collectives: 1 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x3xi32>) -> tensor<8x3xi32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x3xi32>
  %e = tensor.empty() : tensor<8x3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (7 - i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x3xi32>) outs(%e : tensor<8x3xi32>) {
  ^bb0(%p: i32, %q: i32):
    linalg.yield %p : i32
  } -> tensor<8x3xi32>
  %rs = shard.shard %r to %s : tensor<8x3xi32>
  return %rs : tensor<8x3xi32>
}

// -----

// Three tensors joined along rows that are split unevenly.
// Collectives: 1 all_gather, 5 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x3xi32>, %y: tensor<4x3xi32>, %w: tensor<5x3xi32>) -> tensor<17x3xi32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x3xi32>
  %b = shard.shard %y to %s annotate_for_users : tensor<4x3xi32>
  %r = tensor.concat dim(0) %a, %b, %w : (tensor<8x3xi32>, tensor<4x3xi32>, tensor<5x3xi32>) -> tensor<17x3xi32>
  %rs = shard.shard %r to %s : tensor<17x3xi32>
  return %rs : tensor<17x3xi32>
}

// -----

// Two halves joined along split rows.
// Collectives: 4 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x3xi32>, %y: tensor<8x3xi32>) -> tensor<16x3xi32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x3xi32>
  %b = shard.shard %y to %s annotate_for_users : tensor<8x3xi32>
  %r = tensor.concat dim(0) %a, %b : (tensor<8x3xi32>, tensor<8x3xi32>) -> tensor<16x3xi32>
  %rs = shard.shard %r to %s : tensor<16x3xi32>
  return %rs : tensor<16x3xi32>
}

// -----

// Half of each row rotated: slices and a join of split columns.
// Collectives: 3 update_halo.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>, %c: tensor<4x8xf32>, %sn: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %lo = tensor.extract_slice %a[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %hi = tensor.extract_slice %a[0, 4] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %n = arith.negf %hi : tensor<4x4xf32>
  %rot = tensor.concat dim(1) %n, %lo : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %p = arith.mulf %a, %c : tensor<4x8xf32>
  %q = arith.mulf %rot, %sn : tensor<4x8xf32>
  %r = arith.addf %p, %q : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Columns of one tensor joined in a ring, rows in shards of other sizes than those of the source.
// Collectives: 1 all_gather, 1 all_slice, 1 send.
shard.grid @g(shape = 2x3)
func.func @f(%x: tensor<12x2xf32>) -> tensor<12x4xf32> {
  %s = shard.sharding @g split_axes = [[1], []] : !shard.sharding
  %a = shard.shard %x to %s : tensor<12x2xf32>
  %n = math.absf %a : tensor<12x2xf32>
  %o = shard.sharding @g split_axes = [[1], [0]] sharded_dims_offsets = [0, 6, 6, 12, 0, 0, 2] : !shard.sharding
  %b = shard.shard %n to %o annotate_for_users : tensor<12x2xf32>
  %r = tensor.concat dim(1) %b, %b : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x4xf32>
  return %r : tensor<12x4xf32>
}

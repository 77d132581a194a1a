// Split tensors inserted into split tensors: shifted, with a stride, of lower rank.
// Collectives: 1 all_gather, 3 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<10x3xi32>, %y: tensor<16x3xi32>, %z: tensor<5xi32>) -> (tensor<16x3xi32>, tensor<17x3xi32>, tensor<16x3xi32>, tensor<20x3xi32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<10x3xi32>
  %ys = shard.shard %y to %s annotate_for_users : tensor<16x3xi32>
  %a = tensor.insert_slice %xs into %ys[5, 0] [10, 3] [1, 1] : tensor<10x3xi32> into tensor<16x3xi32>
  %e = arith.constant dense<0> : tensor<17x3xi32>
  %b = tensor.insert_slice %ys into %e[1, 0] [16, 3] [1, 1] : tensor<16x3xi32> into tensor<17x3xi32>
  %bs = shard.shard %b to %s : tensor<17x3xi32>
  %c = tensor.insert_slice %z into %ys[2, 1] [5, 1] [2, 1] : tensor<5xi32> into tensor<16x3xi32>
  %e2 = arith.constant dense<0> : tensor<20x3xi32>
  %d = tensor.insert_slice %xs into %e2[1, 0] [10, 3] [2, 1] : tensor<10x3xi32> into tensor<20x3xi32>
  %ds = shard.shard %d to %s : tensor<20x3xi32>
  return %a, %bs, %c, %ds : tensor<16x3xi32>, tensor<17x3xi32>, tensor<16x3xi32>, tensor<20x3xi32>
}

// -----

// Two halves joined by insertions.
// Collectives: 1 all_reduce, 2 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> tensor<8x5xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xf32>
  %ys = shard.shard %y to %s annotate_for_users : tensor<4x6xf32>
  %e = tensor.empty() : tensor<8x6xf32>
  %a = tensor.insert_slice %xs into %e[0, 0] [4, 6] [1, 1] : tensor<4x6xf32> into tensor<8x6xf32>
  %b = tensor.insert_slice %ys into %a[4, 0] [4, 6] [1, 1] : tensor<4x6xf32> into tensor<8x6xf32>
  %z = arith.constant dense<0.0> : tensor<8x5xf32>
  %o = linalg.matmul ins(%b, %w : tensor<8x6xf32>, tensor<6x5xf32>) outs(%z : tensor<8x5xf32>) -> tensor<8x5xf32>
  return %o : tensor<8x5xf32>
}

// -----

// A small patch of a large image is whole on each process.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<16x16xf32>, %p: tensor<3x3xf32>) -> tensor<16x16xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<16x16xf32>
  %a = tensor.insert_slice %p into %xs[7, 2] [3, 3] [1, 1] : tensor<3x3xf32> into tensor<16x16xf32>
  return %a : tensor<16x16xf32>
}

// -----

// Into an unknown number of rows, and at an unknown place.
// Collectives: 1 all_slice, 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x4xf32>, %p: tensor<2x4xf32>, %q: tensor<8x4xf32>, %i: index) -> (tensor<?x4xf32>, tensor<8x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x4xf32>
  %qs = shard.shard %q to %s annotate_for_users : tensor<8x4xf32>
  %a = tensor.insert_slice %p into %xs[1, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<?x4xf32>
  %b = tensor.insert_slice %p into %qs[%i, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  return %a, %b : tensor<?x4xf32>, tensor<8x4xf32>
}

// -----

// Two tensors interleaved.
// Collectives: none.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x3xf32>, %y: tensor<8x3xf32>) -> tensor<16x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x3xf32>
  %b = shard.shard %y to %s annotate_for_users : tensor<8x3xf32>
  %e = tensor.empty() : tensor<16x3xf32>
  %r = tensor.insert_slice %a into %e[0, 0] [8, 3] [2, 1] : tensor<8x3xf32> into tensor<16x3xf32>
  %r2 = tensor.insert_slice %b into %r[1, 0] [8, 3] [2, 1] : tensor<8x3xf32> into tensor<16x3xf32>
  %rs = shard.shard %r2 to %s : tensor<16x3xf32>
  return %rs : tensor<16x3xf32>
}

// -----

// A row of a cache at a place known at run time: what is as long as the dimension begins at 0, whatever the index says.
// Collectives: none.
shard.grid @g(shape = 2x4)
func.func @f(%cache: tensor<4x16x8xf32>, %row: tensor<4x1x8xf32>, %i: index) -> (tensor<4x16x8xf32>, tensor<4x1x8xf32>) {
  %s = shard.sharding @g split_axes = [[0], [], [1]] : !shard.sharding
  %c = shard.shard %cache to %s : tensor<4x16x8xf32>
  %r = shard.shard %row to %s : tensor<4x1x8xf32>
  %one = arith.constant 1 : index
  %z = arith.remui %i, %one : index
  %new = tensor.insert_slice %r into %c[%z, %i, %z] [4, 1, 8] [1, 1, 1] : tensor<4x1x8xf32> into tensor<4x16x8xf32>
  %read = tensor.extract_slice %new[%z, %i, %z] [4, 1, 8] [1, 1, 1] : tensor<4x16x8xf32> to tensor<4x1x8xf32>
  return %new, %read : tensor<4x16x8xf32>, tensor<4x1x8xf32>
}

// -----

// Offsets that are clamped to one number, or constants: the slice of known rows is split, and one row is sent by its owner.
// Collectives: 1 broadcast, 2 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x3xf32>, %i: i32) -> (tensor<8x3xf32>, tensor<3xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<16x3xf32>
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %table = arith.constant dense<1> : tensor<i32>
  %p = tensor.extract %table[] : tensor<i32>
  %least = arith.maxsi %p, %zero : i32
  %clamped = arith.minsi %least, %eight : i32
  %place = arith.index_cast %clamped : i32 to index
  %part = tensor.extract_slice %a[%place, 0] [8, 3] [1, 1] : tensor<16x3xf32> to tensor<8x3xf32>
  %part_s = shard.shard %part to %s : tensor<8x3xf32>
  %least2 = arith.maxsi %i, %eight : i32
  %clamped2 = arith.minsi %least2, %eight : i32
  %place2 = arith.index_cast %clamped2 : i32 to index
  %row = tensor.extract_slice %a[%place2, 0] [1, 3] [1, 1] : tensor<16x3xf32> to tensor<3xf32>
  return %part_s, %row : tensor<8x3xf32>, tensor<3xf32>
}

// -----

// Offsets of the shards are those of the tensor that is inserted, the other one is longer.
// Collectives: 3 all_gather, 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<3x6x4xf64>, %y: tensor<3x4x4xf64>) -> tensor<3x6x4xf64> {
  %s = shard.sharding @g split_axes = [[0], [1], []] sharded_dims_offsets = [0, 1, 3, 0, 1, 4] : !shard.sharding
  %ys = shard.shard %y to %s : tensor<3x4x4xf64>
  %r = tensor.insert_slice %ys into %x[0, 0, 0] [3, 4, 4] [1, 1, 1] : tensor<3x4x4xf64> into tensor<3x6x4xf64>
  return %r : tensor<3x6x4xf64>
}

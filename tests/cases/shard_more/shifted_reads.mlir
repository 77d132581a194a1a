// A map with a constant: what is read begins one element after what is written.
// Collectives: 1 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<9x3xi32>) -> tensor<8x3xi32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %e = tensor.empty() : tensor<8x3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + 1, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<9x3xi32>) outs(%e : tensor<8x3xi32>) {
  ^bb0(%p: i32, %q: i32):
    linalg.yield %p : i32
  } -> tensor<8x3xi32>
  %rs = shard.shard %r to %s : tensor<8x3xi32>
  return %rs : tensor<8x3xi32>
}

// -----

// Several shifted reads, a window that is read backward, and one with a stride.
// Collectives: 2 send, 3 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<19x3xi32>, %w: tensor<3xi32>) -> (tensor<16x3xi32>, tensor<16x3xi32>, tensor<7x3xi32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<19x3xi32>
  %e = tensor.empty() : tensor<16x3xi32>
  %e7 = tensor.empty() : tensor<7x3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + 3, j)>, affine_map<(i, j) -> (i + 1, j)>, affine_map<(i, j) -> (i + 2, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%xs, %xs, %xs : tensor<19x3xi32>, tensor<19x3xi32>, tensor<19x3xi32>) outs(%e : tensor<16x3xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %q: i32):
    %d = arith.addi %a, %c : i32
    %t = arith.subi %d, %b : i32
    linalg.yield %t : i32
  } -> tensor<16x3xi32>
  %z = arith.constant dense<0> : tensor<16x3xi32>
  %conv = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i - k + 3, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %w : tensor<19x3xi32>, tensor<3xi32>) outs(%z : tensor<16x3xi32>) {
  ^bb0(%a: i32, %b: i32, %q: i32):
    %d = arith.muli %a, %b : i32
    %t = arith.addi %d, %q : i32
    linalg.yield %t : i32
  } -> tensor<16x3xi32>
  %strided = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i * 2 + 5, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%xs : tensor<19x3xi32>) outs(%e7 : tensor<7x3xi32>) {
  ^bb0(%a: i32, %q: i32):
    linalg.yield %a : i32
  } -> tensor<7x3xi32>
  %rs = shard.shard %r to %s : tensor<16x3xi32>
  return %rs, %conv, %strided : tensor<16x3xi32>, tensor<16x3xi32>, tensor<7x3xi32>
}

// -----

// A window that is read backward along a dimension of unknown size.
// Collectives: 1 all_gather, 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x3xi32>, %w: tensor<3xi32>, %z: tensor<?x3xi32>) -> tensor<?x3xi32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xi32>
  %m = arith.subi %n, %c4 : index
  %zz = tensor.extract_slice %z[0, 0] [%m, 3] [1, 1] : tensor<?x3xi32> to tensor<?x3xi32>
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x3xi32>
  %conv = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i - k + 3, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xs, %w : tensor<?x3xi32>, tensor<3xi32>) outs(%zz : tensor<?x3xi32>) {
  ^bb0(%a: i32, %b: i32, %q: i32):
    %d = arith.muli %a, %b : i32
    %t = arith.addi %d, %q : i32
    linalg.yield %t : i32
  } -> tensor<?x3xi32>
  return %conv : tensor<?x3xi32>
}

// -----

// A slice that lies two shards away: pieces are sent from process to process.
// Collectives: 2 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x3xf32>) -> tensor<8x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<16x3xf32>
  %r = tensor.extract_slice %a[8, 0] [8, 3] [1, 1] : tensor<16x3xf32> to tensor<8x3xf32>
  %rs = shard.shard %r to %s : tensor<8x3xf32>
  return %rs : tensor<8x3xf32>
}

// -----

// What is written at an offset, or in strides, is not split along the loop: some of it nobody writes.
// Collectives: 1 all_gather.
shard.grid @g(shape = 3)
func.func @f(%x: tensor<3x4xi32>, %o: tensor<5x4xi32>, %p: tensor<7x4xi32>) -> (tensor<5x4xi32>, tensor<7x4xi32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<3x4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + 1, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<3x4xi32>) outs(%o : tensor<5x4xi32>) {
  ^bb0(%b: i32, %q: i32):
    linalg.yield %b : i32
  } -> tensor<5x4xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i * 2 + 1, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4xi32>) outs(%p : tensor<7x4xi32>) {
  ^bb0(%b: i32, %q: i32):
    linalg.yield %b : i32
  } -> tensor<7x4xi32>
  %ts = shard.shard %t to %s : tensor<7x4xi32>
  return %r, %ts : tensor<5x4xi32>, tensor<7x4xi32>
}

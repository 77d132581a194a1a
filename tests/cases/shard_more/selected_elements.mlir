// The last token of a sequence that is split: who has it sends it.
// Collectives: 1 broadcast.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<2x16x8xf32>, %w: tensor<8x5xf32>) -> tensor<2x5xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x16x8xf32>
  %last = tensor.extract_slice %xs[0, 15, 0] [2, 1, 8] [1, 1, 1] : tensor<2x16x8xf32> to tensor<2x8xf32>
  %z = arith.constant dense<0.0> : tensor<2x5xf32>
  %o = linalg.matmul ins(%last, %w : tensor<2x8xf32>, tensor<8x5xf32>) outs(%z : tensor<2x5xf32>) -> tensor<2x5xf32>
  return %o : tensor<2x5xf32>
}

// -----

// Rows moved on by one, the last to the front.
// Collectives: 1 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x3xf32>) -> tensor<16x3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<16x3xf32>
  %last = tensor.extract_slice %a[15, 0] [1, 3] [1, 1] : tensor<16x3xf32> to tensor<1x3xf32>
  %rest = tensor.extract_slice %a[0, 0] [15, 3] [1, 1] : tensor<16x3xf32> to tensor<15x3xf32>
  %r = tensor.concat dim(0) %last, %rest : (tensor<1x3xf32>, tensor<15x3xf32>) -> tensor<16x3xf32>
  %d = arith.subf %a, %r : tensor<16x3xf32>
  %ds = shard.shard %d to %s : tensor<16x3xf32>
  return %ds : tensor<16x3xf32>
}

// -----

// Rows of dimensions split along two axes, unevenly, two at once, and of partial sums.
// Collectives: 4 all_gather, 1 all_to_all, 4 broadcast.
shard.grid @g(shape = 2x3)
func.func @f(%x: tensor<11x7x4xi32>, %y: tensor<4x11xi32>) -> (tensor<7x4xi32>, tensor<1x1x4xi32>, tensor<11xi32>) {
  %s = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %u = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %k = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<11x7x4xi32>
  %d = arith.addi %xs, %xs : tensor<11x7x4xi32>
  %a = tensor.extract_slice %d[6, 0, 0] [1, 7, 4] [1, 1, 1] : tensor<11x7x4xi32> to tensor<7x4xi32>
  %xt = shard.shard %x to %t annotate_for_users : tensor<11x7x4xi32>
  %e = arith.muli %xt, %xt : tensor<11x7x4xi32>
  %b = tensor.extract_slice %e[10, 2, 0] [1, 1, 4] [1, 1, 1] : tensor<11x7x4xi32> to tensor<1x1x4xi32>
  %ys = shard.shard %y to %k annotate_for_users : tensor<4x11xi32>
  %z = arith.constant dense<0> : tensor<11x11xi32>
  %et = tensor.empty() : tensor<11x4xi32>
  %yt = linalg.transpose ins(%ys : tensor<4x11xi32>) outs(%et : tensor<11x4xi32>) permutation = [1, 0]
  %m = linalg.matmul ins(%yt, %y : tensor<11x4xi32>, tensor<4x11xi32>) outs(%z : tensor<11x11xi32>) -> tensor<11x11xi32>
  %c = tensor.extract_slice %m[3, 0] [1, 11] [1, 1] : tensor<11x11xi32> to tensor<11xi32>
  return %a, %b, %c : tensor<7x4xi32>, tensor<1x1x4xi32>, tensor<11xi32>
}

// -----

// Rows of explicit shards, of which one is empty, and of fewer rows than processes.
// Collectives: 3 all_gather, 1 broadcast.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x3xf32>, %y: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<1x3xf32>) {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 2, 2, 7, 8] : !shard.sharding
  %t = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %v = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 2, 3, 7, 8] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x3xf32>
  %a = tensor.extract_slice %xs[2, 0] [1, 3] [1, 1] : tensor<8x3xf32> to tensor<3xf32>
  %ys = shard.shard %y to %t annotate_for_users : tensor<3x3xf32>
  %b = tensor.extract_slice %ys[0, 0] [1, 3] [1, 1] : tensor<3x3xf32> to tensor<3xf32>
  %n = arith.negf %x : tensor<8x3xf32>
  %xv = shard.shard %n to %v annotate_for_users : tensor<8x3xf32>
  %c = tensor.extract_slice %xv[6, 0] [1, 3] [1, 1] : tensor<8x3xf32> to tensor<1x3xf32>
  return %a, %b, %c : tensor<3xf32>, tensor<3xf32>, tensor<1x3xf32>
}

// -----

// First and last rows in a loop, and under a condition.
// Collectives: 2 broadcast.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x6xf32>, %p: i1) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4x6xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %xs) -> (tensor<4x6xf32>) {
    %f = tensor.extract_slice %a[0, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
    %l = tensor.extract_slice %a[3, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
    %d = scf.if %p -> (tensor<6xf32>) {
      %q = arith.subf %l, %f : tensor<6xf32>
      scf.yield %q : tensor<6xf32>
    } else {
      scf.yield %f : tensor<6xf32>
    }
    %b = linalg.broadcast ins(%d : tensor<6xf32>) outs(%e : tensor<4x6xf32>) dimensions = [0]
    %n = arith.addf %a, %b : tensor<4x6xf32>
    scf.yield %n : tensor<4x6xf32>
  }
  return %r : tensor<4x6xf32>
}
// -----
// A diagonal of every second element: the loops are shorter than what is read.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<?x?xi32>, %n: index, %m: index) -> (tensor<?x?xi32>, tensor<?x?xi32>) {
  %e = tensor.empty(%n, %m) : tensor<?x?xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j * 2, j * 2)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xi32>) outs(%e : tensor<?x?xi32>) {
    ^bb0(%a: i32, %o: i32):
      linalg.yield %a : i32
  } -> tensor<?x?xi32>
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %p = shard.shard %r to %s : tensor<?x?xi32>
  %q = arith.addi %p, %p : tensor<?x?xi32>
  return %p, %q : tensor<?x?xi32>, tensor<?x?xi32>
}

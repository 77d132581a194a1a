// Iterations write rows; the columns are split, and a sum over them would have to be finished
// inside, where iterations may run at the same time: each process runs all of it.
// Collectives: 2 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %y = math.tanh %xs : tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %a = tensor.extract_slice %y[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %t = tensor.extract_slice %o[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%t : tensor<1x8xf32>) -> tensor<1x8xf32>
    %b = linalg.matmul ins(%a, %w : tensor<1x8xf32>, tensor<8x8xf32>) outs(%f : tensor<1x8xf32>) -> tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %b into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return %r : tensor<4x8xf32>
}

// -----

// The result is wanted in rows, which iterations write one by one; uneven columns, two outputs.
// Collectives: 1 all_gather, 1 all_slice.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x7xf32>, %n: tensor<4x7xf32>) -> (tensor<4x7xf32>, tensor<7xf32>, tensor<4x7xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x7xf32>
  %e = tensor.empty() : tensor<7xf32>
  %r:2 = scf.forall (%i) in (4) shared_outs(%o = %n, %p = %e) -> (tensor<4x7xf32>, tensor<7xf32>) {
    %a = tensor.extract_slice %xs[%i, 0] [1, 7] [1, 1] : tensor<4x7xf32> to tensor<7xf32>
    %old = tensor.extract_slice %o[%i, 0] [1, 7] [1, 1] : tensor<4x7xf32> to tensor<7xf32>
    %c = arith.addf %a, %old : tensor<7xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %c into %o[%i, 0] [1, 7] [1, 1] : tensor<7xf32> into tensor<4x7xf32>
      tensor.parallel_insert_slice %a into %p[0] [7] [1] : tensor<7xf32> into tensor<7xf32>
    }
  }
  %rs = shard.shard %r#0 to %s : tensor<4x7xf32>
  %q = arith.addf %rs, %x : tensor<4x7xf32>
  return %q, %r#1, %r#0 : tensor<4x7xf32>, tensor<7xf32>, tensor<4x7xf32>
}

// -----

// Tiles in two dimensions of a batch that is split; bounds with steps, known at run time.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<6x4x8xf32>) -> tensor<6x4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<6x4x8xf32>
  %e = tensor.empty() : tensor<6x4x8xf32>
  %c8 = arith.constant 8 : index
  %r = scf.forall (%i, %j) = (0, 0) to (4, %c8) step (2, 4) shared_outs(%o = %e) -> (tensor<6x4x8xf32>) {
    %a = tensor.extract_slice %xs[0, %i, %j] [6, 2, 4] [1, 1, 1] : tensor<6x4x8xf32> to tensor<6x2x4xf32>
    %v = scf.for %k = %i to %c8 step %c8 iter_args(%acc = %a) -> (tensor<6x2x4xf32>) {
      %d = arith.addf %acc, %acc : tensor<6x2x4xf32>
      scf.yield %d : tensor<6x2x4xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[0, %i, %j] [6, 2, 4] [1, 1, 1] : tensor<6x2x4xf32> into tensor<6x4x8xf32>
    }
  }
  return %r : tensor<6x4x8xf32>
}

// -----

// Two insertions; only the last dimension is covered by both. Nested loops. An annotation inside.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x2x6xf32>) -> tensor<4x2x6xf32> {
  %s = shard.sharding @g split_axes = [[], [], [0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %e = tensor.empty() : tensor<4x2x6xf32>
  %c1 = arith.constant 1 : index
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x2x6xf32>) {
    %a = tensor.extract_slice %x[%i, 0, 0] [1, 2, 6] [1, 1, 1] : tensor<4x2x6xf32> to tensor<2x6xf32>
    %as = shard.shard %a to %t annotate_for_users : tensor<2x6xf32>
    %z = tensor.empty() : tensor<2x6xf32>
    %m = scf.forall (%j) in (2) shared_outs(%q = %z) -> (tensor<2x6xf32>) {
      %l = tensor.extract_slice %as[%j, 0] [1, 6] [1, 1] : tensor<2x6xf32> to tensor<1x6xf32>
      %n = math.exp %l : tensor<1x6xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %n into %q[%j, 0] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<2x6xf32>
      }
    }
    %u = tensor.extract_slice %m[0, 0] [1, 6] [1, 1] : tensor<2x6xf32> to tensor<6xf32>
    %v = tensor.extract_slice %m[1, 0] [1, 6] [1, 1] : tensor<2x6xf32> to tensor<6xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[%i, 0, 0] [1, 1, 6] [1, 1, 1] : tensor<6xf32> into tensor<4x2x6xf32>
      tensor.parallel_insert_slice %u into %o[%i, 1, 0] [1, 1, 6] [1, 1, 1] : tensor<6xf32> into tensor<4x2x6xf32>
    }
  }
  %rs = shard.shard %r to %s : tensor<4x2x6xf32>
  return %rs : tensor<4x2x6xf32>
}

// -----

// No tensor comes out, and one whose extents are known at run time does.
// Collectives: 1 all_gather, 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<?x?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %xs, %c0 : tensor<?x?xf32>
  %m = tensor.dim %xs, %c1 : tensor<?x?xf32>
  scf.forall (%i) in (%n) {
  }
  %r = scf.forall (%i) in (%n) shared_outs(%o = %xs) -> (tensor<?x?xf32>) {
    %a = tensor.extract_slice %xs[%i, 0] [1, %m] [1, 1] : tensor<?x?xf32> to tensor<1x?xf32>
    %b = math.absf %a : tensor<1x?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %b into %o[%i, 0] [1, %m] [1, 1] : tensor<1x?xf32> into tensor<?x?xf32>
    }
  }
  return %r : tensor<?x?xf32>
}

// -----

// Rows that are read and written whole, from an index that is 0 without being a constant.
// Collectives: none.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<8x16xf32>, %i: index) -> tensor<8x16xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x16xf32>
  %one = arith.constant 1 : index
  %z = arith.remui %i, %one : index
  %r = scf.forall (%k) in (8) shared_outs(%o = %a) -> (tensor<8x16xf32>) {
    %row = tensor.extract_slice %a[%k, %z] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
    %n = arith.negf %row : tensor<1x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %n into %o[%k, %z] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
    }
  }
  return %r : tensor<8x16xf32>
}

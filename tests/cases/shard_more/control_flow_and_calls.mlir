// Scf.if, for, while.
// Collectives: 3 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>, %c: i1, %n: index) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %r = scf.if %c -> (tensor<4x8xf32>) {
    %a = math.tanh %xs : tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  } else {
    %b = shard.shard %x to %t annotate_for_users : tensor<4x8xf32>
    %a = math.absf %b : tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %r) -> (tensor<4x8xf32>) {
    %w = arith.addf %acc, %xs : tensor<4x8xf32>
    scf.yield %w : tensor<4x8xf32>
  }
  %p:2 = scf.while (%i = %c0, %v = %q) : (index, tensor<4x8xf32>) -> (index, tensor<4x8xf32>) {
    %k = arith.cmpi slt, %i, %c3 : index
    scf.condition(%k) %i, %v : index, tensor<4x8xf32>
  } do {
  ^bb0(%i: index, %v: tensor<4x8xf32>):
    %j = arith.addi %i, %c1 : index
    %v2 = arith.mulf %v, %xs : tensor<4x8xf32>
    scf.yield %j, %v2 : index, tensor<4x8xf32>
  }
  return %r, %q, %p#1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Scf.forall with slices.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %y = math.tanh %xs : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %a = tensor.extract_slice %y[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %b = math.absf %a : tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %b into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  %z = math.exp %r : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

// Call chain with private functions, two callers with different shardings, declaration.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 2)
func.func private @ext(index)
func.func private @leaf(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = math.tanh %x : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
func.func private @mid(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = func.call @leaf(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = func.call @leaf(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %a = func.call @mid(%xs) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
func.func @h(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %a = func.call @mid(%xs) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// -----

// Two functions, private callee with different shapes, unused results.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func private @p(%x: tensor<8x4xf32>, %k: f32) -> (tensor<8x4xf32>, tensor<8xf32>, f32) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%f : tensor<8xf32>) dimensions = [1]
  %s = tensor.splat %k : tensor<8x4xf32>
  %a = arith.mulf %x, %s : tensor<8x4xf32>
  return %a, %r, %k : tensor<8x4xf32>, tensor<8xf32>, f32
}
func.func @f(%x: tensor<8x4xf32>, %k: f32) -> (tensor<8xf32>, f32) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x4xf32>
  %a:3 = func.call @p(%xs, %k) : (tensor<8x4xf32>, f32) -> (tensor<8x4xf32>, tensor<8xf32>, f32)
  return %a#1, %a#2 : tensor<8xf32>, f32
}

// -----

// Recursion in calls.
// Collectives: none.
shard.grid @g(shape = 2)
func.func private @r(%x: tensor<8x4xf32>, %n: index) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = arith.cmpi sle, %n, %c0 : index
  %o = scf.if %d -> (tensor<8x4xf32>) {
    scf.yield %x : tensor<8x4xf32>
  } else {
    %m = arith.subi %n, %c1 : index
    %y = math.tanh %x : tensor<8x4xf32>
    %q = func.call @r(%y, %m) : (tensor<8x4xf32>, index) -> tensor<8x4xf32>
    scf.yield %q : tensor<8x4xf32>
  }
  return %o : tensor<8x4xf32>
}
func.func @f(%x: tensor<8x4xf32>, %n: index) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x4xf32>
  %a = func.call @r(%xs, %n) : (tensor<8x4xf32>, index) -> tensor<8x4xf32>
  return %a : tensor<8x4xf32>
}

// -----

// Cf blocks.
// Collectives: 2 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x8xf32>, %c: i1) -> tensor<8x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x8xf32>
  cf.cond_br %c, ^b1(%a : tensor<8x8xf32>), ^b2
^b1(%p: tensor<8x8xf32>):
  %b = math.tanh %p : tensor<8x8xf32>
  cf.br ^b3(%b : tensor<8x8xf32>)
^b2:
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %d = shard.shard %x to %t annotate_for_users : tensor<8x8xf32>
  %e = math.absf %d : tensor<8x8xf32>
  cf.br ^b3(%e : tensor<8x8xf32>)
^b3(%q: tensor<8x8xf32>):
  return %q : tensor<8x8xf32>
}

// -----

// A callee that is annotated, and callers that are not.
// Collectives: none.
shard.grid @g(shape = 2)
func.func private @in(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x8xf32>
  %y = math.exp %a : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = math.absf %x : tensor<8x8xf32>
  %y = func.call @in(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = math.absf %y : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}
func.func @other(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = math.absf %x : tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}

// -----

// A loop that goes on until all processes have converged.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8xf32>
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %eps = arith.constant 0.1 : f32
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.while (%v = %xs) : (tensor<8xf32>) -> tensor<8xf32> {
    %sq = arith.mulf %v, %v : tensor<8xf32>
    %n = linalg.reduce { arith.addf } ins(%sq : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0]
    %q = tensor.extract %n[] : tensor<f32>
    %c = arith.cmpf ogt, %q, %eps : f32
    scf.condition(%c) %v : tensor<8xf32>
  } do {
  ^bb0(%v: tensor<8xf32>):
    %w = arith.mulf %v, %half : tensor<8xf32>
    scf.yield %w : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// A loop whose result is wanted in another sharding than its initial value has: one reshard, in front of it.
// Collectives: 1 all_reduce, 1 all_slice, 1 all_to_all.
shard.grid @g(shape = 2x4)
func.func @f(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p:2 = scf.while (%i = %c0, %v = %xs) : (index, tensor<4x8xf32>) -> (index, tensor<4x8xf32>) {
    %k = arith.cmpi slt, %i, %n : index
    scf.condition(%k) %i, %v : index, tensor<4x8xf32>
  } do {
  ^bb0(%i: index, %v: tensor<4x8xf32>):
    %j = arith.addi %i, %c1 : index
    %h = math.tanh %v : tensor<4x8xf32>
    %z = arith.constant dense<0.0> : tensor<f32>
    %d = linalg.reduce { arith.addf } ins(%v : tensor<4x8xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
    %e = tensor.extract %d[] : tensor<f32>
    %b = tensor.splat %e : tensor<4x8xf32>
    %w = arith.addf %h, %b : tensor<4x8xf32>
    scf.yield %j, %w : index, tensor<4x8xf32>
  }
  %ps = shard.shard %p#1 to %t : tensor<4x8xf32>
  return %ps : tensor<4x8xf32>
}

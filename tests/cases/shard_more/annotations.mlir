// Two grids in a function.
// Collectives: 2 all_gather, 1 all_slice.
shard.grid @g(shape = 4)
shard.grid @h(shape = 2x2)
func.func @f(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @h split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x8xf32>
  %b = shard.shard %y to %t annotate_for_users : tensor<8x8xf32>
  %u = tosa.tanh %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = tosa.tanh %b : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = tosa.add %u, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %w : tensor<8x8xf32>
}

// -----

// Conflicting k annotations.
// Collectives: 1 all_to_all, 1 reduce_scatter.
shard.grid @g(shape = 2)
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %sa = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %sb = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %so = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %as = shard.shard %a to %sa annotate_for_users : tensor<4x8xf32>
  %bs = shard.shard %b to %sb annotate_for_users : tensor<8x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = linalg.matmul ins(%as, %bs : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %os = shard.shard %o to %so : tensor<4x8xf32>
  return %os : tensor<4x8xf32>
}

// -----

// Chains of users annotations on the same value.
// Collectives: 1 all_slice, 2 all_to_all.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %u = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %b = shard.shard %a to %t annotate_for_users : tensor<4x8xf32>
  %c = shard.shard %b to %u annotate_for_users : tensor<4x8xf32>
  %d = shard.shard %c to %s : tensor<4x8xf32>
  %0 = math.tanh %d : tensor<4x8xf32>
  %e = shard.shard %0 to %t : tensor<4x8xf32>
  %f = shard.shard %e to %u : tensor<4x8xf32>
  return %f : tensor<4x8xf32>
}

// -----

// One value, two users want it differently, def a third way.
// Collectives: 1 all_gather, 1 all_to_all.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %u = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %0 = math.tanh %x : tensor<4x8xf32>
  %d = shard.shard %0 to %u : tensor<4x8xf32>
  %a = shard.shard %d to %s annotate_for_users : tensor<4x8xf32>
  %b = shard.shard %d to %t annotate_for_users : tensor<4x8xf32>
  %1 = math.absf %a : tensor<4x8xf32>
  %2 = math.absf %b : tensor<4x8xf32>
  %e = shard.shard %1 to %s : tensor<4x8xf32>
  %f = shard.shard %2 to %t : tensor<4x8xf32>
  return %e, %f : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Same argument annotated twice for two users.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %b = shard.shard %x to %t annotate_for_users : tensor<4x8xf32>
  %1 = math.absf %a : tensor<4x8xf32>
  %2 = math.exp %b : tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Two def annotations that contradict.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %y = math.tanh %x : tensor<8x8xf32>
  %a = shard.shard %y to %s : tensor<8x8xf32>
  %b = shard.shard %y to %t : tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Result returned twice and argument returned.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<8x8xf32>
  %b = math.tanh %a : tensor<8x8xf32>
  return %b, %b, %x, %y : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// RUN: mesh-opt %s --pass-pipeline='builtin.module(sharding-propagation{traversal=forward})' | filecheck %s --check-prefix=FORWARD
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(sharding-propagation{traversal=backward}))' | filecheck %s --check-prefix=BACKWARD
// RUN: mesh-opt %s --pass-pipeline='builtin.module(sharding-propagation{traversal=backward-forward})' | filecheck %s --check-prefix=BOTH
// RUN: not mesh-opt %s --pass-pipeline='builtin.module(sharding-propagation{traversal=sideways})' 2>&1 | filecheck %s --check-prefix=ERROR

// ERROR: sideways

shard.grid @g(shape = 2)
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // An operation that is annotated itself is computed so in any case, from a slice of its operand.
  // FORWARD: [[WHOLE:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[\]\]}}
  // FORWARD: shard.shard %x to [[WHOLE]]
  // BACKWARD: [[ROWS:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[0\]\]}}
  // BACKWARD: shard.shard %x to [[ROWS]]
  // BOTH: [[ROWS:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[0\]\]}}
  // BOTH: shard.shard %x to [[ROWS]]
  %a = math.exp %x : tensor<4xf32>
  %as = shard.shard %a to %s : tensor<4xf32>
  // FORWARD: %b = math.tanh
  // FORWARD-NEXT: shard.shard %b to
  // BACKWARD: %b = math.tanh
  // BOTH: %b = math.tanh
  // BOTH-NEXT: shard.shard %b to
  %b = math.tanh %as : tensor<4xf32>
  return %b : tensor<4xf32>
}

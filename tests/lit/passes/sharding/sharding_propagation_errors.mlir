// RUN: mesh-opt %s --split-input-file --verify-diagnostics --sharding-propagation

shard.grid @g(shape = 2)
func.func @beyond_rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  // expected-error @+1 {{splits dimension 1 of a tensor of rank 1}}
  %xs = shard.shard %x to %s : tensor<4xf32>
  return %xs : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @axis_out_of_range(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{grid axis index 5 is out of bounds}}
  %s = shard.sharding @g split_axes = [[5]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  return %xs : tensor<4x8xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @unknown_halo(%x: tensor<4xf32>, %h: i64) -> tensor<4xf32> {
  // expected-error @+1 {{has halo sizes that are known only at run time}}
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [1, %h] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4xf32>
  return %xs : tensor<4xf32>
}

// -----

shard.grid @m(shape = 2)
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @m split_axes = [[]] : !shard.sharding
  // expected-error @+1 {{has shard.allowed_direction = "UP", expected one of NONE, FORWARD, BACKWARD, BOTH}}
  %y = shard.shard %x to %s {shard.allowed_direction = "UP", shard.open_dimensions = array<i64: 0>} : tensor<8xf32>
  return %y : tensor<8xf32>
}

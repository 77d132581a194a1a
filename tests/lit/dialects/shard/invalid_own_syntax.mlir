// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Wrong uses of what upstream does not have, and mixtures of shard and mesh.

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %s = shard.sharding @g split_axes = [[0]] partial = sum[0] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds.}}
  %s = shard.sharding @g split_axes = [[0]] partial = sum[2] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{partial needs at least one axis}}
  %s = shard.sharding @g split_axes = [[0]] partial = sum[] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{partial cannot be generic: the reduction could not be finished}}
  %s = shard.sharding @g split_axes = [[0]] partial = generic[1] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0]] partial = bitwise_or[1] : !shard.sharding
  // expected-error @+1 {{reduction bitwise_or needs elements of an integer type, got f32}}
  %a = shard.shard %t to %s : tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @+1 {{priority is -1, expected a number from 0}}
  %a = shard.shard %t to %s priority = -1 : tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{partial_type and partial_axes are given together or not at all}}
  %s = "shard.sharding"() <{grid = @g, split_axes = #shard<axisarray[[0]]>, partial_axes = array<i16: 1>, operandSegmentSizes = array<i32: 0, 0>}> : () -> !shard.sharding
  return
}

// -----

// The use is verified first.
shard.grid @g(shape = 2x4)
%t = tensor.empty() : tensor<8x16xf32>
%a = shard.shard %t to %s : tensor<8x16xf32>
// expected-error @+1 {{partial_type and partial_axes are given together or not at all}}
%s = "shard.sharding"() <{grid = @g, split_axes = #shard<axisarray[[0]]>, partial_type = #shard<partial max>, operandSegmentSizes = array<i32: 0, 0>}> : () -> !shard.sharding

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Shardings and annotations that cannot mean anything.

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Undefined required grid symbol "none".}}
  %s = shard.sharding @none split_axes = [[0]] : !shard.sharding
  return
}

// -----

// No grid is needed to see this.
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must be specified for all split axes. Got 2, expected 4}}
  %s = shard.sharding @none split_axes = [[0], [1]] halo_sizes = [1, 2] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{grid axis duplicated: 0 occurs more than once in [[0], [0]]}}
  %s = shard.sharding @g split_axes = [[0], [0]] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{grid axis duplicated: 1 occurs more than once in [[1, 1]]}}
  %s = shard.sharding @g split_axes = [[1, 1]] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{grid axis is expected to be non-negative, got -1}}
  %s = shard.sharding @g split_axes = [[-1]] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds.}}
  %s = shard.sharding @g split_axes = [[2]] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must be specified for all split axes. Got 1, expected 2}}
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [1] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must be specified for all split axes. Got 2, expected 4}}
  %s = shard.sharding @g split_axes = [[0], [], [1]] halo_sizes = [1, 1] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must be specified for all split axes. Got 2, expected 0}}
  %s = shard.sharding @g split_axes = [[]] halo_sizes = [1, 1] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must not be negative, got -1}}
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [-1, 1] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes and shard offsets are mutually exclusive}}
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] sharded_dims_offsets = [0, 4, 8] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{sharded dims offsets has wrong size. Got 2, expected 3}}
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 8] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{sharded dims offsets has wrong size. Got 4, expected 3}}
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 2, 4, 8] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{sharded dims offsets has wrong size. Got 7, expected 9: for each split dimension one more than its shards (9)}}
  %s = shard.sharding @g split_axes = [[0, 1]] sharded_dims_offsets = [0, 1, 2, 3, 4, 5, 8] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{sharded dims offsets must be non-decreasing. Dimension 0 has [0, 5, 4]}}
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 5, 4] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{offsets of dimension 0 start at 2, not at 0}}
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [2, 4, 6] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = ?)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{sharded dims offsets are not allowed for device grids with dynamic shape.}}
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 4, 8] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 5, 9] : !shard.sharding
  // expected-error @+1 {{offsets of dimension 0 end at 9, expected its size, 8}}
  %a = shard.shard %t to %s : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[], [], [0]] : !shard.sharding
  // expected-error @+1 {{sharding splits dimension 2 of a tensor of rank 2}}
  %a = shard.shard %t to %s : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0], [], []] : !shard.sharding
  // expected-error @+1 {{sharding has 3 lists of axes for a tensor of rank 2}}
  %a = shard.shard %t to %s : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<f32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @+1 {{sharding splits dimension 0 of a tensor of rank 0}}
  %a = shard.shard %t to %s : tensor<f32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[], [1]] halo_sizes = [1, 5] : !shard.sharding
  // expected-error @+1 {{high halo of dimension 1 is 5, more than the 4 elements of the shortest of 4 shards of 16}}
  %a = shard.shard %t to %s : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<7x16xf32>) {
  %s = shard.sharding @g split_axes = [[1]] halo_sizes = [2, 0] : !shard.sharding
  // expected-error @+1 {{low halo of dimension 0 is 2, more than the 1 elements of the shortest of 4 shards of 7}}
  %a = shard.shard %t to %s : tensor<7x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>, %s: !shard.sharding) {
  // expected-error @+1 {{failed to verify that all of {result, src} have same type, got tensor<8x8xf32> and tensor<8x16xf32>}}
  %a = "shard.shard"(%t, %s) : (tensor<8x16xf32>, !shard.sharding) -> tensor<8x8xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%s: !shard.sharding) {
  // expected-error @+1 {{has 2 results, expected one for each of 1 dims}}
  %n:2 = shard.shard_shape dims = [8] sharding = %s device = [0, 0] : index, index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @+1 {{device has 3 coordinates, but grid @g has rank 2}}
  %n = shard.shard_shape dims = [8] sharding = %s device = [0, 0, 0] : index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[1]] : !shard.sharding
  // expected-error @+1 {{sharding splits along axis 1, but device has no coordinate for it}}
  %n = shard.shard_shape dims = [8] sharding = %s device = [0] : index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%h: i64) {
  // expected-error @+1 {{halo_sizes has 1 dynamic operands, expected 0}}
  %s = "shard.sharding"(%h) <{grid = @g, split_axes = #shard<axisarray[[0]]>, static_halo_sizes = array<i64: 1, 1>, static_sharded_dims_offsets = array<i64>, operandSegmentSizes = array<i32: 0, 1>}> : (i64) -> !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  // expected-error @+1 {{sharding splits 2 dimensions, but dims has 1}}
  %n = shard.shard_shape dims = [8] sharding = %s device = [0, 0] : index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%s: !shard.sharding) {
  // expected-error @+1 {{sizes and coordinates must not be negative, got -8}}
  %n = shard.shard_shape dims = [-8] sharding = %s device = [0, 0] : index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[1]] : !shard.sharding
  // expected-error @+1 {{device coordinate 4 is beyond axis 1 of grid @g, which has extent 4}}
  %n = shard.shard_shape dims = [8] sharding = %s device = [0, 4] : index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>, %r: tensor<f32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %t to %s : tensor<8x16xf32>
  %got = shard.get_sharding %a : tensor<8x16xf32> -> !shard.sharding
  // expected-error @+1 {{sharding splits dimension 0 of a tensor of rank 0}}
  %b = shard.shard %r to %got : tensor<f32>
  return
}

// -----

// Upstream accepts this.
// A sharding may come after its use in a graph region.
shard.grid @g(shape = 2)
func.func private @t() -> tensor<8xf32>
%t = func.call @t() : () -> tensor<8xf32>
// expected-error @+1 {{0-based grid axis index 7 is out of bounds.}}
%a = shard.shard %t to %s : tensor<8xf32>
%s = shard.sharding @g split_axes = [[7]] halo_sizes = [1, 1] : !shard.sharding

// -----

// Upstream crashes on this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo_sizes has 0 dynamic operands, expected 1}}
  %s = "shard.sharding"() <{grid = @g, split_axes = #shard<axisarray[[0]]>, static_halo_sizes = array<i64: 1, -9223372036854775808>, operandSegmentSizes = array<i32: 0, 0>}> : () -> !shard.sharding
  return
}

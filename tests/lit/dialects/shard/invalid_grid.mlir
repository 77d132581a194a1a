// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Grids, and questions that a grid has no answer to.

// expected-error @+1 {{rank of grid is expected to be a positive integer}}
shard.grid @g(shape = [])

// -----

// Upstream accepts this.
// expected-error @+1 {{dimension size of a grid is expected to be positive or dynamic, got 0}}
shard.grid @g(shape = 0x4)

// -----

// expected-error @+1 {{dimension size of a grid is expected to be positive or dynamic, got -3}}
"shard.grid"() <{sym_name = "g", shape = array<i64: 2, -3>}> : () -> ()

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Undefined required grid symbol "other". The program has @g.}}
  %n = shard.process_linear_index on @other : index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Undefined required grid symbol "f". The name belongs to a 'func.func'.}}
  %n = shard.process_linear_index on @f : index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds. The referenced grid "g" is of rank 2.}}
  %n = shard.grid_shape @g axes = [2] : index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index -1 is out of bounds. The referenced grid "g" is of rank 2.}}
  %n = shard.grid_shape @g axes = [-1] : index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %n:2 = shard.process_multi_index on @g axes = [1, 1] : index, index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Unexpected number of results 2. Expected 1.}}
  %n:2 = shard.grid_shape @g axes = [1] : index, index
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Unexpected number of results 3. Expected 2.}}
  %n:3 = shard.process_multi_index on @g : index, index, index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%i: index) {
  // expected-error @+1 {{device has 1 coordinates, expected 2, the rank of grid @g}}
  %down, %up = shard.neighbors_linear_indices on @g[%i] split_axes = [0] : index, index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%i: index) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds.}}
  %down, %up = shard.neighbors_linear_indices on @g[%i, %i] split_axes = [2] : index, index
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%i: index) {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %down, %up = shard.neighbors_linear_indices on @g[%i, %i] split_axes = [0, 0] : index, index
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Communication that does not fit its grid or its types.

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Undefined required grid symbol "h".}}
  %r = shard.all_gather %t on @h gather_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds.}}
  %r = shard.all_gather %t on @g grid_axes = [2] gather_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %r = shard.all_gather %t on @g grid_axes = [0, 0] gather_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Gather axis 2 is out of bounds [0, 2).}}
  %r = shard.all_gather %t on @g grid_axes = [0] gather_axis = 2 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Gather axis -1 is out of bounds [0, 2).}}
  %r = shard.all_gather %t on @g grid_axes = [0] gather_axis = -1 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected 32, but got 16.}}
  %r = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8x16xf32> -> tensor<16x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 1. Expected 16, but got 8.}}
  %r = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8x16xf32> -> tensor<32x8xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{result type has different rank than operands}}
  %r = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8x16xf32> -> tensor<32xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{requires the same element type for all operands and results}}
  %r = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8x16xf32> -> tensor<32x16xf16>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<?x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected dynamic, but got 32.}}
  %r = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<?x16xf32> -> tensor<32x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be non-0-ranked.tensor of any type values, but got 'tensor<f32>'}}
  %r = shard.all_gather %t on @g gather_axis = 0 : tensor<f32> -> tensor<f32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %r = shard.all_reduce %t on @g grid_axes = [0] : tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{reduction bitwise_or needs elements of an integer type, got f32}}
  %r = shard.all_reduce %t on @g grid_axes = [0] reduction = bitwise_or : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{reduction max needs elements with an order, got complex<f32>}}
  %r = shard.all_reduce %t on @g grid_axes = [0] reduction = max : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{cannot convert elements of type f32 to the result's i8 before the reduction}}
  %r = shard.all_reduce %t on @g grid_axes = [0] : tensor<8x16xf32> -> tensor<8x16xi8>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: memref<8xf32>) {
  // expected-error @+1 {{expected a result of the same kind as memref<8xf32>, got tensor<8xf32>}}
  %r = shard.all_reduce %t on @g grid_axes = [0] : memref<8xf32> -> tensor<8xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Slice axis 2 is out of bounds [0, 2).}}
  %r = shard.all_slice %t on @g grid_axes = [0] slice_axis = 2 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected 4, but got 8.}}
  %r = shard.all_slice %t on @g grid_axes = [0] slice_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<6xf32>) {
  // expected-error @+1 {{Operand dimension size 6 is not divisible by collective device group size 4 for tensor axis 0.}}
  %r = shard.all_slice %t on @g grid_axes = [1] slice_axis = 0 : tensor<6xf32> -> tensor<1xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Split axis 2 is out of bounds [0, 2).}}
  %r = shard.all_to_all %t on @g grid_axes = [0] split_axis = 2 concat_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Concat axis 3 is out of bounds [0, 2).}}
  %r = shard.all_to_all %t on @g grid_axes = [0] split_axis = 0 concat_axis = 3 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected 4, but got 8.}}
  %r = shard.all_to_all %t on @g grid_axes = [0] split_axis = 0 concat_axis = 1 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<6x4xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected dynamic, but got 1.}}
  %r = shard.all_to_all %t on @g grid_axes = [1] split_axis = 0 concat_axis = 1 : tensor<6x4xf32> -> tensor<1x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<6xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected dynamic, but got 6.}}
  %r = shard.all_to_all %t on @g grid_axes = [1] split_axis = 0 concat_axis = 0 : tensor<6xf32> -> tensor<6xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Scatter axis 2 is out of bounds [0, 2).}}
  %r = shard.reduce_scatter %t on @g grid_axes = [1] scatter_axis = 2 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 1. Expected 4, but got 16.}}
  %r = shard.reduce_scatter %t on @g grid_axes = [1] scatter_axis = 1 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Out of bounds coordinate 0 for in-group device "root". Got 2, but expected value in the range [0, 1].}}
  %r = shard.broadcast %t on @g grid_axes = [0] root = [2] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Out of bounds coordinate 0 for in-group device "root". Got -1}}
  %r = shard.broadcast %t on @g grid_axes = [0] root = [-1] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{In-group device "root" has unexpected multi-index size 2. Expected 1.}}
  %r = shard.broadcast %t on @g grid_axes = [0] root = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same shape, got tensor<8x16xf32> and tensor<16x8xf32>}}
  %r = shard.broadcast %t on @g grid_axes = [0] root = [0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected 16, but got 8.}}
  %r = shard.gather %t on @g grid_axes = [0] gather_axis = 0 root = [0] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Out of bounds coordinate 0 for in-group device "root".}}
  %r = shard.gather %t on @g grid_axes = [0] gather_axis = 0 root = [3] : (tensor<8x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Out of bounds coordinate 1 for in-group device "root". Got 4, but expected value in the range [0, 3].}}
  %r = shard.reduce %t on @g grid_axes = [0, 1] root = [1, 4] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{reduction bitwise_xor needs elements of an integer type, got f32}}
  %r = shard.reduce %t on @g grid_axes = [0] reduction = bitwise_xor root = [1] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Dimension size mismatch for result axis 0. Expected 4, but got 8.}}
  %r = shard.scatter %t on @g grid_axes = [0] scatter_axis = 0 root = [0] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{In-group device "destination" has unexpected multi-index size 0. Expected 1.}}
  %r = shard.send %t on @g grid_axes = [0] destination = [] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be non-0-ranked.tensor of any type values, but got 'tensor<f32>'}}
  %r = shard.send %t on @g grid_axes = [0] destination = [0] : (tensor<f32>) -> tensor<f32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Out of bounds coordinate 0 for in-group device "source". Got 4, but expected value in the range [0, 3].}}
  %r = shard.recv %t on @g grid_axes = [1] source = [4] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same element type}}
  %r = shard.recv %t on @g grid_axes = [1] : (tensor<8x16xf32>) -> tensor<8x16xf64>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Invalid shift axis 1. It must be one of the grouping grid axes. They are [0].}}
  %r = shard.shift %t on @g grid_axes = [0] shift_axis = 1 offset = 1 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %r = shard.update_halo %t on @g split_axes = [[0], [0]] halo_sizes = [1, 1, 1, 1] : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds.}}
  %r = shard.update_halo %t on @g split_axes = [[2]] halo_sizes = [1, 1] : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halo sizes must be specified for all split axes. Got 3, expected 2}}
  %r = shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [1, 1, 1] : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{halos 3 and 3 of dimension 0 leave 2 of 8 elements in the core of the shard, fewer than the halos of its neighbours need}}
  %r = shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [3, 3] : tensor<8x16xf32>
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{has 2 lists of axes for a tensor of rank 1}}
  %r = shard.update_halo %t on @g split_axes = [[0], [1]] : tensor<8xf32>
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

shard.grid @g(shape = 2)
// expected-error @+1 {{shard.boundary of argument #0: axis 7 is beyond grid @g of rank 1}}
func.func @axis(%x: tensor<2x3xf32> {shard.boundary = {global_type = tensor<4x3xf32>, grid = @g, split_axes = #shard<axisarray[[7], []]>}}) {
  return
}

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{shard.boundary of result #1: expected a dictionary, got 3}}
func.func @kind(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32> {shard.boundary = 3}) {
  return %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

shard.grid @h(shape = 2)
// expected-error @+1 {{shard.boundary of argument #0: unknown grid @g}}
func.func @grid(%x: tensor<2x3xf32> {shard.boundary = {global_type = tensor<4x3xf32>, grid = @g, split_axes = #shard<axisarray[[0], []]>}}) {
  return
}

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{shard.boundary of argument #0: splits 1 dimensions of tensor<4x3xf32>}}
func.func @rank(%x: tensor<2x3xf32> {shard.boundary = {global_type = tensor<4x3xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  return
}

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{shard.boundary of argument #0: the shards of tensor<4x3xf32> are of type tensor<2x3xf32>, not tensor<3x3xf32>}}
func.func @size(%x: tensor<3x3xf32> {shard.boundary = {global_type = tensor<4x3xf32>, grid = @g, split_axes = #shard<axisarray[[0], []]>}}) {
  return
}

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{shard.boundary of argument #0: the shards of tensor<4xf32> are of type tensor<2xf32>, not tensor<2xi32>}}
func.func @element(%x: tensor<2xi32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  return
}

// -----

// Shards of 5 elements differ in size.
shard.grid @g(shape = 2)
func.func @uneven(%x: tensor<?xf32> {shard.boundary = {global_type = tensor<5xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Text that does not parse.

// expected-error @+1 {{custom op 'shard.grid' Failed parsing dimension list. Did you mean an empty list? It must be denoted by "[]".}}
shard.grid @g(shape = -1)

// -----

// expected-error @+1 {{invalid dimension 'q', expected dimensions such as 2x?x4}}
shard.grid @g(shape = 2xq)

// -----

// expected-error @+1 {{Failed parsing dimension list.}}
shard.grid @g(shape = [2, 2])

// -----

// expected-error @+1 {{invalid dimension, expected dimensions such as 2x?x4}}
shard.grid @g(shape = 2x)

// -----

shard.grid @g(shape = 2)
// expected-error @+1 {{'[' expected of the axes of one dimension, as in [[0], []]}}
%s = shard.sharding @g split_axes = [0] : !shard.sharding

// -----

// expected-error @+1 {{expected '='}}
shard.grid @g(shape 2)

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{expected one of sum, max, min, product, average, bitwise_and, bitwise_or, bitwise_xor, generic}}
  %r = shard.all_reduce %t on @g grid_axes = [0] reduction = total : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{expected 'gather_axis'}}
  %r = shard.all_gather %t on @g grid_axes = [0] : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{grid axis 99999 does not fit in 16 bits}}
  %r = shard.all_gather %t on @g grid_axes = [99999] gather_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>, %i: index) {
  // expected-error @+1 {{expected 2 types of operands, got 1}}
  %r = shard.broadcast %t on @g grid_axes = [0] root = [%i] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{expected 'slice_axis'}}
  %r = shard.all_slice %t on @g::@h grid_axes = [0] slice_axis = 0 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{'[' expected}}
  %s = shard.sharding @g split_axes = [0] : !shard.sharding
  return
}

// -----

shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{99999999999999999999 does not fit in 64 bits}}
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 99999999999999999999] : !shard.sharding
  return
}

// -----

// Upstream accepts this.
shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<8x16xf32>) {
  // expected-error @+1 {{9223372036854775808 does not fit in 64 bits}}
  %r = shard.shift %t on @g grid_axes = [0] shift_axis = 0 offset = 9223372036854775808 : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// What shard refuses. Messages name the operation of shard as which one of mesh is read.

// expected-error @+1 {{rank of grid is expected to be a positive integer}}
mesh.mesh @m(shape = [])

// -----

mesh.mesh @m(shape = 2x4)
func.func @f() {
  // expected-error @+1 {{Undefined required grid symbol "other".}}
  %n = mesh.process_linear_index on @other : index
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds. The referenced grid "m" is of rank 2.}}
  %r = mesh.all_reduce %t on @m mesh_axes = [2] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{Invalid shift axis 1. It must be one of the grouping grid axes. They are [0].}}
  %r = mesh.shift %t on @m mesh_axes = [0] shift_axis = 1 offset = 1 : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f() {
  // expected-error @+1 {{grid axis duplicated: 0 occurs more than once in [[0], [0]]}}
  %s = mesh.sharding @m split_axes = [[0], [0]] : !mesh.sharding
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f() {
  // expected-error @+1 {{Grid axes contains duplicate elements.}}
  %s = mesh.sharding @m split_axes = [[0]] partial = sum[0] : !mesh.sharding
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{grid axis duplicated: 1 occurs more than once in [[1, 1]]}}
  %r = mesh.shard %t to <@m, [[1, 1]]> : tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{sharding splits dimension 1 of a tensor of rank 1}}
  %r = mesh.shard %t to <@m, [[], [1]]> : tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{Undefined required grid symbol "n".}}
  %r = mesh.shard %t to <@n, [[1]]> : tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%t: tensor<8xf32>) {
  // expected-error @+1 {{expects a sharding, either as an operand or as an attribute}}
  %r = "mesh.shard"(%t) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%s: !mesh.sharding, %i: index) {
  // expected-error @+1 {{has 1 results, expected one for each of 2 sizes}}
  %r = mesh.shard_shape 8x4 %s %i : index
  return
}

// -----

mesh.mesh @m(shape = 2x4)
func.func @f(%i: index) {
  %s = mesh.sharding @m split_axes = [[0]] : !mesh.sharding
  // expected-error @+1 {{sizes and coordinates must not be negative, got -8}}
  %r = "mesh.shard_shape"(%s, %i) <{shape = array<i64: -8>}> : (!mesh.sharding, index) -> index
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// What verifies in LLVM's `mesh`, though nothing could finish these reductions.

mesh.mesh @m(shape = 2x?)
func.func @generic(%t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{partial cannot be generic: the reduction could not be finished}}
  %s = mesh.sharding @m split_axes = [[0]] partial = generic[1] : !mesh.sharding
  %0 = mesh.shard %t to %s : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

mesh.mesh @m(shape = 2x?)
func.func @beyond(%t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{0-based grid axis index 2 is out of bounds. The referenced grid "m" is of rank 2.}}
  %0 = mesh.shard %t to <@m, [[0]], partial = sum[1, 2]> : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

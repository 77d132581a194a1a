// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Grids, and what a process asks about its grid.

// CHECK: shard.grid @a(shape = 2x3x4)
shard.grid @a(shape = 2x3x4)
// CHECK: shard.grid @b(shape = 2x?x4)
shard.grid @b(shape = 2x?x4)
// CHECK: shard.grid @c(shape = ?) {sym_visibility = "private"}
shard.grid @c(shape = ?) {sym_visibility = "private"}
// CHECK: shard.grid @d(shape = 1) {sym_visibility = "private"}
shard.grid "private" @d(shape = 1)

// CHECK: func.func @questions(%i: index, %j: index, %k: index) {
func.func @questions(%i: index, %j: index, %k: index) {
  // CHECK: %all:3 = shard.grid_shape @b : index, index, index
  %all:3 = shard.grid_shape @b : index, index, index
  // CHECK: %some:2 = shard.grid_shape @b axes = [2, 0] : index, index
  %some:2 = shard.grid_shape @b axes = [2, 0] : index, index
  // CHECK: %noted = shard.grid_shape @a axes = [1] {note = "x"} : index
  %noted = shard.grid_shape @a axes = [1] {note = "x"} : index
  // CHECK: %place:3 = shard.process_multi_index on @a : index, index, index
  %place:3 = shard.process_multi_index on @a : index, index, index
  // CHECK: %column = shard.process_multi_index on @a axes = [1] : index
  %column = shard.process_multi_index on @a axes = [1] : index
  // CHECK: %number = shard.process_linear_index on @a : index
  %number = shard.process_linear_index on @a : index
  // CHECK: %down, %up = shard.neighbors_linear_indices on @a[%i, %j, %k] split_axes = [1] : index, index
  %down, %up = shard.neighbors_linear_indices on @a[%i, %j, %k] split_axes = [1] : index, index
  // CHECK: func.return
  return
}

// Nested symbol tables see the grids around them, and the nearest of a name.

// CHECK: builtin.module @inner {
module @inner {
  // CHECK: shard.grid @c(shape = 5x5)
  shard.grid @c(shape = 5x5)
  // CHECK: func.func @nested() {
  func.func @nested() {
    // CHECK: %extent:2 = shard.grid_shape @c : index, index
    %extent:2 = shard.grid_shape @c : index, index
    // CHECK: %outer = shard.grid_shape @a axes = [0] : index
    %outer = shard.grid_shape @a axes = [0] : index
    // CHECK: func.return
    return
  }
}

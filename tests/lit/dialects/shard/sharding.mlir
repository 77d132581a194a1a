// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Shardings as values and as annotations.

// CHECK: shard.grid @g(shape = 2x4x2)
shard.grid @g(shape = 2x4x2)
// CHECK: shard.grid @any(shape = ?x4)
shard.grid @any(shape = ?x4)

// CHECK: func.func @shardings(%h: i64) {
func.func @shardings(%h: i64) {
  // CHECK: %replicated = shard.sharding @g split_axes = {{\[\[}}{{\]\]}} : !shard.sharding
  %replicated = shard.sharding @g split_axes = [[]] : !shard.sharding
  // CHECK: %without_lists = shard.sharding @g split_axes = {{\[\[}}]] : !shard.sharding
  %without_lists = shard.sharding @g split_axes = [] : !shard.sharding
  // CHECK: %rows = shard.sharding @g split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // CHECK: %spaced = shard.sharding @any split_axes = {{\[\[}}0], [], [1{{\]\]}} : !shard.sharding
  %spaced = shard.sharding @any split_axes = [[0], [], [1]] : !shard.sharding
  // CHECK: %two = shard.sharding @g split_axes = {{\[\[}}], [2, 0{{\]\]}} : !shard.sharding
  %two = shard.sharding @g split_axes = [[], [2, 0]] : !shard.sharding
  // CHECK: %halo = shard.sharding @g split_axes = {{\[\[}}0], [], [1{{\]\]}} halo_sizes = [1, 2, 0, 3] : !shard.sharding
  %halo = shard.sharding @g split_axes = [[0], [], [1]] halo_sizes = [1, 2, 0, 3] : !shard.sharding
  // CHECK: %moving = shard.sharding @g split_axes = {{\[\[}}0{{\]\]}} halo_sizes = [%h, 2] : !shard.sharding
  %moving = shard.sharding @g split_axes = [[0]] halo_sizes = [%h, 2] : !shard.sharding
  // CHECK: %uneven = shard.sharding @g split_axes = {{\[\[}}0{{\]\]}} sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  %uneven = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  // CHECK: %both = shard.sharding @g split_axes = {{\[\[}}0], [2{{\]\]}} sharded_dims_offsets = [0, 3, 8, 0, %h, 7] : !shard.sharding
  %both = shard.sharding @g split_axes = [[0], [2]] sharded_dims_offsets = [0, 3, 8, 0, %h, 7] : !shard.sharding
  // CHECK: %product = shard.sharding @g split_axes = {{\[\[}}0, 2{{\]\]}} sharded_dims_offsets = [0, 1, 2, 4, 8] : !shard.sharding
  %product = shard.sharding @g split_axes = [[0, 2]] sharded_dims_offsets = [0, 1, 2, 4, 8] : !shard.sharding
  // CHECK: %pending = shard.sharding @g split_axes = {{\[\[}}1{{\]\]}} partial = sum[0, 2] : !shard.sharding
  %pending = shard.sharding @g split_axes = [[1]] partial = sum[0, 2] : !shard.sharding
  // CHECK: shard.sharding @g split_axes = {{\[\[}}{{\]\]}} partial = max[0] : !shard.sharding
  %largest = shard.sharding @g split_axes = [[]] partial = max[0] halo_sizes = [] : !shard.sharding
  // CHECK: %noted = shard.sharding @g split_axes = {{\[\[}}0{{\]\]}} {note} : !shard.sharding
  %noted = shard.sharding @g split_axes = [[0]] {note} : !shard.sharding
  // CHECK: func.return
  return
}

// CHECK: func.func @annotations(%t: tensor<8x16xf32>, %s: !shard.sharding, %r: tensor<f32>) -> !shard.sharding {
func.func @annotations(%t: tensor<8x16xf32>, %s: !shard.sharding, %r: tensor<f32>) -> !shard.sharding {
  // CHECK: %rows = shard.sharding @g split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // CHECK: %def = shard.shard %t to %rows : tensor<8x16xf32>
  %def = shard.shard %t to %rows : tensor<8x16xf32>
  // CHECK: %use = shard.shard %def to %rows annotate_for_users : tensor<8x16xf32>
  %use = shard.shard %def to %rows annotate_for_users : tensor<8x16xf32>
  // CHECK: %first = shard.shard %t to %rows priority = 1 : tensor<8x16xf32>
  %first = shard.shard %t to %rows priority = 1 : tensor<8x16xf32>
  // CHECK: %last = shard.shard %t to %rows annotate_for_users priority = 2 {note} : tensor<8x16xf32>
  %last = shard.shard %t to %rows annotate_for_users priority = 2 {note} : tensor<8x16xf32>
  // CHECK: %passed = shard.shard %t to %s : tensor<8x16xf32>
  %passed = shard.shard %t to %s : tensor<8x16xf32>
  // CHECK: %none = shard.sharding @g split_axes = {{\[\[}}{{\]\]}} : !shard.sharding
  %none = shard.sharding @g split_axes = [[]] : !shard.sharding
  // CHECK: %scalar = shard.shard %r to %none : tensor<f32>
  %scalar = shard.shard %r to %none : tensor<f32>
  // CHECK: %got = shard.get_sharding %use : tensor<8x16xf32> -> !shard.sharding
  %got = shard.get_sharding %use : tensor<8x16xf32> -> !shard.sharding
  // CHECK: func.return %got : !shard.sharding
  return %got : !shard.sharding
}

// CHECK: func.func @local_shapes(%s: !shard.sharding, %n: index, %i: index) {
func.func @local_shapes(%s: !shard.sharding, %n: index, %i: index) {
  // CHECK: %static:2 = shard.shard_shape dims = [8, 16] sharding = %s device = [0, 1, 0] : index, index
  %static:2 = shard.shard_shape dims = [8, 16] sharding = %s device = [0, 1, 0] : index, index
  // CHECK: %dynamic:2 = shard.shard_shape dims = [%n, 16] sharding = %s device = [%i, 1, %i] : index, index
  %dynamic:2 = shard.shard_shape dims = [%n, 16] sharding = %s device = [%i, 1, %i] : index, index
  // CHECK: func.return
  return
}

// RUN: mesh-opt %s --shard-partition --canonicalize --split-input-file | filecheck %s

// The producer's annotation is only on the way: one reduce-scatter, no all-reduce and slice.
shard.grid @g(shape = 2)
// CHECK-LABEL: @scatter
func.func @scatter(%x: tensor<4x8xf32>, %i: tensor<4xf32>) -> tensor<4xf32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %whole = shard.sharding @g split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %columns : tensor<4x8xf32>
  %xu = shard.shard %xs to %columns annotate_for_users : tensor<4x8xf32>
  // CHECK: linalg.reduce
  // CHECK-NOT: all_reduce
  // CHECK: shard.reduce_scatter {{.*}} scatter_axis = 0 : tensor<4xf32> -> tensor<2xf32>
  // CHECK-NOT: all_slice
  %r = linalg.reduce { arith.maximumf } ins(%xu : tensor<4x8xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %rs = shard.shard %r to %whole : tensor<4xf32>
  %ru = shard.shard %rs to %rows annotate_for_users : tensor<4xf32>
  return %ru : tensor<4xf32>
}

// -----

// A user that wants a value as it was before takes it from there.
shard.grid @g(shape = 4)
// CHECK-LABEL: @back
func.func @back(%x: tensor<16xf32>) -> tensor<16xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %wide = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<16xf32>
  %b = shard.shard %a to %wide annotate_for_users : tensor<16xf32>
  %c = shard.shard %b to %rows : tensor<16xf32>
  // CHECK-NOT: update_halo
  // CHECK: func.return %x
  %d = shard.shard %c to %rows annotate_for_users : tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// Axes of 2 and 4 change places: half of the 4 moves, and whole shards are swapped, on a finer grid
// of the same processes, whose name was taken.
// CHECK: shard.grid @g(shape = 2x4)
// CHECK-NEXT: shard.grid @g_2x2x2_(shape = 2x2x2)
shard.grid @g(shape = 2x4)
shard.grid @g_2x2x2(shape = 8)
// CHECK-LABEL: @swap
func.func @swap(%x: tensor<16x24xf32>) -> tensor<16x24xf32> {
  %here = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %there = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  // CHECK: shard.all_to_all %x on @g_2x2x2_ grid_axes = [2] split_axis = 0 concat_axis = 1 : tensor<8x6xf32> -> tensor<4x12xf32>
  // CHECK: shard.send {{.*}} on @g_2x2x2_
  // CHECK-NEXT: shard.recv {{.*}} on @g_2x2x2_
  // CHECK-NEXT: func.return
  %a = shard.shard %x to %here : tensor<16x24xf32>
  %b = shard.shard %a to %there annotate_for_users : tensor<16x24xf32>
  return %b : tensor<16x24xf32>
}

// The finer grid is there now.
// CHECK-LABEL: @again
func.func @again(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %here = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %there = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  // CHECK: shard.recv {{.*}} on @g_2x2x2_ grid_axes
  %a = shard.shard %x to %here : tensor<8x8xf32>
  %b = shard.shard %a to %there annotate_for_users : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

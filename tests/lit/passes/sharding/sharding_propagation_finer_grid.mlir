// RUN: mesh-opt %s --split-input-file --sharding-propagation | filecheck %s
// RUN: mesh-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sharding-propagation))' | filecheck %s

// A reshape needs half of an axis: the annotations move to a finer grid, which both functions share.

// CHECK: shard.grid @g(shape = 4)
// CHECK-NEXT: shard.grid @g_2x2(shape = 2x2)
// CHECK-NEXT: func.func @a
// CHECK-DAG: shard.sharding @g_2x2 split_axes = {{\[\[0\], \[1\]\]}}
// CHECK-DAG: shard.sharding @g_2x2 split_axes = {{\[\[0, 1\]\]}}
// CHECK: func.func @b
// CHECK: shard.sharding @g_2x2
shard.grid @g(shape = 4)
func.func @a(%x: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x6xf32>
  %e = tensor.expand_shape %xs [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  return %e : tensor<2x4x6xf32>
}
func.func @b(%x: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x6xf32>
  %e = tensor.expand_shape %xs [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  return %e : tensor<2x4x6xf32>
}

// -----

// A reshape whose axis stays whole: the finer grid, on which it is followed, is not defined.

// CHECK: // -----
// CHECK: shard.grid @g(shape = 4)
// CHECK-NEXT: func.func @coarse_is_enough
shard.grid @g(shape = 4)
func.func @coarse_is_enough(%x: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x6xf32>
  %e = tensor.expand_shape %xs [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  return %e : tensor<2x4x6xf32>
}

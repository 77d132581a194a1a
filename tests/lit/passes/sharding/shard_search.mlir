// RUN: mesh-opt %s --split-input-file --shard-search='grid=4 objective=bytes' | filecheck %s
// RUN: mesh-opt %s --split-input-file -p 'shard-search{grid=4 objective=bytes},spmd' | filecheck %s --check-prefix=SPMD

// The rows of a product are computed each on its own.

// CHECK: shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @rows
// CHECK: shard.sharding @grid split_axes = {{\[\[}}0]] : !shard.sharding
// CHECK-NEXT: shard.shard %x to
// SPMD-LABEL: func.func @rows(%x: tensor<16x8xf32>
// SPMD-NOT: shard.all
func.func @rows(%x: tensor<64x8xf32>, %w: tensor<8x16xf32>) -> tensor<64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x8xf32>, tensor<8x16xf32>) outs(%f : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}

// -----

// An annotation is kept: %x is whole, so the columns of %w are split.

// CHECK-LABEL: func.func @kept
// CHECK: %[[COLUMNS:.*]] = shard.sharding @g split_axes = {{\[\[}}], [0]] : !shard.sharding
// CHECK-NEXT: shard.shard %w to %[[COLUMNS]]
// CHECK: shard.sharding @g split_axes = {{\[\[}}]] : !shard.sharding
// SPMD-LABEL: func.func @kept(%x: tensor<64x8xf32>, %w: tensor<8x4xf32>
shard.grid @g(shape = 4)
func.func @kept(%x: tensor<64x8xf32>, %w: tensor<8x16xf32>) -> tensor<64x16xf32> {
  %s = shard.sharding @g split_axes = [[]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<64x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = linalg.matmul ins(%a, %w : tensor<64x8xf32>, tensor<8x16xf32>) outs(%f : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}

// RUN: mesh-opt %s --spmd | filecheck %s

shard.grid @g(shape = 2x2)

// A batch over one axis, the hidden dimension over the other, both said of inputs only: one
// reduction over the hidden axis, and rows of the result stay where they are.

// CHECK-LABEL: func.func @mlp(%x: tensor<2x6xf32> {shard.boundary = {global_type = tensor<4x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %w1: tensor<6x4xf32> {shard.boundary = {global_type = tensor<6x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [1]]>}}, %w2: tensor<4x6xf32> {shard.boundary = {global_type = tensor<8x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}1], []]>}}) -> (tensor<2x6xf32> {shard.boundary = {global_type = tensor<4x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:  %0 = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT:  %f1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %h = linalg.matmul ins(%x, %w1 : tensor<2x6xf32>, tensor<6x4xf32>) outs(%f1 : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a = tosa.sigmoid %h : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %1 = tensor.empty() : tensor<2x6xf32>
// CHECK-NEXT:  %f2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %o = linalg.matmul ins(%a, %w2 : tensor<2x4xf32>, tensor<4x6xf32>) outs(%f2 : tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %o on @g grid_axes = [1] : tensor<2x6xf32> -> tensor<2x6xf32>
// CHECK-NEXT:  func.return %all_reduce : tensor<2x6xf32>
func.func @mlp(%x: tensor<4x6xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %batch = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %x0 = shard.shard %x to %batch annotate_for_users : tensor<4x6xf32>
  %w10 = shard.shard %w1 to %columns annotate_for_users : tensor<6x8xf32>
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.matmul ins(%x0, %w10 : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = tosa.sigmoid %h : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x6xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%a, %w2 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

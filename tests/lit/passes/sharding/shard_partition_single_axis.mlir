// RUN: mesh-opt %s --shard-partition | filecheck %s

shard.grid @g(shape = 2x1)

// Nothing is sent along an axis with one device.

// CHECK-LABEL: func.func @single(%a: tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %b: tensor<8x6xf32>) -> (tensor<2x6xf32> {shard.boundary = {global_type = tensor<4x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:  %0 = tensor.empty() : tensor<2x6xf32>
// CHECK-NEXT:  %fill = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %c = linalg.matmul ins(%a, %b : tensor<2x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  func.return %c : tensor<2x6xf32>
func.func @single(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %columns = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %a0 = shard.shard %a to %columns annotate_for_users : tensor<4x8xf32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.matmul ins(%a0, %b0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// RUN: mesh-opt %s --shard-partition | filecheck %s

shard.grid @g(shape = 2x2)

// Sums that are annotated as pending stay so through an addition, a transposition and a negation, and
// are done by one reduce-scatter.

// CHECK-LABEL: func.func @f(%a: tensor<4x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [1]]>}}, %b: tensor<4x6xf32> {shard.boundary = {global_type = tensor<8x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}1], []]>}}, %c: tensor<4x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [1]]>}}, %d: tensor<4x6xf32> {shard.boundary = {global_type = tensor<8x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}1], []]>}}) -> (tensor<6x2xf32> {shard.boundary = {global_type = tensor<6x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [1]]>}}) {
// CHECK-NEXT:  %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:  %0 = tensor.empty() : tensor<4x6xf32>
// CHECK-NEXT:  %fill = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %m = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %n = linalg.matmul ins(%c, %d : tensor<4x4xf32>, tensor<4x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %s = arith.addf %m, %n : tensor<4x6xf32>
// CHECK-NEXT:  %1 = tensor.empty() : tensor<6x4xf32>
// CHECK-NEXT:  %t = linalg.transpose ins(%s : tensor<4x6xf32>) outs(%1 : tensor<6x4xf32>) permutation = [1, 0]
// CHECK-NEXT:  %neg = arith.negf %t : tensor<6x4xf32>
// CHECK-NEXT:  %reduce_scatter = shard.reduce_scatter %neg on @g grid_axes = [1] scatter_axis = 1 : tensor<6x4xf32> -> tensor<6x2xf32>
// CHECK-NEXT:  func.return %reduce_scatter : tensor<6x2xf32>
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x8xf32>, %d: tensor<8x6xf32>) -> tensor<6x4xf32> {
  %cols = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %p = shard.sharding @g split_axes = [[], []] partial = sum[1] : !shard.sharding
  %q = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %a0 = shard.shard %a to %cols annotate_for_users : tensor<4x8xf32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x6xf32>
  %c0 = shard.shard %c to %cols annotate_for_users : tensor<4x8xf32>
  %d0 = shard.shard %d to %rows annotate_for_users : tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = linalg.matmul ins(%a0, %b0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m0 = shard.shard %m to %p : tensor<4x6xf32>
  %n = linalg.matmul ins(%c0, %d0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  %n0 = shard.shard %n to %p : tensor<4x6xf32>
  %s = arith.addf %m0, %n0 : tensor<4x6xf32>
  %e2 = tensor.empty() : tensor<6x4xf32>
  %t = linalg.transpose ins(%s : tensor<4x6xf32>) outs(%e2 : tensor<6x4xf32>) permutation = [1, 0]
  %neg = arith.negf %t : tensor<6x4xf32>
  %r = shard.shard %neg to %q : tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// A quotient of integers is rounded, so the sum is done before it. One of floats is linear.

// CHECK-LABEL: func.func @quotient_of_integers(
// CHECK:       %all_reduce = shard.all_reduce %m on @g grid_axes = [1]
// CHECK:       linalg.div ins(%all_reduce, %d :
func.func @quotient_of_integers(%a: tensor<4x8xi32>, %b: tensor<8x4xi32>, %d: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %cols = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %p = shard.sharding @g split_axes = [[], []] partial = sum[1] : !shard.sharding
  %whole = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %a0 = shard.shard %a to %cols annotate_for_users : tensor<4x8xi32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x4xi32>
  %zero = arith.constant dense<0> : tensor<4x4xi32>
  %m = linalg.matmul ins(%a0, %b0 : tensor<4x8xi32>, tensor<8x4xi32>) outs(%zero : tensor<4x4xi32>) -> tensor<4x4xi32>
  %m0 = shard.shard %m to %p : tensor<4x4xi32>
  %d0 = shard.shard %d to %whole : tensor<4x4xi32>
  %e = tensor.empty() : tensor<4x4xi32>
  %q = linalg.div ins(%m0, %d0 : tensor<4x4xi32>, tensor<4x4xi32>) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %r = shard.shard %q to %whole : tensor<4x4xi32>
  return %r : tensor<4x4xi32>
}

// CHECK-LABEL: func.func @quotient_of_floats(
// CHECK:       %q = linalg.div ins(%m, %d :
// CHECK:       shard.all_reduce %q on @g grid_axes = [1]
func.func @quotient_of_floats(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %d: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %cols = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %p = shard.sharding @g split_axes = [[], []] partial = sum[1] : !shard.sharding
  %whole = shard.sharding @g split_axes = [[], []] : !shard.sharding
  %a0 = shard.shard %a to %cols annotate_for_users : tensor<4x8xf32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %m = linalg.matmul ins(%a0, %b0 : tensor<4x8xf32>, tensor<8x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m0 = shard.shard %m to %p : tensor<4x4xf32>
  %d0 = shard.shard %d to %whole : tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %q = linalg.div ins(%m0, %d0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = shard.shard %q to %whole : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

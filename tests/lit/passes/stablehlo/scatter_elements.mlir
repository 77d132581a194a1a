// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-run %s -p spmd --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE

// Updates of single elements are a loop nest: from one loop, each turn would divide to find its indices.

// CHECK-LABEL: func.func @f
// CHECK: scf.for %{{.*}} to %c64 step
// CHECK: scf.for %{{.*}} to %c32 step
// CHECK-NOT: arith.rem
// CHECK-NOT: scf.for
// CHECK: tensor.insert
// NATIVE: agrees with the reference
func.func @f(%t: tensor<4000xf32>, %u: tensor<64x1x32xf32>) -> tensor<4000xf32> {
  %c = stablehlo.constant dense<7> : tensor<64x1x32x1xi32>
  %j = stablehlo.iota dim = 0 : tensor<64x1x32x1xi32>
  %i = stablehlo.multiply %c, %j : tensor<64x1x32x1xi32>
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4000xf32>, tensor<64x1x32x1xi32>, tensor<64x1x32xf32>) -> tensor<4000xf32>
  return %r : tensor<4000xf32>
}

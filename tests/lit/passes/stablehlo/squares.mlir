// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// A power whose exponent is known to be 2 is a product; torch writes `x.pow(2)` like this.

// CHECK-LABEL: func.func @squares
// CHECK-NOT: math.powf
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: math.powf
// CHECK-NOT: math.powf
func.func @squares(%x: tensor<4xf32>, %n: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = arith.constant dense<2.0> : tensor<1xf64>
  %0 = stablehlo.convert %two : (tensor<1xf64>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  %2 = chlo.broadcast_power %x, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.power %x, %3 : tensor<4xf32>
  %5 = stablehlo.power %x, %n : tensor<4xf32>
  return %2, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

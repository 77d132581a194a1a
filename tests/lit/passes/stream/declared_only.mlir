// RUN: mesh-opt %s --verify-diagnostics --data-tile

func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{passes tensors to @outside, which is only declared}}
  %0 = call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

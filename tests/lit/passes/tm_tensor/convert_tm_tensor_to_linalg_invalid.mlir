// RUN: mesh-opt %s --convert-tm-tensor-to-linalg --split-input-file --verify-diagnostics

func.func @buffers(%x: memref<7xf32>) {
  // expected-error @+1 {{has operand #0 of memref type, but only tensors are supported: give the program before its bufferization}}
  tm_tensor.sort dimension(0) outs(%x : memref<7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  }
  func.return
}

// -----

func.func @body(%x: tensor<7xf32>, %t: tensor<7xf32>, %a: tensor<f32>) -> tensor<7xf32> {
  // expected-error @+1 {{uses a tensor of type tensor<7xf32> in its body}}
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<7xf32>) outs(%x, %a : tensor<7xf32>, tensor<f32>) {
  ^bb0(%new: f32, %old: f32):
    %c0 = arith.constant 0 : index
    %1 = tensor.extract %t[%c0] : tensor<7xf32>
    tm_tensor.yield %1 : f32
  } -> tensor<7xf32>, tensor<f32>
  func.return %0#0 : tensor<7xf32>
}

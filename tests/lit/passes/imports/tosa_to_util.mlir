// RUN: mesh-opt %s --tosa-to-util | filecheck %s

// CHECK: util.global private mutable @state = dense<7.000000e+00> : tensor<4x2xf32>
tosa.variable @state = dense<7.0> : tensor<4x2xf32>
// CHECK-NEXT: util.global private mutable @open : tensor<4x?xf32>
tosa.variable @open : tensor<4x?xf32>

func.func @f(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: util.global.store %x, @state : tensor<4x2xf32>
  tosa.variable_write @state, %x : tensor<4x2xf32>
  // CHECK-NEXT: %v = util.global.load @state : tensor<4x2xf32>
  %v = tosa.variable_read @state : tensor<4x2xf32>
  return %v : tensor<4x2xf32>
}

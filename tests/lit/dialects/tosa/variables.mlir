// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// CHECK: tosa.variable @state = dense<7.000000e+00> : tensor<4x2xf32>
tosa.variable @state = dense<7.0> : tensor<4x2xf32>
// CHECK-NEXT: tosa.variable @count {note} = dense<1> : tensor<i32>
tosa.variable @count {note} = dense<1> : tensor<i32>
// CHECK-NEXT: tosa.variable @open : tensor<4x?xf32>
"tosa.variable"() <{sym_name = "open", type = f32, var_shape = dense<[4, -1]> : tensor<2xindex>}> : () -> ()

func.func @f(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: tosa.variable_write @state, %x : tensor<4x2xf32>
  tosa.variable_write @state, %x : tensor<4x2xf32>
  // CHECK-NEXT: %v = tosa.variable_read @state : tensor<4x2xf32>
  %v = tosa.variable_read @state : tensor<4x2xf32>
  return %v : tensor<4x2xf32>
}

// RUN: mesh-opt %s --convert-tosa-to-linalg | filecheck %s

// Unsigned elements, sizes that are computed and types that are wrong stay.
// CHECK-LABEL: func.func @kept
// CHECK: tosa.bitwise_not
// CHECK: tosa.reshape
// CHECK: tosa.concat
func.func @kept(%a: tensor<2x3xf32>, %b: tensor<4xui8>, %c: tensor<?x2xf32>) -> (tensor<4xui8>, tensor<?xf32>, tensor<3x5xf32>) {
  %1 = tosa.bitwise_not %b : (tensor<4xui8>) -> tensor<4xui8>
  %n = tosa.dim %c {axis = 1 : i32} : (tensor<?x2xf32>) -> !tosa.shape<1>
  %2 = tosa.reshape %c, %n : (tensor<?x2xf32>, !tosa.shape<1>) -> tensor<?xf32>
  %3 = tosa.concat %c, %a {axis = 1 : i32} : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<3x5xf32>
  return %1, %2, %3 : tensor<4xui8>, tensor<?xf32>, tensor<3x5xf32>
}

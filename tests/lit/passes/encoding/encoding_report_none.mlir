// RUN: mesh-opt %s --encoding-report -o %t 2>&1 | filecheck %s

// CHECK: no tensor has an encoding; the passes data-tile and compile give them encodings
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

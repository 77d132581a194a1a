// A named operation whose body is not the one of its name keeps that body: it is printed generically.
// RUN: mesh-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @squares_the_left
// CHECK:      "linalg.mul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 2, 1>}> ({
// CHECK-NEXT: ^bb0(%x: f32, %y: f32, %z: f32):
// CHECK-NEXT:   "arith.mulf"(%x, %x)
func.func @squares_the_left(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %r = "linalg.mul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = "arith.mulf"(%x, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    "linalg.yield"(%p) : (f32) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @as_named
// CHECK: linalg.mul ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
func.func @as_named(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %r = "linalg.mul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = "arith.mulf"(%x, %y) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    "linalg.yield"(%p) : (f32) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @negating_transpose
// CHECK:      "linalg.transpose"(%a, %b) <{permutation = array<i64: 1, 0>}> ({
// CHECK-NEXT: ^bb0(%x: f32, %y: f32):
// CHECK-NEXT:   "arith.negf"(%x)
func.func @negating_transpose(%a: tensor<4x6xf32>, %b: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %r = "linalg.transpose"(%a, %b) <{permutation = array<i64: 1, 0>}> ({
  ^bb0(%x: f32, %y: f32):
    %n = "arith.negf"(%x) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
    "linalg.yield"(%n) : (f32) -> ()
  }) : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

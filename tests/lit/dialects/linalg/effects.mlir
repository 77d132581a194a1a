// RUN: mesh-opt %s --cse | filecheck %s --check-prefixes=CHECK,CSE
// RUN: mesh-opt %s --canonicalize | filecheck %s --check-prefixes=CHECK,CANONICAL

// On tensors, equal operations are one and unused ones are none; on buffers each one counts.

// CHECK-LABEL: func.func @tensors
// CSE-COUNT-1: linalg.matmul
// CSE-NOT: linalg.matmul
// CSE: linalg.add
// CANONICAL-COUNT-2: linalg.matmul
// CANONICAL-NOT: linalg.matmul
// CANONICAL-NOT: linalg.exp
// CANONICAL-NOT: linalg.softmax
// CANONICAL-NOT: linalg.reduce
// CANONICAL-NOT: linalg.pack
// CANONICAL-NOT: tosa.tanh
// CANONICAL-NOT: tensor.pad
// CANONICAL: return
func.func @tensors(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %v: tensor<4xf32>, %p: tensor<2x2x2x2xf32>, %z: f32) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.exp ins(%a : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.softmax dimension(1) ins(%a : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = linalg.reduce { arith.addf } ins(%a : tensor<4x4xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  %5 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %p : tensor<4x4xf32> -> tensor<2x2x2x2xf32>
  %6 = tosa.tanh %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = tensor.pad %a low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x4xf32> to tensor<5x4xf32>
  %8 = linalg.add ins(%0, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %8 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK-COUNT-2: linalg.exp
func.func @buffers(%a: memref<4xf32>) {
  linalg.exp ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  linalg.exp ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

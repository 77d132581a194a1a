// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-run %s -p spmd --function=across --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE

// Matrices of a batch that lie side by side are put one after the other, if there are enough rows and columns.

// CHECK-LABEL: func.func @across
// CHECK: linalg.generic {{.*}} ins(%y : tensor<32x16x8xf32>) outs(%{{.*}} : tensor<8x32x16xf32>)
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%x, %{{.*}} : tensor<8x4x32xf32>, tensor<8x32x16xf32>)
// NATIVE: agrees with the reference
func.func @across(%x: tensor<8x4x32xf32>, %y: tensor<32x16x8xf32>) -> tensor<8x4x16xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [2], contracting_dims = [2] x [0] : (tensor<8x4x32xf32>, tensor<32x16x8xf32>) -> tensor<8x4x16xf32>
  return %r : tensor<8x4x16xf32>
}

// Here vectors run along the batch.

// CHECK-LABEL: func.func @along
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%x, %y : tensor<4x32xf32>, tensor<4x32xf32>)
func.func @along(%x: tensor<4x32xf32>, %y: tensor<4x32xf32>) -> tensor<32xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<32xf32>
  return %r : tensor<32xf32>
}

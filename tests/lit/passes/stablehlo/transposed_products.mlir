// A product writes its result in the order of a permutation that leaves its columns, or its rows, innermost.

// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-run %s -p spmd --function=heads --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE
// RUN: mesh-run %s -p spmd --function=turned --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE
// RUN: mesh-run %s -p spmd --function=mixed --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE
// RUN: mesh-run %s -p spmd --function=shared --random-inputs=0 --check | filecheck %s --check-prefix=NATIVE
// NATIVE: agrees with the reference

// CHECK-LABEL: func.func @heads
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%p, %v : {{.*}}) outs(%{{.*}} : tensor<2x16x4x8xf32>)
// CHECK-NOT: linalg.generic
func.func @heads(%p: tensor<2x4x16x32xf32>, %v: tensor<2x32x4x8xf32>) -> tensor<2x16x4x8xf32> {
  %r = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x16x32xf32>, tensor<2x32x4x8xf32>) -> tensor<2x4x16x8xf32>
  %t = stablehlo.transpose %r, dims = [0, 2, 1, 3] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
  return %t : tensor<2x16x4x8xf32>
}

// CHECK-LABEL: func.func @turned
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%x, %y : {{.*}}) outs(%{{.*}} : tensor<24x16xf32>)
// CHECK-NOT: linalg.generic
func.func @turned(%x: tensor<16x32xf32>, %y: tensor<32x24xf32>) -> tensor<24x16xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<16x24xf32>) -> tensor<24x16xf32>
  return %t : tensor<24x16xf32>
}

// CHECK-LABEL: func.func @mixed
// Rows and columns of the result alternate.
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%x, %y : {{.*}}) outs(%{{.*}} : tensor<2x3x4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%r : tensor<2x3x4x8xf32>)
func.func @mixed(%x: tensor<2x3x32xf32>, %y: tensor<32x4x8xf32>) -> tensor<2x4x3x8xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<2x3x32xf32>, tensor<32x4x8xf32>) -> tensor<2x3x4x8xf32>
  %t = stablehlo.transpose %r, dims = [0, 2, 1, 3] : (tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  return %t : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @shared
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%x, %y : {{.*}}) outs(%{{.*}} : tensor<16x24xf32>)
// CHECK: linalg.generic {{.*}} ins(%r : tensor<16x24xf32>)
func.func @shared(%x: tensor<16x32xf32>, %y: tensor<32x24xf32>) -> (tensor<24x16xf32>, tensor<16x24xf32>) {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<16x24xf32>) -> tensor<24x16xf32>
  return %t, %r : tensor<24x16xf32>, tensor<16x24xf32>
}

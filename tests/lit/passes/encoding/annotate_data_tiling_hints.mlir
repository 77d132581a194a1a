// RUN: mesh-opt %s --split-input-file --iree-dispatch-creation-annotate-data-tiling-hints | filecheck %s

// Contractions are marked, unless somebody has chosen some of them.

// CHECK-LABEL: @hints
util.func public @hints(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: linalg.matmul {iree.opt.data_tiling} ins
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: linalg.add ins
  %1 = linalg.add ins(%0, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  util.return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @chosen
util.func public @chosen(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: linalg.matmul {iree.opt.data_tiling} ins
  %0 = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: linalg.matmul ins
  %1 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  util.return %1 : tensor<4x4xf32>
}

// RUN: mesh-opt %s --split-input-file --iree-dispatch-creation-annotate-data-tiling-hints | filecheck %s
// RUN: mesh-opt %s --split-input-file '--pass-pipeline=builtin.module(iree-dispatch-creation-annotate-data-tiling-hints{data-tiling-op-types=convolution})' | filecheck %s --check-prefix=CONV

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

// -----

// Not those whose code is chosen, nor those of which is known how many workgroups run them.

// CHECK-LABEL: @not_these
// CHECK-NOT: data_tiling
util.func public @not_these(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul {compilation_info = "mine"} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = flow.dispatch.region -> (tensor<4x4xf32>) {
    %2 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
    flow.return %2 : tensor<4x4xf32>
  } count() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    flow.return %c1, %c1, %c1 : index, index, index
  }
  util.return %1 : tensor<4x4xf32>
}

// -----

// One loop of each role at most; factors that have scales count; convolutions where they are asked for.

#m = affine_map<(m, n, k, b) -> (m, k, b)>
#n = affine_map<(m, n, k, b) -> (n, k, b)>
#ms = affine_map<(m, n, k, b) -> (m, k)>
#ns = affine_map<(m, n, k, b) -> (n, k)>
#mn = affine_map<(m, n, k, b) -> (m, n)>

// CHECK-LABEL: @kinds
// CONV-LABEL: @kinds
util.func public @kinds(%a: tensor<4x2x8xf32>, %b: tensor<6x2x8xf32>, %c: tensor<4x6xf32>, %p: tensor<4x2x8xf4E2M1FN>, %q: tensor<6x2x8xf4E2M1FN>, %s: tensor<4x2xf8E8M0FNU>, %t: tensor<6x2xf8E8M0FNU>, %i: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x16xf32>, %o: tensor<1x6x6x16xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<1x6x6x16xf32>) {
  // CHECK: linalg.generic {indexing_maps = {{.*}}, iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
  %0 = linalg.generic {indexing_maps = [#m, #n, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x2x8xf32>, tensor<6x2x8xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  // CHECK: linalg.generic {{.*}}iree.opt.data_tiling
  %3 = linalg.generic {indexing_maps = [#m, #n, #ms, #ns, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p, %q, %s, %t : tensor<4x2x8xf4E2M1FN>, tensor<6x2x8xf4E2M1FN>, tensor<4x2xf8E8M0FNU>, tensor<6x2xf8E8M0FNU>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f4E2M1FN, %y: f4E2M1FN, %u: f8E8M0FNU, %v: f8E8M0FNU, %z: f32):
    %4 = arith.scaling_extf %x, %u : f4E2M1FN, f8E8M0FNU to f32
    %5 = arith.scaling_extf %y, %v : f4E2M1FN, f8E8M0FNU to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = arith.addf %z, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<4x6xf32>
  // CHECK: linalg.conv_2d_nhwc_hwcf ins(
  // CONV: linalg.conv_2d_nhwc_hwcf {iree.opt.data_tiling} ins(
  %8 = linalg.conv_2d_nhwc_hwcf ins(%i, %w : tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) outs(%o : tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xf32>
  util.return %0, %3, %8 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<1x6x6x16xf32>
}

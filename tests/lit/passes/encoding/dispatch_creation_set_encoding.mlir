// RUN: mesh-opt %s --split-input-file --iree-dispatch-creation-set-encoding | filecheck %s

// Nothing is encoded that is not marked.

// CHECK-LABEL: @unmarked
// CHECK-NOT: set_encoding
util.func public @unmarked(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}

// -----

// A mark decides, whatever the encoding costs: this operand is large, and read once.

// CHECK-LABEL: @marked
util.func public @marked(%a: tensor<1x256xf32>, %b: tensor<256x256xf32>, %c: tensor<1x256xf32>) -> (tensor<1x256xf32>, tensor<1x256xf32>) {
  // CHECK: iree_encoding.set_encoding %a
  // CHECK: iree_encoding.set_encoding %b
  // CHECK: iree_encoding.set_encoding %c
  // CHECK: linalg.matmul ins(
  // CHECK: %[[R:.*]] = iree_encoding.unset_encoding
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x256xf32>, tensor<256x256xf32>) outs(%c : tensor<1x256xf32>) -> tensor<1x256xf32>
  // CHECK: linalg.matmul ins(%[[R]], %b :
  %s = linalg.matmul ins(%r, %b : tensor<1x256xf32>, tensor<256x256xf32>) outs(%c : tensor<1x256xf32>) -> tensor<1x256xf32>
  util.return %r, %s : tensor<1x256xf32>, tensor<1x256xf32>
}

// -----

// What no target has tiles for is encoded where it is marked: a single element, complex numbers, truth
// values, factors that the body computes.

// CHECK-DAG: #[[DOT:.*]] = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}], iteration_sizes = [5]>
// CHECK-DAG: #[[COMPLEX:.*]] = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [complex<f32>, complex<f32>, complex<f32>]
// CHECK-DAG: #[[TRUTH:.*]] = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [i1, i1, i1]
// CHECK-LABEL: @contractions
util.func public @contractions(%x: tensor<5xf32>, %s: tensor<f32>, %a: tensor<4x5xcomplex<f32>>, %b: tensor<5x6xcomplex<f32>>, %c: tensor<4x6xcomplex<f32>>, %t: tensor<4x5xi1>, %u: tensor<5x6xi1>, %v: tensor<4x6xi1>, %y: tensor<4x5xf32>, %z: tensor<4xf32>) -> (tensor<f32>, tensor<4x6xcomplex<f32>>, tensor<4x6xi1>, tensor<4xf32>) {
  // CHECK: linalg.dot {{.*}} outs(%{{.*}} : tensor<f32, #[[DOT]]>)
  %0 = linalg.dot {iree.opt.data_tiling} ins(%x, %x : tensor<5xf32>, tensor<5xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  // CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<4x5xcomplex<f32>, #[[COMPLEX]]>
  %1 = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xcomplex<f32>>, tensor<5x6xcomplex<f32>>) outs(%c : tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
  // CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : {{.*}}, tensor<5x6xi1, #[[TRUTH]]>
  %2 = linalg.matmul {iree.opt.data_tiling} ins(%t, %u : tensor<4x5xi1>, tensor<5x6xi1>) outs(%v : tensor<4x6xi1>) -> tensor<4x6xi1>
  // CHECK: linalg.generic
  // CHECK: math.exp
  // CHECK: tensor<4xf32, #
  %3 = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%y, %x : tensor<4x5xf32>, tensor<5xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %4 = math.exp %p : f32
    %5 = arith.mulf %q, %4 : f32
    %6 = arith.addf %o, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4xf32>
  util.return %0, %1, %2, %3 : tensor<f32>, tensor<4x6xcomplex<f32>>, tensor<4x6xi1>, tensor<4xf32>
}

// -----

// Convolutions and pooling of all kinds.

// CHECK-LABEL: @windows
util.func public @windows(%i: tensor<1x16x16x4xf32>, %w: tensor<3x3x4x16xf32>, %d: tensor<3x3x4xf32>, %p: tensor<3x3xf32>, %o: tensor<1x14x14x16xf32>, %q: tensor<1x12x12x16xf32>, %s: tensor<1x14x14x4xf32>) -> (tensor<1x14x14x16xf32>, tensor<1x12x12x16xf32>, tensor<1x14x14x4xf32>, tensor<1x14x14x4xf32>) {
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: linalg.conv_2d_nhwc_hwcf
  %0 = linalg.conv_2d_nhwc_hwcf {iree.opt.data_tiling} ins(%i, %w : tensor<1x16x16x4xf32>, tensor<3x3x4x16xf32>) outs(%o : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>}
  %1 = linalg.conv_2d_nhwc_hwcf {iree.opt.data_tiling, dilations = dense<2> : tensor<2xi64>} ins(%i, %w : tensor<1x16x16x4xf32>, tensor<3x3x4x16xf32>) outs(%q : tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32>
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: linalg.depthwise_conv_2d_nhwc_hwc
  %2 = linalg.depthwise_conv_2d_nhwc_hwc {iree.opt.data_tiling} ins(%i, %d : tensor<1x16x16x4xf32>, tensor<3x3x4xf32>) outs(%s : tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32>
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: linalg.pooling_nhwc_sum
  %3 = linalg.pooling_nhwc_sum {iree.opt.data_tiling} ins(%i, %p : tensor<1x16x16x4xf32>, tensor<3x3xf32>) outs(%s : tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32>
  util.return %0, %1, %2, %3 : tensor<1x14x14x16xf32>, tensor<1x12x12x16xf32>, tensor<1x14x14x4xf32>, tensor<1x14x14x4xf32>
}

// CHECK-LABEL: @generic_windows
util.func public @generic_windows(%i: tensor<1x16x8xf32>, %w: tensor<3x8xf32>, %p: tensor<3xf32>, %o: tensor<1x12x8xf32>, %q: tensor<1x14x8xf32>) -> (tensor<1x12x8xf32>, tensor<1x14x8xf32>) {
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: linalg.generic
  %0 = linalg.generic {indexing_maps = [affine_map<(n, x, c, k) -> (n, x + k * 2, c)>, affine_map<(n, x, c, k) -> (k, c)>, affine_map<(n, x, c, k) -> (n, x, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%i, %w : tensor<1x16x8xf32>, tensor<3x8xf32>) outs(%o : tensor<1x12x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x12x8xf32>
  // CHECK-COUNT-3: iree_encoding.set_encoding
  // CHECK: arith.maximumf
  %1 = linalg.generic {indexing_maps = [affine_map<(n, x, c, k) -> (n, x + k, c)>, affine_map<(n, x, c, k) -> (k)>, affine_map<(n, x, c, k) -> (n, x, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%i, %p : tensor<1x16x8xf32>, tensor<3xf32>) outs(%q : tensor<1x14x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %m = arith.maximumf %a, %x : f32
    linalg.yield %m : f32
  } -> tensor<1x14x8xf32>
  util.return %0, %1 : tensor<1x12x8xf32>, tensor<1x14x8xf32>
}

// -----

// The fill that is redone on encoded tensors goes.
// CHECK-LABEL: util.func public @filled(
// CHECK-NOT: tensor.empty() : tensor<30x70xf32>
// CHECK-NOT: tensor<30x70xf32>) -> tensor<30x70xf32>
// CHECK: linalg.fill {{.*}} -> tensor<30x70xf32, #encoding
util.func public @filled(%a: tensor<30x50xf32>, %b: tensor<50x70xf32>) -> tensor<30x70xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<30x70xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<30x70xf32>) -> tensor<30x70xf32>
  %2 = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<30x50xf32>, tensor<50x70xf32>)
    outs(%1 : tensor<30x70xf32>) -> tensor<30x70xf32>
  util.return %2 : tensor<30x70xf32>
}

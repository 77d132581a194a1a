// RUN: mesh-opt %s --split-input-file --set-encoding | filecheck %s

// Weights with a zero point and a scale are computed in front of the contraction, which has two factors.

// CHECK-LABEL: func.func @weights
// CHECK: %[[E:.*]] = tensor.empty() : tensor<20x33xf32>
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%w, %zp, %scale : {{.*}}) outs(%[[E]]
// CHECK:   arith.subi
// CHECK:   arith.mulf
// CHECK: iree_encoding.set_encoding %x
// CHECK: iree_encoding.set_encoding %[[W]] : tensor<20x33xf32>
// CHECK: linalg.generic
// CHECK-SAME: tensor<17x20xf32, #{{.*}}>, tensor<20x33xf32, #
// CHECK: iree_encoding.unset_encoding
func.func @weights(%x: tensor<17x20xf32>, %w: tensor<20x33xi8>, %zp: tensor<33xi8>, %scale: tensor<33xf32>, %y: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w, %zp, %scale : tensor<17x20xf32>, tensor<20x33xi8>, tensor<33xi8>, tensor<33xf32>) outs(%y : tensor<17x33xf32>) {
  ^bb0(%a: f32, %b: i8, %z: i8, %s: f32, %o: f32):
    %0 = arith.subi %b, %z : i8
    %1 = arith.sitofp %0 : i8 to f32
    %2 = arith.mulf %1, %s : f32
    %3 = arith.mulf %a, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<17x33xf32>
  return %r : tensor<17x33xf32>
}

// A scale of each element of the result is no factor: nothing is encoded.

// CHECK-LABEL: func.func @scaled_result
// CHECK-NOT: set_encoding
func.func @scaled_result(%x: tensor<17x20xf32>, %w: tensor<20x33xf32>, %scale: tensor<17x33xf32>, %y: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w, %scale : tensor<17x20xf32>, tensor<20x33xf32>, tensor<17x33xf32>) outs(%y : tensor<17x33xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32, %o: f32):
    %1 = arith.mulf %a, %s : f32
    %2 = arith.mulf %1, %b : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<17x33xf32>
  return %r : tensor<17x33xf32>
}

// -----

// Factors with scales that are marked are encoded with their scales, and not computed in front.

// CHECK-DAG: #[[A:.*]] = #iree_encoding.encoding<operand_index = 0 : index, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}], iteration_sizes = [16, 8, 2, 32]>
// CHECK-DAG: #[[C:.*]] = #iree_encoding.encoding<operand_index = 4 : index, op_type = scaled_matmul
// CHECK-LABEL: func.func @marked_scales
// CHECK: iree_encoding.set_encoding %a : tensor<16x2x32xf4E2M1FN> -> tensor<16x2x32xf4E2M1FN, #[[A]]>
// CHECK-COUNT-4: iree_encoding.set_encoding
// CHECK: linalg.generic
// CHECK: arith.scaling_extf
// CHECK: iree_encoding.unset_encoding %{{.*}} : tensor<16x8xf32, #[[C]]> -> tensor<16x8xf32>
func.func @marked_scales(%a: tensor<16x2x32xf4E2M1FN>, %b: tensor<8x2x32xf4E2M1FN>, %sa: tensor<16x2xf8E8M0FNU>, %sb: tensor<8x2xf8E8M0FNU>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k, b) -> (m, k, b)>, affine_map<(m, n, k, b) -> (n, k, b)>, affine_map<(m, n, k, b) -> (m, k)>, affine_map<(m, n, k, b) -> (n, k)>, affine_map<(m, n, k, b) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<16x2x32xf4E2M1FN>, tensor<8x2x32xf4E2M1FN>, tensor<16x2xf8E8M0FNU>, tensor<8x2xf8E8M0FNU>) outs(%c : tensor<16x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f4E2M1FN, %y: f4E2M1FN, %xs: f8E8M0FNU, %ys: f8E8M0FNU, %z: f32):
    %1 = arith.scaling_extf %x, %xs : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.scaling_extf %y, %ys : f4E2M1FN, f8E8M0FNU to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %z, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

// What a factor uses several times is computed once.

// CHECK-LABEL: @power
// CHECK:       ^bb0(%[[A:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: f32):
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.addf %[[P]], %[[P]] : f32
// CHECK-NEXT:    %[[R:.*]] = arith.mulf %[[Q]], %[[Q]] : f32
// CHECK-NEXT:    linalg.yield %[[R]] : f32
func.func @power(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %x : f32
    %q = arith.addf %p, %p : f32
    %r = arith.mulf %q, %q : f32
    %m = arith.mulf %r, %y : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

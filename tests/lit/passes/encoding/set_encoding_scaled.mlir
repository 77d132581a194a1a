// RUN: mesh-opt %s --set-encoding | filecheck %s

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

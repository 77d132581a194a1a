// RUN: mesh-opt %s --convert-linalg-ext-to-linalg | filecheck %s
// RUN: mesh-opt %s --convert-linalg-ext-to-linalg | filecheck %s --check-prefix=NONE
// NONE-NOT: tm_tensor.
// NONE-NOT: iree_linalg_ext.

// Few elements are one block: each is combined with those before. The identity of a sum is -0.0.
// CHECK-LABEL: func.func @scan
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel", "reduction"]
// CHECK: arith.cmpi sle
// CHECK: arith.addf
// CHECK: func.return
func.func @scan(%x: tensor<3x7xf32>, %y: tensor<3x7xf32>, %a: tensor<3xf32>) -> tensor<3x7xf32> {
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%y, %a : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%new: f32, %old: f32):
    %1 = arith.addf %new, %old : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x7xf32>, tensor<3xf32>
  func.return %0#0 : tensor<3x7xf32>
}

// A size that is not known, or a body that is no running sum: one element after the other.
// CHECK-LABEL: func.func @open_scan
// CHECK: scf.for {{.*}} iter_args({{.*}} = %x) -> (tensor<3x?xf32>)
// CHECK: linalg.generic {{.*}} ["parallel", "parallel"]
// CHECK: tensor.insert_slice
func.func @open_scan(%x: tensor<3x?xf32>, %a: tensor<3xf32>) -> tensor<3x?xf32> {
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x?xf32>) outs(%x, %a : tensor<3x?xf32>, tensor<3xf32>) {
  ^bb0(%new: f32, %old: f32):
    %1 = arith.addf %new, %old : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x?xf32>, tensor<3xf32>
  func.return %0#0 : tensor<3x?xf32>
}

// Sums of bf16 are carried in f32.
// CHECK-LABEL: func.func @narrow_scan
// CHECK: linalg.generic
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @narrow_scan(%x: tensor<7xbf16>, %a: tensor<bf16>) -> tensor<7xbf16> {
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<7xbf16>) outs(%x, %a : tensor<7xbf16>, tensor<bf16>) {
  ^bb0(%new: bf16, %old: bf16):
    %1 = arith.addf %new, %old : bf16
    tm_tensor.yield %1 : bf16
  } -> tensor<7xbf16>, tensor<bf16>
  func.return %0#0 : tensor<7xbf16>
}

// `ole` orders equal elements both ways, and NaN not at all: what counts is which comes first.
// CHECK-LABEL: func.func @sort
// CHECK: arith.cmpf ult, %[[A:.*]], %{{.*}} : f32
// CHECK-NEXT: arith.cmpf ord, %[[A]], %[[A]] : f32
func.func @sort(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<7xf32>
  func.return %0 : tensor<7xf32>
}

// The contents of outs are sorted with the rest.
// CHECK-LABEL: func.func @topk
// CHECK: tensor.concat dim(0) %x, %v : (tensor<7xi32>, tensor<2xi32>) -> tensor<9xi32>
// CHECK: tensor.extract_slice %{{.*}}[0] [2] [1] : tensor<9xi32> to tensor<2xi32>
func.func @topk(%x: tensor<7xi32>, %v: tensor<2xi32>, %i: tensor<2xi32>) -> tensor<2xi32> {
  %0:2 = tm_tensor.topk dimension(0) ins(%x : tensor<7xi32>) outs(%v, %i : tensor<2xi32>, tensor<2xi32>) {
  ^bb0(%a: i32, %b: i32):
    %1 = arith.cmpi sgt, %a, %b : i32
    tm_tensor.yield %1 : i1
  } -> tensor<2xi32>, tensor<2xi32>
  func.return %0#0 : tensor<2xi32>
}

// One loop nest: each element asks the rows of indices.
// CHECK-LABEL: func.func @scatter
// CHECK: [[ROWS:%.*]] = tensor.collapse_shape %i
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "reduction"]} ins([[ROWS]], %u : tensor<4xi64>, tensor<4x7xf32>)
func.func @scatter(%u: tensor<4x7xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<5x7xf32>
  func.return %0 : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @attention
// CHECK: math.sqrt
// CHECK: linalg.softmax dimension(2)
func.func @attention(%q: tensor<2x5x8xf32>, %k: tensor<2x3x8xf32>, %m: tensor<5x3xf32>, %o: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %0 = tm_tensor.attention ins(%q, %k, %k, %m : tensor<2x5x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<5x3xf32>) outs(%o : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  func.return %0 : tensor<2x5x8xf32>
}

// IREE's attention: the maps say which dimensions are summed. The body of each weight follows its scale.
// CHECK-LABEL: func.func @attention_by_maps
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k :
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel"]
// CHECK: arith.mulf
// CHECK: linalg.index 2
// CHECK: linalg.softmax dimension(2)
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel", "reduction"]} ins({{.*}}, %v :
func.func @attention_by_maps(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x5xf32>, %e: tensor<2x4x5xf32>) -> tensor<2x4x5xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, s) -> (b, m, k)>, affine_map<(b, m, n, k, s) -> (b, s, k)>, affine_map<(b, m, n, k, s) -> (b, s, n)>, affine_map<(b, m, n, k, s) -> ()>, affine_map<(b, m, n, k, s) -> (b, m, n)>]}> ins(%q, %k, %v, %scale : tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x5xf32>, f32) outs(%e : tensor<2x4x5xf32>) {
  ^bb0(%weight: f32):
    %at = iree_linalg_ext.index 2 : index
    %number = arith.index_cast %at : index to i32
    %slope = arith.sitofp %number : i32 to f32
    %1 = arith.addf %weight, %slope : f32
    iree_linalg_ext.yield %1 : f32
  } -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<3x?xf32>, %y: tensor<3x?xf32>, %a: tensor<3xf32>) -> (tensor<3x?xf32>, tensor<3xf32>) {
  // CHECK: %0:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<3x?xf32>) outs(%y, %a : tensor<3x?xf32>, tensor<3xf32>) {
  // CHECK-NEXT: ^bb0(%arg0: f32, %arg1: f32):
  // CHECK-NEXT:   %1 = arith.addf %arg0, %arg1 : f32
  // CHECK-NEXT:   tm_tensor.yield %1 : f32
  // CHECK-NEXT: } -> tensor<3x?xf32>, tensor<3xf32>
  // GENERIC: "tm_tensor.scan"(%x, %y, %a) <{dimension = 1 : i64, inclusive = false, operandSegmentSizes = array<i32: 1, 2>}> ({
  %0:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<3x?xf32>) outs(%y, %a : tensor<3x?xf32>, tensor<3xf32>) {
  ^bb0(%arg0: f32, %arg1: f32):
    %1 = arith.addf %arg0, %arg1 : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x?xf32>, tensor<3xf32>
  func.return %0#0, %0#1 : tensor<3x?xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%u: tensor<4x7xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  // CHECK: tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  // CHECK: } -> tensor<5x7xf32>
  // GENERIC: "tm_tensor.scatter"(%u, %i, %x) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = true}> ({
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<5x7xf32>
  func.return %0 : tensor<5x7xf32>
}

// On memrefs there are no results.
// CHECK-LABEL: func.func @sort
func.func @sort(%x: memref<3x7xf32>, %i: memref<3x7xi64>) {
  // CHECK: tm_tensor.sort dimension(1) outs(%x, %i : memref<3x7xf32>, memref<3x7xi64>) {
  // CHECK: tm_tensor.yield %0 : i1
  // CHECK-NEXT: }{{$}}
  // GENERIC: "tm_tensor.sort"(%x, %i) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 0, 2>}> ({
  tm_tensor.sort dimension(1) outs(%x, %i : memref<3x7xf32>, memref<3x7xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %0 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %0 : i1
  }
  func.return
}

// CHECK-LABEL: func.func @topk
func.func @topk(%x: tensor<3x7xi32>, %i: tensor<3x7xi32>, %v: tensor<3x2xi32>, %o: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK: tm_tensor.topk {note = "kept"} dimension(1) ins(%x, %i : tensor<3x7xi32>, tensor<3x7xi32>) outs(%v, %o : tensor<3x2xi32>, tensor<3x2xi32>) {
  // CHECK: } -> tensor<3x2xi32>, tensor<3x2xi32>
  %0:2 = tm_tensor.topk {note = "kept"} dimension(1) ins(%x, %i : tensor<3x7xi32>, tensor<3x7xi32>) outs(%v, %o : tensor<3x2xi32>, tensor<3x2xi32>) {
  ^bb0(%a: i32, %b: i32):
    %1 = arith.cmpi sgt, %a, %b : i32
    tm_tensor.yield %1 : i1
  } -> tensor<3x2xi32>, tensor<3x2xi32>
  func.return %0#0 : tensor<3x2xi32>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x8xf32>, %k: tensor<2x3x8xf32>, %m: tensor<2x5x3xf32>, %o: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  // CHECK: tm_tensor.attention ins(%q, %k, %k, %m : tensor<2x5x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x5x3xf32>) outs(%o : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %0 = tm_tensor.attention ins(%q, %k, %k, %m : tensor<2x5x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x5x3xf32>) outs(%o : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  func.return %0 : tensor<2x5x8xf32>
}

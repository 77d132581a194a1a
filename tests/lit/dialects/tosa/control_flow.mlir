// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Branches and loops.

// CHECK-LABEL: func.func @branch
// CHECK-NEXT: %0 = tosa.cond_if %c (%x = %a, %y = %b) : tensor<i1> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
// CHECK-NEXT: %1 = tosa.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: tosa.yield %1 : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: ^bb0(%x_1: tensor<4xf32>, %y_1: tensor<4xf32>):
// CHECK-NEXT: tosa.yield %x_1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: {{(func\.)?}}return %0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @branch(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "tosa.cond_if"(%c, %a, %b) ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %1 = tosa.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    tosa.yield %1 : tensor<4xf32>
  }, {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    tosa.yield %x : tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @loop
// CHECK-NEXT: %0 = tosa.cond_if %c : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT: tosa.yield %a : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: tosa.yield %b : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
// CHECK-NEXT: %w:2 = tosa.while_loop (%p = %i, %q = %a) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
// CHECK-NEXT: %g = tosa.greater_equal %one, %p : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT: tosa.yield %g : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%p_1: tensor<i32>, %q_1: tensor<4xf32>):
// CHECK-NEXT: %r = tosa.add %p_1, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: tosa.yield %r, %q_1 : tensor<i32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %cu:2 = tosa.custom %a {domain_name = "d", implementation_attrs = "", operator_name = "o"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %sc = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
// CHECK-NEXT: %of = tosa.const_shape {values = dense<0> : tensor<2xindex>} : () -> !tosa.shape<2>
// CHECK-NEXT: %bo = tosa.const_shape {values = dense<2> : tensor<2xindex>} : () -> !tosa.shape<2>
// CHECK-NEXT: %rs = tosa.resize %im, %sc, %of, %bo {mode = BILINEAR} : (tensor<1x4x4x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x3xf32>
// CHECK-NEXT: %ft:2 = tosa.fft2d %x8, %x8 {inverse = true} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
// CHECK-NEXT: {{(func\.)?}}return %0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @loop(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<i32>, %im: tensor<1x4x4x3xf32>, %x8: tensor<1x4x8xf32>) -> tensor<4xf32> {
  %5 = tosa.cond_if %c : tensor<i1> -> tensor<4xf32> {
    tosa.yield %a : tensor<4xf32>
  } else {
    tosa.yield %b : tensor<4xf32>
  }
  %one = "tosa.const"() {values = dense<1> : tensor<i32>} : () -> tensor<i32>
  %w:2 = tosa.while_loop (%p = %i, %q = %a) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
    %g = tosa.greater_equal %one, %p : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %g : tensor<i1>
  } do {
  ^bb0(%p: tensor<i32>, %q: tensor<4xf32>):
    %r = tosa.add %p, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    tosa.yield %r, %q : tensor<i32>, tensor<4xf32>
  }
  %cu:2 = tosa.custom %a {domain_name = "d", implementation_attrs = "", operator_name = "o"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %sc = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %of = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %bo = tosa.const_shape {values = dense<[2, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %rs = tosa.resize %im, %sc, %of, %bo {mode = BILINEAR} : (tensor<1x4x4x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x3xf32>
  %ft:2 = tosa.fft2d %x8, %x8 {inverse = true} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  return %5 : tensor<4xf32>
}

// RUN: mesh-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: mesh-opt %s --allow-unregistered-dialect --canonicalize | filecheck %s --check-prefix=FOLDED

// Constants are named by value and type, as mlir-opt names them, unless a person has named them.

// CHECK-LABEL: func.func @names
// CHECK-NEXT: %c2_i64 = arith.constant 2 : i64
// CHECK-NEXT: %c-3 = arith.constant -3 : index
// CHECK-NEXT: %true = arith.constant true
// CHECK-NEXT: %false = arith.constant false
// CHECK-NEXT: %c-1_i8 = arith.constant -1 : i8
// CHECK-NEXT: %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %cst_1 = arith.constant dense<0> : tensor<2xi32>
// CHECK-NEXT: %zero = arith.constant 0 : i64
// CHECK-NEXT: %c2_rows = arith.constant 2 : index
// CHECK-NEXT: %c4 = "test.value"() : () -> i64
// CHECK-NEXT: "test.use"(%c2_i64, %c-3, %true, %false, %c-1_i8, %cst, %cst_1, %zero, %c2_rows, %c4)
func.func @names() {
  %c2 = arith.constant 2 : i64
  %0 = arith.constant -3 : index
  %1 = arith.constant true
  %true = arith.constant false
  %c255_i8 = arith.constant -1 : i8
  %c1 = arith.constant 1.0 : f32
  %cst_5 = arith.constant dense<0> : tensor<2xi32>
  %zero = arith.constant 0 : i64
  %c2_rows = arith.constant 2 : index
  %c4 = "test.value"() : () -> i64
  "test.use"(%c2, %0, %1, %true, %c255_i8, %c1, %cst_5, %zero, %c2_rows, %c4)
      : (i64, index, i1, i1, i8, f32, tensor<2xi32>, i64, index, i64) -> ()
  return
}

// FOLDED-LABEL: func.func @folded
// FOLDED-NEXT: %c5 = arith.constant 5 : index
// FOLDED-NEXT: func.return %c5 : index
func.func @folded() -> index {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = arith.addi %c2, %c3 : index
  return %0 : index
}

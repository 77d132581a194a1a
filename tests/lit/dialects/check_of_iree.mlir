// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// IREE's operations of the dialect have operands in parentheses. Those without tolerances are printed as
// StableHLO's of the same name.
func.func @forms(%b: i32, %t: tensor<4xi8>, %x: tensor<2xf32>, %y: tensor<2xf32>, %v: !hal.buffer_view, %d: !hal.device) {
  // CHECK: check.expect_true(%b) : i32
  check.expect_true(%b) : i32
  // CHECK-NEXT: check.expect_false(%b) : i32
  check.expect_false(%b) : i32
  // CHECK-NEXT: check.expect_all_true(%t) : tensor<4xi8>
  check.expect_all_true(%t) : tensor<4xi8>
  // CHECK-NEXT: check.expect_all_true<%d>(%v) : !hal.buffer_view
  check.expect_all_true<%d>(%v) : !hal.buffer_view
  // CHECK-NEXT: check.expect_eq %x, %y : tensor<2xf32>
  check.expect_eq(%x, %y) : tensor<2xf32>
  // CHECK-NEXT: check.expect_eq_const %x, dense<1.000000e+00> : tensor<2xf32>
  check.expect_eq_const(%x, dense<1.0> : tensor<2xf32>) : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq(%x, %y, atol 1.000000e-04, rtol 0.000000e+00) : tensor<2xf32>
  // GENERIC: "check.expect_almost_eq"(%x, %y) <{atol = 1.000000e-04 : f32, rtol = 0.000000e+00 : f32}>
  check.expect_almost_eq(%x, %y) : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq_const(%x, dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, atol 1.000000e-04, rtol 2.500000e-01) : tensor<2xf32>
  check.expect_almost_eq_const(%x, dense<[1.0, 2.0]> : tensor<2xf32>, rtol 0.25) : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq %x, %y, tolerance = 1.000000e-01 : tensor<2xf32>
  check.expect_almost_eq %x, %y, tolerance = 1.000000e-01 : tensor<2xf32>
  return
}

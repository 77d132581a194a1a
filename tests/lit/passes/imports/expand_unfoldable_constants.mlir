// RUN: mesh-opt %s --expand-unfoldable-constants | filecheck %s

// CHECK-LABEL: func.func @f
func.func @f() -> (tensor<2xi32>, i1) {
  // CHECK-NEXT: %[[A:.*]] = arith.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK-NEXT: %a = util.optimization_barrier %[[A]] : tensor<2xi32>
  %a = util.unfoldable_constant dense<[1, 2]> : tensor<2xi32>
  // CHECK-NEXT: %[[B:.*]] = arith.constant true
  // CHECK-NEXT: %b = util.optimization_barrier %[[B]] : i1
  %b = util.unfoldable_constant true
  // CHECK-NEXT: return %a, %b
  return %a, %b : tensor<2xi32>, i1
}

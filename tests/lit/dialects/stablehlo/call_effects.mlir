// RUN: mesh-opt %s --canonicalize | filecheck %s

// Calls of LAPACK have no effects, nor have those that say so: unused ones are dropped.

// CHECK-LABEL: func.func @unused
func.func @unused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: stablehlo.custom_call @prints(%{{.*}}) {has_side_effect = true}
  // CHECK-NEXT: stablehlo.custom_call @unknown
  // CHECK-NEXT: return
  %q:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %p = stablehlo.custom_call @pure(%x) {has_side_effect = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = stablehlo.custom_call @prints(%x) {has_side_effect = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = stablehlo.custom_call @unknown(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %x : tensor<4x4xf32>
}

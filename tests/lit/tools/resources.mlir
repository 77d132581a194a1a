// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-run %s | filecheck %s --check-prefix=VALUES

// The data of resources is printed, as mlir-opt prints it: without it the constants mean nothing.

func.func @f() -> (tensor<4xi8>, tensor<2xi8>, tensor<4xi8>) {
  // CHECK: dense_resource<blob> : tensor<4xi8>
  %0 = arith.constant dense_resource<blob> : tensor<4xi8>
  // CHECK: dense_resource<other> : tensor<2xi8>
  %1 = arith.constant dense_resource<other> : tensor<2xi8>
  // CHECK: dense_resource<blob> : tensor<4xi8>
  %2 = arith.constant dense_resource<blob> : tensor<4xi8>
  return %0, %1, %2 : tensor<4xi8>, tensor<2xi8>, tensor<4xi8>
}

// CHECK: {-#
// CHECK-NEXT: dialect_resources: {
// CHECK-NEXT: builtin: {
// CHECK-NEXT: blob: "0x0100000001020304"
// CHECK-SAME: other: "0x010000000506"

// VALUES: 4xi8=1 2 3 4
// VALUES: 2xi8=5 6
// VALUES: 4xi8=1 2 3 4

{-#
  dialect_resources: {
    builtin: {
      blob: "0x0100000001020304",
      other: "0x010000000506"
    }
  }
#-}

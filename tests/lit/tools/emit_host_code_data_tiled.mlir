// RUN: mesh-opt %s -p compile --emit=host-code | filecheck %s

// A loop that hands a tensor of one size on: the size is asked about while code is made, not in
// each turn.
func.func @double(%a: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10000 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<1048576xf32>) {
    %s = arith.addf %t, %t : tensor<1048576xf32>
    scf.yield %s : tensor<1048576xf32>
  }
  return %r : tensor<1048576xf32>
}
// CHECK-LABEL: func @double(%arg0, %arg1) -> (%result0, %result1) {
// CHECK:       ^0:
// CHECK-NOT:     cmpi
// CHECK-NOT:     jump
// CHECK:         run @
// CHECK-NOT:     cmpi
// CHECK:         loop

// What a dispatch computes is written to its result at once.
func.func @every_second(%a: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %r = tensor.extract_slice %a[0, 0] [32, 64] [2, 1] : tensor<64x64xf32> to tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
// CHECK-LABEL: func @every_second(%arg0, %arg1) -> (%result0, %result1) {
// CHECK:         %[[R:[0-9]+]] = allocate 8192
// CHECK-NEXT:    run @{{.*}} bindings(%[[R]], %arg0)
// CHECK-NOT:     copy
// CHECK:         return

// Not if that is more than the result.
func.func @down(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<16x64xf32> to tensor<17x64xf32>
  %r = tensor.extract_slice %p[0, 0] [16, 64] [1, 1] : tensor<17x64xf32> to tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
// CHECK-LABEL: func @down(%arg0, %arg1) -> (%result0, %result1) {
// CHECK:         %[[P:[0-9]+]] = allocate 4352
// CHECK-NEXT:    run @{{.*}} bindings(%[[P]], %arg0)
// CHECK-NEXT:    %[[R:[0-9]+]] = allocate 4096
// CHECK-NEXT:    copy %[[R]], %[[P]], 4096

// RUN: mesh-opt %s -p compile --emit=host-code | filecheck %s

// A loop that hands a tensor of one size on: the size is asked about while code is made, not in
// each turn.
func.func @double(%a: tensor<4096xf32>) -> tensor<4096xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10000 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<4096xf32>) {
    %s = arith.addf %t, %t : tensor<4096xf32>
    scf.yield %s : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}
// CHECK-LABEL: func @double(%arg0, %arg1) -> (%result0, %result1) {
// CHECK:       ^0:
// CHECK-NOT:     cmpi
// CHECK-NOT:     jump
// CHECK:         run @
// CHECK-NOT:     cmpi
// CHECK:         loop

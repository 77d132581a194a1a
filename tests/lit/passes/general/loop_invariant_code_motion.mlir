// RUN: mesh-opt %s --loop-invariant-code-motion | filecheck %s

func.func @f(%n: index, %a: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK:      %square = arith.muli %a, %a : i32
  // CHECK-NEXT: scf.for
  // CHECK-NEXT:   arith.addi %s, %square : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (i32) {
    %square = arith.muli %a, %a : i32
    %t = arith.addi %s, %square : i32
    scf.yield %t : i32
  }
  return %sum : i32
}

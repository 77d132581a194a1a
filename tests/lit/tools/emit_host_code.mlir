// RUN: mesh-opt %s --emit=host-code | filecheck %s

// A loop: no block is allocated in a loop that has warmed up, and the sum takes its operand's place.
func.func @double(%a: tensor<8192xf32>, %n: index) -> tensor<8192xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<8192xf32>) {
    %s = arith.addf %t, %t : tensor<8192xf32>
    scf.yield %s : tensor<8192xf32>
  }
  return %r : tensor<8192xf32>
}
// CHECK-LABEL: func @double(%arg0, %arg1, %arg2) -> (%result0, %result1) {
// CHECK-NEXT:   [[I:%.+]] = move 0
// CHECK-NEXT:   [[T:%.+]] = move %arg0
// CHECK-NEXT:   [[B:%.+]] = move %arg1
// CHECK-NEXT:   [[C:%.+]] = cmpislt_i64 0, %arg2
// CHECK-NEXT:   jump_unless [[C]], ^1
// CHECK-NEXT: ^0:
// CHECK-NEXT:   [[S:%.+]] = reuse [[B]], [[T]], 32768
// CHECK-NEXT:   run @arith.addf_0, tiles 2, work 65536, bindings([[S]], [[T]]), constants()
// CHECK-NEXT:   release [[B]]
// CHECK:        loop [[I]], %arg2, 1, ^0
// CHECK-NEXT: ^1:

// Arithmetic on numbers is instructions, and an index is held against the size.
func.func @element(%a: tensor<?xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<?xf32>
  %h = arith.constant 0.5 : f32
  %y = arith.mulf %x, %h : f32
  return %y : f32
}
// CHECK-LABEL: func @element(%arg0, %arg1, %arg2, %arg3) -> (%result0) {
// CHECK-NEXT:   [[P:%.+]] = position 0, %arg3, %arg2, ^0
// CHECK-NEXT:   [[O:%.+]] = muli_i64 [[P]], 4
// CHECK-NEXT:   [[A:%.+]] = addi_i64 %arg0, [[O]]
// CHECK-NEXT:   [[X:%.+]] = load_u32 [[A]]
// CHECK-NEXT:   release %arg1
// CHECK-NEXT:   [[Y:%.+]] = mulf_f32 [[X]], 0.5
// CHECK-NEXT:   %result0 = move [[Y]]
// CHECK-NEXT:   return
// CHECK-NEXT: ^0:
// CHECK-NEXT:   fail #0, values(%arg3, %arg2)

func.func private @twice(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}
func.func @calls(%x: i32) -> i32 {
  %y = func.call @twice(%x) : (i32) -> i32
  return %y : i32
}
// CHECK-LABEL: func @calls(%arg0) -> (%result0) {
// CHECK-NEXT:   %out1 = move %arg0
// CHECK-NEXT:   call @twice
// CHECK-NEXT:   [[R:%.+]] = move %out0

// RUN: mesh-opt %s --sccp | filecheck %s
// RUN: mesh-run %s --function=branches --input=5 -p sccp --backend=interpreter --check
// RUN: mesh-run %s --function=structured --input=0 --input=5 -p sccp --backend=interpreter --check

// Of a branch on a constant only one side counts, so that the argument of ^end is 1 + 2.
// CHECK-LABEL: func.func @branches
// CHECK:       ^end(%r: i32):
// CHECK-NEXT:    %r_1 = arith.constant 3 : i32
// CHECK-NEXT:    func.return %r_1 : i32
func.func @branches(%n: i32) -> i32 {
  %true = arith.constant true
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  cf.cond_br %true, ^yes, ^no
^yes:
  %sum = arith.addi %one, %two : i32
  cf.br ^end(%sum : i32)
^no:
  cf.br ^end(%n : i32)
^end(%r: i32):
  return %r : i32
}

// Both sides give the same.
// CHECK-LABEL: func.func @agree
// CHECK:       ^end(%r: i32):
// CHECK-NEXT:    %r_1 = arith.constant 7 : i32
// CHECK-NEXT:    func.return %r_1 : i32
func.func @agree(%c: i1) -> i32 {
  %a = arith.constant 7 : i32
  %b = arith.constant 7 : i32
  cf.cond_br %c, ^end(%a : i32), ^end(%b : i32)
^end(%r: i32):
  return %r : i32
}

// CHECK-LABEL: func.func @differ
// CHECK:       ^end(%r: i32):
// CHECK-NEXT:    func.return %r : i32
func.func @differ(%c: i1) -> i32 {
  %a = arith.constant 7 : i32
  %b = arith.constant 8 : i32
  cf.cond_br %c, ^end(%a : i32), ^end(%b : i32)
^end(%r: i32):
  return %r : i32
}

// The value that goes round is 0 + 0 each time.
// CHECK-LABEL: func.func @loop
// CHECK:       ^head(%x: i32):
// CHECK-NEXT:    %x_1 = arith.constant 0 : i32
// CHECK:         func.return %x_1 : i32
func.func @loop(%c: i1) -> i32 {
  %zero = arith.constant 0 : i32
  cf.br ^head(%zero : i32)
^head(%x: i32):
  %y = arith.addi %x, %x : i32
  cf.cond_br %c, ^head(%y : i32), ^end
^end:
  return %x : i32
}

// CHECK-LABEL: func.func @counts
// CHECK:       ^head(%x: i32):
// CHECK-NEXT:    %y = arith.addi %x, %one : i32
func.func @counts(%c: i1) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%zero : i32)
^head(%x: i32):
  %y = arith.addi %x, %one : i32
  cf.cond_br %c, ^head(%y : i32), ^end
^end:
  return %x : i32
}

// CHECK-LABEL: func.func @structured
// CHECK:         %r = arith.constant 2 : i32
// CHECK:         func.return %r, %s : i32, i32
func.func @structured(%c: i1, %n: i32) -> (i32, i32) {
  %false = arith.constant false
  %one = arith.constant 1 : i32
  %r = scf.if %false -> (i32) {
    scf.yield %n : i32
  } else {
    %two = arith.addi %one, %one : i32
    scf.yield %two : i32
  }
  %s = scf.if %c -> (i32) {
    scf.yield %one : i32
  } else {
    scf.yield %n : i32
  }
  return %r, %s : i32, i32
}

// CHECK-LABEL: func.func @unknown_regions
// CHECK:         arith.addi %x, %one : i32
func.func @unknown_regions(%n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (i32) {
    %y = arith.addi %x, %one : i32
    scf.yield %y : i32
  }
  return %r : i32
}

// All ways through a switch bring the same number.
// CHECK-LABEL: func.func @switch
// CHECK:       ^end(%x: i32):
// CHECK:         %x_1 = arith.constant 1 : i32
// CHECK:         func.return %x_1 : i32
func.func @switch(%n: i32) -> i32 {
  %one = arith.constant 1 : i32
  cf.switch %n : i32, [
    default: ^end(%one : i32),
    7: ^other(%n : i32)
  ]
^other(%m: i32):
  cf.br ^end(%one : i32)
^end(%x: i32):
  return %x : i32
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Text of `index` is read as `arith`.

// CHECK-LABEL: func.func @binary
func.func @binary(%a: index, %b: index) {
  // CHECK-NEXT: %0 = arith.addi %a, %b : index
  %0 = index.add %a, %b
  // CHECK-NEXT: arith.andi
  %1 = index.and %a, %b
  // CHECK-NEXT: arith.ceildivsi
  %2 = index.ceildivs %a, %b
  // CHECK-NEXT: arith.ceildivui
  %3 = index.ceildivu %a, %b
  // CHECK-NEXT: arith.divsi
  %4 = index.divs %a, %b
  // CHECK-NEXT: arith.divui
  %5 = index.divu %a, %b
  // CHECK-NEXT: arith.floordivsi
  %6 = index.floordivs %a, %b
  // CHECK-NEXT: arith.maxsi
  %7 = index.maxs %a, %b
  // CHECK-NEXT: arith.maxui
  %8 = index.maxu %a, %b
  // CHECK-NEXT: arith.minsi
  %9 = index.mins %a, %b
  // CHECK-NEXT: arith.minui
  %10 = index.minu %a, %b
  // CHECK-NEXT: arith.muli
  %11 = index.mul %a, %b
  // CHECK-NEXT: arith.ori
  %12 = index.or %a, %b
  // CHECK-NEXT: arith.remsi
  %13 = index.rems %a, %b
  // CHECK-NEXT: arith.remui
  %14 = index.remu %a, %b
  // CHECK-NEXT: arith.shli
  %15 = index.shl %a, %b
  // CHECK-NEXT: arith.shrsi
  %16 = index.shrs %a, %b
  // CHECK-NEXT: arith.shrui
  %17 = index.shru %a, %b
  // CHECK-NEXT: %k = arith.subi %a, %b {note = 1 : i32} : index
  %k = index.sub %a, %b {note = 1 : i32}
  // CHECK-NEXT: arith.xori
  %18 = "index.xor"(%a, %b) : (index, index) -> index
  return
}

// CHECK-LABEL: func.func @others
func.func @others(%a: index, %i: i32) {
  // CHECK-NEXT: %c = arith.constant -7 : index
  %c = index.constant -7
  // CHECK-NEXT: %t = arith.constant true
  %t = index.bool.constant true
  // CHECK-NEXT: %s = arith.constant 64 : index
  %s = index.sizeof
  // CHECK-NEXT: arith.cmpi ult, %a, %c : index
  %0 = index.cmp ult(%a, %c)
  // CHECK-NEXT: arith.cmpi sle, %a, %c : index
  %1 = "index.cmp"(%a, %c) <{pred = #index<cmp_predicate sle>}> : (index, index) -> i1
  // CHECK-NEXT: arith.index_cast %a : index to i32
  %2 = index.casts %a : index to i32
  // CHECK-NEXT: arith.index_castui %i : i32 to index
  %3 = index.castu %i : i32 to index
  return
}

// -----

func.func @types(%a: f32) {
  // expected-error @+1 {{'index.casts' op converts between index and an integer, not f32 to index}}
  %b = index.casts %a : f32 to index
  return
}

// -----

func.func @operands(%a: i32) {
  // expected-error @+1 {{'index.add' op operand 'lhs' at position 0 does not verify}}
  %b = "index.add"(%a, %a) : (i32, i32) -> i32
  return
}

// -----

func.func @predicate(%a: index) {
  // expected-error @+1 {{expected one of eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge}}
  %b = index.cmp lt(%a, %a)
  return
}

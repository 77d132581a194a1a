// RUN: mesh-opt %s --print-op-stats 2>&1 >%t | filecheck %s
// RUN: mesh-opt %s --print-op-stats=json 2>&1 >%t | filecheck %s --check-prefix=JSON
// RUN: filecheck %s --check-prefix=OUT --input-file=%t

// CHECK:      Operations encountered:
// CHECK-NEXT: -----------------------
// CHECK-NEXT:     arith.addi   , 2
// CHECK-NEXT:   builtin.module , 1
// CHECK-NEXT:      func.func   , 1
// CHECK-NEXT:      func.return , 1

// JSON: "arith.addi": 2,
// JSON: "func.return": 1

// OUT: func.func @f
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %b, %a : i32
  return %c : i32
}

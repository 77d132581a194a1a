// RUN: mesh-opt %s --pass-pipeline='builtin.module( func.func(cse) , canonicalize )' | filecheck %s
// RUN: mesh-opt %s -p cse,canonicalize | filecheck %s
// RUN: mesh-opt %s --cse --canonicalize | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='any(func.func(cse,canonicalize))' --dump-pass-pipeline 2>&1 >%t | filecheck %s --check-prefix=DUMP
// RUN: filecheck %s --input-file=%t
// RUN: not mesh-opt %s --pass-pipeline='builtin.module(csf)' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK:      func.func @f(%a: i32) -> i32 {
// CHECK-NEXT:   %{{.*}} = arith.constant 2 : i32
// CHECK-NEXT:   func.return
// DUMP: builtin.module(func.func(cse,canonicalize))
// UNKNOWN: pass-pipeline:1:16: error: there is no pass 'csf'; did you mean 'cse'?
// UNKNOWN-NEXT: builtin.module(csf)
// UNKNOWN-NEXT: {{^ {15}\^}}
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.constant 1 : i32
  %e = arith.addi %c, %d : i32
  return %e : i32
}

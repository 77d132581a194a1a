// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse),canonicalize)' --mlir-print-ir-after-all 2>&1 >%t | filecheck %s --check-prefix=ALL
// RUN: mesh-opt %s --cse --canonicalize --mlir-print-ir-before=canonicalize 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: mesh-opt %s --cse --cse --mlir-print-ir-after-change 2>&1 >%t | filecheck %s --check-prefix=CHANGE
// RUN: mesh-opt %s --cse --mlir-print-ir-after=cse --mlir-print-op-generic 2>&1 >%t | filecheck %s --check-prefix=GENERIC

// ALL:       // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// ALL-NEXT:  func.func @f
// ALL-NOT:   builtin.module
// ALL:       // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// ALL-NEXT:  func.func @g
// ALL:       // -----// IR Dump After CanonicalizePass (canonicalize) //----- //
// ALL-NEXT:  builtin.module

// BEFORE-NOT: cse
// BEFORE:     // -----// IR Dump Before CanonicalizePass (canonicalize) //----- //
// BEFORE-NOT: IR Dump

// CHANGE:     // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// CHANGE-NOT: IR Dump

// GENERIC: "builtin.module"() ({
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.constant 1 : i32
  %e = arith.addi %c, %d : i32
  return %e : i32
}

func.func @g() {
  return
}

// A reproducer holds the program and its pipeline, and runs again.
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-generate-reproducer=%t 2>&1 | filecheck %s --check-prefix=SAID
// RUN: filecheck %s --check-prefix=FILE --input-file=%t
// RUN: mesh-opt %t --run-reproducer --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: mesh-opt %t | filecheck %s --check-prefix=PLAIN
// RUN: not mesh-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE

// SAID: mesh-opt: wrote {{.*}}; `mesh-opt --run-reproducer
// FILE: {-#
// FILE: mlir_reproducer: {
// FILE: pipeline: "builtin.module(func.func(cse))"
// AGAIN: builtin.module(func.func(cse))
// AGAIN: %a = arith.constant
// AGAIN-NEXT: arith.addi %a, %a
// PLAIN: arith.addi %a, %b
// NONE: does not contain a pipeline to run
func.func @f() -> i32 {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  %c = arith.addi %a, %b : i32
  return %c : i32
}

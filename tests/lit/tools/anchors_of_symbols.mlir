// Passes that ask who refers to a function, or read its callees, see all functions from func.func, too.
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(symbol-dce))' | filecheck %s --check-prefix=DCE
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(inline))' | filecheck %s --check-prefix=INLINE

// DCE: func.func private @used
// DCE-NOT: @unused
// DCE: func.func @main
// INLINE: func.func @main
// INLINE-NEXT: arith.addi
func.func private @used(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func private @unused(%a: i32) -> i32 {
  return %a : i32
}
func.func @main(%a: i32) -> i32 {
  %b = func.call @used(%a) : (i32) -> i32
  return %b : i32
}

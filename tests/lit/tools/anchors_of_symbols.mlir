// Passes on the symbols of a module do not run on a function.
// RUN: mesh-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(symbol-dce))'
// RUN: mesh-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(inline))'
// RUN: mesh-opt %s --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(builtin.module(symbol-dce))'

// expected-error @+1 {{'func.func' op was scheduled to run under}}
func.func private @used(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func @main(%a: i32) -> i32 {
  %b = func.call @used(%a) : (i32) -> i32
  return %b : i32
}

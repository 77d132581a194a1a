// Passes run on operations that are isolated from above. `any` skips the others.
// RUN: not mesh-opt %s --pass-pipeline='builtin.module(linalg.generic(cse))' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not mesh-opt %s --pass-pipeline='builtin.module(func.func(tensor.empty(cse)))' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(any(cse),func.func(cse)))' | filecheck %s

// NONE: anchors_not_isolated.mlir:[[#]]:1: error: 'builtin.module' op cannot run a 'linalg.generic' pipeline inside: 'linalg.generic' is not marked as 'IsolatedFromAbove'
// OPEN: anchors_not_isolated.mlir:[[#]]:8: error: 'tensor.empty' op trying to schedule a pass on an operation not marked as 'IsolatedFromAbove'

// CHECK: tensor.empty
func.func @f() -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

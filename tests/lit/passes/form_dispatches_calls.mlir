// RUN: not mesh-opt %s --data-tile 2>&1 | filecheck %s

// A function that calls itself stays one, and a kernel has no functions.
func.func private @last(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %is_zero = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %is_zero -> index {
    scf.yield %n : index
  } else {
    %m = arith.subi %n, %c1 : index
    %l = func.call @last(%m) : (index) -> index
    scf.yield %l : index
  }
  return %r : index
}
func.func @main(%a: tensor<4xindex>, %n: index) -> tensor<4xindex> {
  %r = scf.forall (%i) in (4) shared_outs(%o = %a) -> (tensor<4xindex>) {
    // CHECK: form_dispatches_calls.mlir:[[# @LINE + 1]]:10: error: 'func.call' op is in a kernel, which cannot call functions: inline-calls inlines functions that are not recursive
    %l = func.call @last(%n) : (index) -> index
    %e = tensor.from_elements %l : tensor<1xindex>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i] [1] [1] : tensor<1xindex> into tensor<4xindex>
    }
  }
  return %r : tensor<4xindex>
}

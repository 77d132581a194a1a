// RUN: mesh-opt %s --canonicalize | filecheck %s
// RUN: mesh-opt %s --canonicalize='test-convergence top-down=false' | filecheck %s
// RUN: mesh-opt %s --canonicalize='max-iterations=0' | filecheck %s --check-prefix=NOTHING
// RUN: mesh-opt %s --canonicalize='max-num-rewrites=1 region-simplify=disabled' | filecheck %s --check-prefix=ONE
// RUN: mesh-opt %s --canonicalize='disable-patterns=SelectConstPattern' | filecheck %s --check-prefix=WITHOUT
// RUN: mesh-opt %s --canonicalize='enable-patterns=SelectConstPattern' | filecheck %s
// RUN: not mesh-opt %s --canonicalize='max-iterations=0 test-convergence' 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: not mesh-opt %s --canonicalize='region-simplify=thorough' 2>&1 | filecheck %s --check-prefix=CHOICE

// ERROR: error: pass 'canonicalize' failed: did not converge within its limits
// CHOICE: option 'region-simplify' cannot be 'thorough'; expected 'disabled' or 'normal' or 'aggressive'

func.func @f(%a: i32, %b: i32) -> i32 {
// CHECK:      func.func @f
// CHECK-NEXT:   func.return %a : i32
// NOTHING:      arith.select
// NOTHING:      arith.muli
// WITHOUT:      arith.select
// WITHOUT-NOT:  arith.muli
  %true = arith.constant true
  %s = arith.select %true, %a, %b : i32
  %dead = arith.muli %a, %b : i32
  return %s : i32
}

// One rewrite is made, and others are left.
// ONE: arith.

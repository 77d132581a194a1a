// A pass on a function sees the symbols around it, and cannot change them.
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --verify-each | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='any(any(cse))' --verify-each | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(cse)))' | filecheck %s --check-prefix=INNER
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func())' | filecheck %s
// RUN: not mesh-opt %s --pass-pipeline='func.func(cse)' 2>&1 | filecheck %s --check-prefix=ROOT

// ROOT: error: cannot run a 'func.func' pipeline on a 'builtin.module'

// CHECK: shard.grid @grid
shard.grid @grid(shape = 2x2)

// CHECK: func.func @caller
// CHECK-NEXT: shard.sharding @grid
// CHECK: func.call @callee
func.func @caller(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<8xf32>
  %z = func.call @callee(%y) : (tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// CHECK: func.func @callee(%x: tensor<8xf32>) -> tensor<8xf32> {
func.func @callee(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK: builtin.module @inner
// CHECK-NEXT: func.func @twice
module @inner {
  // INNER: func.func @twice
  // INNER-NEXT: arith.constant 1
  // INNER-NEXT: arith.addi
  func.func @twice() -> i32 {
    %a = arith.constant 1 : i32
    %b = arith.constant 1 : i32
    %c = arith.addi %a, %b : i32
    return %c : i32
  }
}

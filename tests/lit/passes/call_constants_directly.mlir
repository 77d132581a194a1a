// RUN: mesh-opt %s --spmd | filecheck %s
// RUN: mesh-opt %s --compile | filecheck %s --check-prefix=COMPILE

// A function that is called by its value is partitioned with its callers, and inlined.

// CHECK-LABEL: func.func private @twice(%x: tensor<2xf32>
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     func.constant
// CHECK:         %[[Y:.*]] = func.call @twice(%{{.*}}) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK:         func.call @twice(%[[Y]]) : (tensor<2xf32>) -> tensor<2xf32>
// COMPILE-NOT: func.call
shard.grid @g(shape = 2)
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x1 = shard.shard %x to %s annotate_for_users : tensor<4xf32>
  %y = call @twice(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %c = constant @twice : (tensor<4xf32>) -> tensor<4xf32>
  %z = call_indirect %c(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

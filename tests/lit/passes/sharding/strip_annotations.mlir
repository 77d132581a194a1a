// RUN: mesh-opt %s --strip-annotations | filecheck %s

shard.grid @g(shape = 2)

// CHECK-LABEL: func.func @main(%a: tensor<4xf32>)
// CHECK-NOT: shard
// CHECK: return %a
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %a to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

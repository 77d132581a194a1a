// RUN: mesh-opt %s --shard-complete | filecheck %s

// Unused arguments and arguments that are returned as they are get a sharding, too.

// CHECK-LABEL: func.func @f
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4xf32>, %unused: tensor<4xf32>, %through: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: [[WHOLE:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[\]\]}}
  // CHECK-DAG: [[ROWS:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[0\]\]}}
  // CHECK-DAG: shard.shard %unused to [[WHOLE]]
  // CHECK-DAG: [[THROUGH:%[a-z0-9_]+]] = shard.shard %through to [[WHOLE]]
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4xf32>
  // CHECK: [[BACK:%[a-z0-9_]+]] = shard.shard [[THROUGH]] to [[WHOLE]] annotate_for_users
  // CHECK: return {{.*}}, [[BACK]]
  %t = math.tanh %xs : tensor<4xf32>
  return %t, %through : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @untouched
// CHECK-NEXT: return %x
func.func @untouched(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

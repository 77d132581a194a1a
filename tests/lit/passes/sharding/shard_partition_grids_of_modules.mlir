// RUN: mesh-opt %s --spmd | filecheck %s
// RUN: mesh-run %s --pass-pipeline=spmd --random-inputs=0 --check

// A nested module has a grid of its own under the name of the outer one.

shard.grid @g(shape = 2)

module @inner {
  shard.grid @g(shape = 4)
  // CHECK: func.func @f(%x: tensor<2xf32>
  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
    %a = shard.shard %x to %s : tensor<8xf32>
    // CHECK: math.exp %x : tensor<2xf32>
    %z = math.exp %a : tensor<8xf32>
    return %z : tensor<8xf32>
  }
}

// CHECK: func.func @main(%x: tensor<4xf32>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8xf32>
  // CHECK: math.exp %x : tensor<4xf32>
  %z = math.exp %a : tensor<8xf32>
  return %z : tensor<8xf32>
}

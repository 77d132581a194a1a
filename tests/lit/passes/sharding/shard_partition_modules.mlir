// RUN: mesh-opt %s --shard-partition | filecheck %s

// Functions of one name in different modules are different functions.

shard.grid @g(shape = 2)

builtin.module @first {
  func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
    %x0 = shard.shard %x to %rows annotate_for_users : tensor<4x8xf32>
    %y = math.exp %x0 : tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
  // CHECK: func.func @calls_first(%x: tensor<4x8xf32>)
  // CHECK: func.call @f(%all_slice) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.func @calls_first(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

builtin.module @second {
  func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
    %x0 = shard.shard %x to %columns annotate_for_users : tensor<4x8xf32>
    %y = math.exp %x0 : tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
  // CHECK: func.func @calls_second(%x: tensor<4x8xf32>)
  // CHECK: func.call @f(%all_slice) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.func @calls_second(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

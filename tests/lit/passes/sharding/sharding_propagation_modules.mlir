// RUN: mesh-opt %s --sharding-propagation | filecheck %s

// A call reaches the function of its own module, not that of another module with the same name.

shard.grid @g(shape = 2)

builtin.module @first {
  func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
    %x0 = shard.shard %x to %rows : tensor<4x8xf32>
    return %x0 : tensor<4x8xf32>
  }
}

builtin.module @second {
  func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
    %x0 = shard.shard %x to %columns : tensor<4x8xf32>
    return %x0 : tensor<4x8xf32>
  }
  // CHECK-LABEL: func.func @calls_second
  // CHECK-NEXT:    %[[COLUMNS:.*]] = shard.sharding @g split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT:    %[[X:.*]] = shard.shard %x to %[[COLUMNS]]
  // CHECK-NOT:     split_axes
  func.func @calls_second(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %y = call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

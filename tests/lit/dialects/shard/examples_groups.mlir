// RUN: mesh-opt %s --split-input-file | filecheck %s

// The examples of the shard dialect's introduction: groups of devices, and devices in a group.

// CHECK: shard.grid @grid0(shape = 2x3x4x5)
shard.grid @grid0(shape = 2x3x4x5)
func.func @device_groups(%t: tensor<8x30xf32>) {
  // CHECK: %rows = shard.all_gather %t on @grid0 grid_axes = [0, 1] gather_axis = 0 : tensor<8x30xf32> -> tensor<48x30xf32>
  %rows = shard.all_gather %t on @grid0 grid_axes = [0, 1] gather_axis = 0 : tensor<8x30xf32> -> tensor<48x30xf32>
  // CHECK: %exchanged = shard.all_to_all %t on @grid0 grid_axes = [3, 1] split_axis = 1 concat_axis = 0 : tensor<8x30xf32> -> tensor<120x2xf32>
  %exchanged = shard.all_to_all %t on @grid0 grid_axes = [3, 1] split_axis = 1 concat_axis = 0 : tensor<8x30xf32> -> tensor<120x2xf32>
  return
}

// -----

// CHECK: shard.grid @grid0(shape = 2x3x4)
shard.grid @grid0(shape = 2x3x4)
func.func @in_group_device(%t: tensor<8x24xf32>, %i: index, %j: index) {
  // CHECK: %sent = shard.broadcast %t on @grid0 grid_axes = [0, 2] root = [%i, %j] : (tensor<8x24xf32>, index, index) -> tensor<8x24xf32>
  %sent = shard.broadcast %t on @grid0 grid_axes = [0, 2] root = [%i, %j] : (tensor<8x24xf32>, index, index) -> tensor<8x24xf32>
  // CHECK: %fixed = shard.broadcast %t on @grid0 grid_axes = [0, 2] root = [1, 3] : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %fixed = shard.broadcast %t on @grid0 grid_axes = [0, 2] root = [1, 3] : (tensor<8x24xf32>) -> tensor<8x24xf32>
  // CHECK: %pieces = shard.scatter %t on @grid0 grid_axes = [0, 2] scatter_axis = 1 root = [0, %j] : (tensor<8x24xf32>, index) -> tensor<8x3xf32>
  %pieces = shard.scatter %t on @grid0 grid_axes = [0, 2] scatter_axis = 1 root = [0, %j] : (tensor<8x24xf32>, index) -> tensor<8x3xf32>
  // CHECK: %message = shard.send %t on @grid0 grid_axes = [0, 2] destination = [%i, 3] : (tensor<8x24xf32>, index) -> tensor<8x24xf32>
  %message = shard.send %t on @grid0 grid_axes = [0, 2] destination = [%i, 3] : (tensor<8x24xf32>, index) -> tensor<8x24xf32>
  return
}

// RUN: mesh-opt %s --split-input-file | filecheck %s
// RUN: mesh-opt %s --split-input-file --convert-shard-to-mesh | mesh-opt --split-input-file | filecheck %s

// The examples of the mesh dialect's introduction: groups of devices, and devices in a group.

// CHECK: shard.grid @mesh0(shape = 2x3x4x5)
mesh.mesh @mesh0(shape = 2x3x4x5)
func.func @device_groups(%t: tensor<8x30xf32>) {
  // CHECK: shard.all_gather %t on @mesh0 grid_axes = [0, 1] gather_axis = 0 : tensor<8x30xf32> -> tensor<48x30xf32>
  %rows = mesh.all_gather %t on @mesh0 mesh_axes = [0, 1] gather_axis = 0 : tensor<8x30xf32> -> tensor<48x30xf32>
  // CHECK: shard.all_to_all %t on @mesh0 grid_axes = [3, 1] split_axis = 1 concat_axis = 0 : tensor<8x30xf32> -> tensor<120x2xf32>
  %exchanged = mesh.all_to_all %t on @mesh0 mesh_axes = [3, 1] split_axis = 1 concat_axis = 0 : tensor<8x30xf32> -> tensor<120x2xf32>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 2x3x4)
mesh.mesh @mesh0(shape = 2x3x4)
func.func @in_group_device(%t: tensor<8x24xf32>, %i: index, %j: index) {
  // CHECK: shard.broadcast %t on @mesh0 grid_axes = [0, 2] root = [%i, %j] : (tensor<8x24xf32>, index, index) -> tensor<8x24xf32>
  %sent = mesh.broadcast %t on @mesh0 mesh_axes = [0, 2] root = [%i, %j] : (tensor<8x24xf32>, index, index) -> tensor<8x24xf32>
  // CHECK: shard.broadcast %t on @mesh0 grid_axes = [0, 2] root = [1, 3] : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %fixed = mesh.broadcast %t on @mesh0 mesh_axes = [0, 2] root = [1, 3] : (tensor<8x24xf32>) -> tensor<8x24xf32>
  // CHECK: shard.scatter %t on @mesh0 grid_axes = [0, 2] scatter_axis = 1 root = [0, %j] : (tensor<8x24xf32>, index) -> tensor<8x3xf32>
  %pieces = mesh.scatter %t on @mesh0 mesh_axes = [0, 2] scatter_axis = 1 root = [0, %j] : (tensor<8x24xf32>, index) -> tensor<8x3xf32>
  // CHECK: shard.send %t on @mesh0 grid_axes = [0, 2] destination = [%i, 3] : (tensor<8x24xf32>, index) -> tensor<8x24xf32>
  %message = mesh.send %t on @mesh0 mesh_axes = [0, 2] destination = [%i, 3] : (tensor<8x24xf32>, index) -> tensor<8x24xf32>
  return
}

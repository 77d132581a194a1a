// RUN: mesh-opt %s --split-input-file | filecheck %s
// RUN: mesh-opt %s --split-input-file --convert-shard-to-mesh | mesh-opt --split-input-file | filecheck %s

// The examples of the mesh dialect's reference, made well-formed: operations between processes.

// CHECK: shard.grid @mesh0(shape = 2x2)
mesh.mesh @mesh0(shape = 2x2)
func.func @collectives(%0: tensor<2x2xi8>, %whole: tensor<2x4xi8>, %line: tensor<2xi8>) {
  // CHECK: shard.all_gather %0 on @mesh0 grid_axes = [1] gather_axis = 1 : tensor<2x2xi8> -> tensor<2x4xi8>
  %gathered = mesh.all_gather %0 on @mesh0 mesh_axes = [1] gather_axis = 1 : tensor<2x2xi8> -> tensor<2x4xi8>
  // CHECK: shard.all_slice %whole on @mesh0 grid_axes = [1] slice_axis = 1 : tensor<2x4xi8> -> tensor<2x2xi8>
  %sliced = mesh.all_slice %whole on @mesh0 mesh_axes = [1] slice_axis = 1 : tensor<2x4xi8> -> tensor<2x2xi8>
  // CHECK: shard.broadcast %line on @mesh0 grid_axes = [0] root = [0] : (tensor<2xi8>) -> tensor<2xi8>
  %sent = mesh.broadcast %line on @mesh0 mesh_axes = [0] root = [0] : (tensor<2xi8>) -> tensor<2xi8>
  // CHECK: shard.gather %0 on @mesh0 grid_axes = [1] gather_axis = 1 root = [1] : (tensor<2x2xi8>) -> tensor<2x4xi8>
  %on_root = mesh.gather %0 on @mesh0 mesh_axes = [1] gather_axis = 1 root = [1] : (tensor<2x2xi8>) -> tensor<2x4xi8>
  // CHECK: shard.scatter %0 on @mesh0 grid_axes = [0] scatter_axis = 0 root = [1] : (tensor<2x2xi8>) -> tensor<1x2xi8>
  %pieces = mesh.scatter %0 on @mesh0 mesh_axes = [0] scatter_axis = 0 root = [1] : (tensor<2x2xi8>) -> tensor<1x2xi8>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 4x3)
mesh.mesh @mesh0(shape = 4x3)
func.func @reductions(%0: tensor<3x4xf32>) {
  // CHECK: shard.all_reduce %0 on @mesh0 grid_axes = [1, 0] reduction =  max : tensor<3x4xf32> -> tensor<3x4xf64>
  %everywhere = mesh.all_reduce %0 on @mesh0 mesh_axes = [1, 0] reduction = <max> : tensor<3x4xf32> -> tensor<3x4xf64>
  // CHECK: shard.reduce %0 on @mesh0 grid_axes = [1, 0] reduction =  max root = [2, 3] : (tensor<3x4xf32>) -> tensor<3x4xf64>
  %on_root = mesh.reduce %0 on @mesh0 mesh_axes = [1, 0] reduction = <max> root = [2, 3] : (tensor<3x4xf32>) -> tensor<3x4xf64>
  return
}

// -----

// The reference scatters 3 rows on 2 devices, which cannot be; its picture has 2 rows.

// CHECK: shard.grid @mesh0(shape = 2x2)
mesh.mesh @mesh0(shape = 2x2)
func.func @reduce_scatter(%0: tensor<2x4xf32>) {
  // CHECK: shard.reduce_scatter %0 on @mesh0 grid_axes = [1] reduction =  max scatter_axis = 0 : tensor<2x4xf32> -> tensor<1x4xf64>
  %1 = mesh.reduce_scatter %0 on @mesh0 mesh_axes = [1] reduction = <max> scatter_axis = 0 : tensor<2x4xf32> -> tensor<1x4xf64>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 3)
mesh.mesh @mesh0(shape = 3)
func.func @all_to_all(%0: tensor<3x2xi8>) {
  // CHECK: shard.all_to_all %0 on @mesh0 grid_axes = [0] split_axis = 0 concat_axis = 0 : tensor<3x2xi8> -> tensor<3x2xi8>
  %1 = mesh.all_to_all %0 on @mesh0 mesh_axes = [0] split_axis = 0 concat_axis = 0 : tensor<3x2xi8> -> tensor<3x2xi8>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 2x4)
mesh.mesh @mesh0(shape = 2x4)
func.func @shift(%0: tensor<2xi8>) {
  // CHECK: shard.shift %0 on @mesh0 grid_axes = [1] shift_axis = 1 offset = 2 rotate : tensor<2xi8> -> tensor<2xi8>
  %1 = mesh.shift %0 on @mesh0 mesh_axes = [1] shift_axis = 1 offset = 2 rotate : tensor<2xi8> -> tensor<2xi8>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 4x8x12)
mesh.mesh @mesh0(shape = 4x8x12)
// CHECK: shard.grid @mesh1(shape = 4x?)
mesh.mesh @mesh1(shape = 4x?)
// CHECK: shard.grid @mesh2(shape = ?x4)
mesh.mesh @mesh2(shape = ?x4)
// CHECK: shard.grid @mesh3(shape = ?x?)
mesh.mesh @mesh3(shape = ?x?)

// -----

// CHECK: shard.grid @mesh0(shape = 10x20x30)
mesh.mesh @mesh0(shape = 10x20x30)
func.func @processes(%c1: index, %c2: index, %c3: index, %t: tensor<8xf32>, %h: i64) {
  // CHECK: %down, %up = shard.neighbors_linear_indices on @mesh0[%c1, %c2, %c3] split_axes = [1] : index, index
  %down, %up = mesh.neighbors_linear_indices on @mesh0[%c1, %c2, %c3] split_axes = [1] : index, index
  // CHECK: %number = shard.process_linear_index on @mesh0 : index
  %number = mesh.process_linear_index on @mesh0 : index
  // CHECK: %place:2 = shard.process_multi_index on @mesh0 axes = [0, 2] : index, index
  %place:2 = mesh.process_multi_index on @mesh0 axes = [0, 2] : index, index
  // CHECK: %extents:3 = shard.grid_shape @mesh0 : index, index, index
  %extents:3 = mesh.mesh_shape @mesh0 : index, index, index
  // CHECK: %extent = shard.grid_shape @mesh0 axes = [1] : index
  %extent = mesh.mesh_shape @mesh0 axes = [1] : index
  // CHECK: shard.send %t on @mesh0 grid_axes = [1] destination = [%c1] : (tensor<8xf32>, index) -> tensor<8xf32>
  %sent = mesh.send %t on @mesh0 mesh_axes = [1] destination = [%c1] : (tensor<8xf32>, index) -> tensor<8xf32>
  // CHECK: shard.recv %t on @mesh0 grid_axes = [1] source = [7] : (tensor<8xf32>) -> tensor<8xf32>
  %received = mesh.recv %t on @mesh0 mesh_axes = [1] source = [7] : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: shard.recv %t on @mesh0 grid_axes = [1] : (tensor<8xf32>) -> tensor<8xf32>
  %any = mesh.recv %t on @mesh0 mesh_axes = [1] : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: shard.update_halo %t on @mesh0 split_axes = {{\[\[}}0{{\]\]}} halo_sizes = [1, %h] : tensor<8xf32>
  %halos = mesh.update_halo %t on @mesh0 split_axes = [[0]] halo_sizes = [1, %h] : tensor<8xf32>
  return
}

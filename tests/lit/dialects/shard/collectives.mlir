// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Communication between processes.

// CHECK: shard.grid @g(shape = 2x4x3)
shard.grid @g(shape = 2x4x3)
// CHECK: shard.grid @any(shape = ?x4)
shard.grid @any(shape = ?x4)

// CHECK: func.func @whole_group(%t: tensor<8x24xf32>, %d: tensor<?x?xf32>, %m: memref<8x24xf32>) {
func.func @whole_group(%t: tensor<8x24xf32>, %d: tensor<?x?xf32>, %m: memref<8x24xf32>) {
  // CHECK: %all_gather = shard.all_gather %t on @g grid_axes = [1] gather_axis = 1 : tensor<8x24xf32> -> tensor<8x96xf32>
  %all_gather = shard.all_gather %t on @g grid_axes = [1] gather_axis = 1 : tensor<8x24xf32> -> tensor<8x96xf32>
  // CHECK: %gather_two = shard.all_gather %t on @g grid_axes = [2, 0] gather_axis = 0 : tensor<8x24xf32> -> tensor<48x24xf32>
  %gather_two = shard.all_gather %t on @g grid_axes = [2, 0] gather_axis = 0 : tensor<8x24xf32> -> tensor<48x24xf32>
  // CHECK: %gather_dynamic = shard.all_gather %t on @any grid_axes = [0] gather_axis = 0 : tensor<8x24xf32> -> tensor<?x24xf32>
  %gather_dynamic = shard.all_gather %t on @any grid_axes = [0] gather_axis = 0 : tensor<8x24xf32> -> tensor<?x24xf32>
  // CHECK: shard.all_gather %t on @g gather_axis = 0 : tensor<8x24xf32> -> tensor<8x24xf32>
  %gather_alone = shard.all_gather %t on @g grid_axes = [] gather_axis = 0 : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: %all_reduce = shard.all_reduce %t on @g grid_axes = [0] : tensor<8x24xf32> -> tensor<8x24xf32>
  %all_reduce = shard.all_reduce %t on @g grid_axes = [0] : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: shard.all_reduce %t on @g grid_axes = [0] : tensor<8x24xf32> -> tensor<8x24xf32>
  %reduce_sum = shard.all_reduce %t on @g grid_axes = [0] reduction = sum : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: shard.all_reduce %t on @g grid_axes = [1, 0] reduction =  max : tensor<8x24xf32> -> tensor<8x24xf64>
  %reduce_max = shard.all_reduce %t on @g grid_axes = [1, 0] reduction = max : tensor<8x24xf32> -> tensor<8x24xf64>
  // CHECK: shard.all_reduce %t on @g grid_axes = [0] : tensor<8x24xf32> -> tensor<8x24xf32>
  %reduce_default = "shard.all_reduce"(%t) <{grid = @g, grid_axes = array<i16: 0>}> : (tensor<8x24xf32>) -> tensor<8x24xf32>
  // CHECK: shard.all_reduce %m on @g grid_axes = [0] reduction =  average : memref<8x24xf32> -> memref<8x24xf32>
  %reduce_memref = shard.all_reduce %m on @g grid_axes = [0] reduction = average : memref<8x24xf32> -> memref<8x24xf32>
  // CHECK: %all_slice = shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : tensor<8x24xf32> -> tensor<8x6xf32>
  %all_slice = shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : tensor<8x24xf32> -> tensor<8x6xf32>
  // CHECK: %slice_dynamic = shard.all_slice %d on @g grid_axes = [1] slice_axis = 0 : tensor<?x?xf32> -> tensor<?x?xf32>
  %slice_dynamic = shard.all_slice %d on @g grid_axes = [1] slice_axis = 0 : tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK: %all_to_all = shard.all_to_all %t on @g grid_axes = [1] split_axis = 1 concat_axis = 0 : tensor<8x24xf32> -> tensor<32x6xf32>
  %all_to_all = shard.all_to_all %t on @g grid_axes = [1] split_axis = 1 concat_axis = 0 : tensor<8x24xf32> -> tensor<32x6xf32>
  // CHECK: %uneven = shard.all_to_all %t on @g grid_axes = [2] split_axis = 0 concat_axis = 1 : tensor<8x24xf32> -> tensor<?x72xf32>
  %uneven = shard.all_to_all %t on @g grid_axes = [2] split_axis = 0 concat_axis = 1 : tensor<8x24xf32> -> tensor<?x72xf32>
  // CHECK: %exchange = shard.all_to_all %t on @g grid_axes = [1] split_axis = 0 concat_axis = 0 : tensor<8x24xf32> -> tensor<8x24xf32>
  %exchange = shard.all_to_all %t on @g grid_axes = [1] split_axis = 0 concat_axis = 0 : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: shard.reduce_scatter %t on @g grid_axes = [0] reduction =  min scatter_axis = 1 : tensor<8x24xf32> -> tensor<8x12xf64>
  %reduce_scatter = shard.reduce_scatter %t on @g grid_axes = [0] reduction = min scatter_axis = 1 : tensor<8x24xf32> -> tensor<8x12xf64>
  // CHECK: shard.reduce_scatter %t on @g grid_axes = [0] scatter_axis = 1 : tensor<8x24xf32> -> tensor<8x12xf32>
  %later_word = shard.reduce_scatter %t on @g grid_axes = [0] scatter_dim = 1 : tensor<8x24xf32> -> tensor<8x12xf32>
  // CHECK: func.return
  return
}

// CHECK: func.func @one_device(%t: tensor<8x24xi32>, %i: index) {
func.func @one_device(%t: tensor<8x24xi32>, %i: index) {
  // CHECK: %broadcast = shard.broadcast %t on @g grid_axes = [1] root = [3] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  %broadcast = shard.broadcast %t on @g grid_axes = [1] root = [3] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  // CHECK: %broadcast_dynamic = shard.broadcast %t on @g grid_axes = [0, 2] root = [1, %i] : (tensor<8x24xi32>, index) -> tensor<8x24xi32>
  %broadcast_dynamic = shard.broadcast %t on @g grid_axes = [0, 2] root = [1, %i] : (tensor<8x24xi32>, index) -> tensor<8x24xi32>
  // CHECK: %gather = shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [%i] : (tensor<8x24xi32>, index) -> tensor<8x96xi32>
  %gather = shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [%i] : (tensor<8x24xi32>, index) -> tensor<8x96xi32>
  // CHECK: shard.reduce %t on @g grid_axes = [0] reduction =  bitwise_and root = [1] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  %reduce = shard.reduce %t on @g grid_axes = [0] reduction = bitwise_and root = [1] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  // CHECK: %reduce_wide = shard.reduce %t on @g grid_axes = [0] root = [%i] : (tensor<8x24xi32>, index) -> tensor<8x24xi64>
  %reduce_wide = shard.reduce %t on @g grid_axes = [0] root = [%i] : (tensor<8x24xi32>, index) -> tensor<8x24xi64>
  // CHECK: %scatter = shard.scatter %t on @g grid_axes = [1] scatter_axis = 0 root = [0] : (tensor<8x24xi32>) -> tensor<2x24xi32>
  %scatter = shard.scatter %t on @g grid_axes = [1] scatter_axis = 0 root = [0] : (tensor<8x24xi32>) -> tensor<2x24xi32>
  // CHECK: %send = shard.send %t on @g grid_axes = [0, 1] destination = [1, %i] : (tensor<8x24xi32>, index) -> tensor<8x24xi32>
  %send = shard.send %t on @g grid_axes = [0, 1] destination = [1, %i] : (tensor<8x24xi32>, index) -> tensor<8x24xi32>
  // CHECK: %recv = shard.recv %t on @g grid_axes = [1] source = [2] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  %recv = shard.recv %t on @g grid_axes = [1] source = [2] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  // CHECK: %recv_any = shard.recv %t on @g grid_axes = [1] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  %recv_any = shard.recv %t on @g grid_axes = [1] : (tensor<8x24xi32>) -> tensor<8x24xi32>
  // CHECK: func.return
  return
}

// CHECK: func.func @neighbors(%t: tensor<8x24xf32>, %m: memref<8x24xf32>, %h: i64) {
func.func @neighbors(%t: tensor<8x24xf32>, %m: memref<8x24xf32>, %h: i64) {
  // CHECK: %shift = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -2 : tensor<8x24xf32> -> tensor<8x24xf32>
  %shift = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -2 : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: %rotate = shard.shift %t on @g grid_axes = [0, 1] shift_axis = 0 offset = 1 rotate : tensor<8x24xf32> -> tensor<8x24xf32>
  %rotate = shard.shift %t on @g grid_axes = [0, 1] shift_axis = 0 offset = 1 rotate : tensor<8x24xf32> -> tensor<8x24xf32>
  // CHECK: %update = shard.update_halo %t on @g split_axes = {{\[\[}}0], [1{{\]\]}} halo_sizes = [1, 2, %h, 4] : tensor<8x24xf32>
  %update = shard.update_halo %t on @g split_axes = [[0], [1]] halo_sizes = [1, 2, %h, 4] : tensor<8x24xf32>
  // CHECK: %update_memref = shard.update_halo %m on @g split_axes = {{\[\[}}], [1{{\]\]}} halo_sizes = [1, 1] : memref<8x24xf32>
  %update_memref = shard.update_halo %m on @g split_axes = [[], [1]] halo_sizes = [1, 1] : memref<8x24xf32>
  // CHECK: %update_none = shard.update_halo %t on @g split_axes = {{\[\[}}0{{\]\]}} : tensor<8x24xf32>
  %update_none = shard.update_halo %t on @g split_axes = [[0]] : tensor<8x24xf32>
  // CHECK: func.return
  return
}

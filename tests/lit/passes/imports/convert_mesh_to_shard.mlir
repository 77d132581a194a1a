// RUN: mesh-opt %s --convert-mesh-to-shard | filecheck %s

// Text of mesh is read as shard already: the pass is for what others build in memory.

// CHECK: shard.grid @m(shape = 2x2)
// CHECK-LABEL: func.func @reduce(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %all_reduce = shard.all_reduce %x on @m grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
mesh.mesh @m(shape = 2x2)
func.func @reduce(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mesh.all_reduce %x on @m mesh_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

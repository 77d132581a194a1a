// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-shard-to-mesh | filecheck %s

// The operations come in the generic form, and are read as shard again.

// CHECK: "mesh.mesh"() <{{.*}}sym_name = "g"
// CHECK-LABEL: func.func @annotated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK: "mesh.sharding"() <{{.*}}mesh = @g{{.*}}> : () -> !mesh.sharding
// CHECK: "mesh.shard"(%x, {{.*}}) {{.*}}: (tensor<4x8xf32>, !mesh.sharding) -> tensor<4x8xf32>
// CHECK: "mesh.all_reduce"({{.*}}) <{{.*}}mesh = @g, mesh_axes = array<i16: 1>, reduction = #mesh<partial max>
shard.grid @g(shape = 2x4)
func.func @annotated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4x8xf32>
  %z = shard.all_reduce %y on @g grid_axes = [1] reduction = max : tensor<4x8xf32> -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @shape(%n: index) -> index {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @+1 {{has no counterpart in mesh}}
  %0 = shard.shard_shape dims = [8] sharding = %s device = [%n] : index
  return %0 : index
}

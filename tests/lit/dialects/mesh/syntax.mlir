// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s --convert-shard-to-mesh | filecheck %s --check-prefix=MESH
// RUN: mesh-opt %s --convert-shard-to-mesh | mesh-opt | filecheck %s

// Forms that the examples do not have: attributes in full, the generic form, sharding values.

// CHECK: shard.grid @m(shape = 2x4)
// MESH: "mesh.mesh"() <{shape = array<i64: 2, 4>, sym_name = "m"}> : () -> ()
mesh.mesh @m(shape = 2x4)

// CHECK: func.func @forms(%s: !shard.sharding, %t: tensor<8x16xf32>) -> !shard.sharding attributes {axes = #shard<axisarray{{\[\[}}0, 1], []]>, kind = #shard<partial max>, nested = [{deep = !shard.sharding}]} {
// MESH: func.func @forms(%s: !mesh.sharding, %t: tensor<8x16xf32>) -> !mesh.sharding attributes {axes = #mesh<axisarray{{\[\[}}0, 1], []]>, kind = #mesh<partial max>, nested = [{deep = !mesh.sharding}]} {
func.func @forms(%s: !mesh.sharding, %t: tensor<8x16xf32>) -> !mesh.sharding attributes {axes = #mesh.axisarray<[[0, 1], []]>, kind = #mesh.partial<max>, nested = [{deep = !mesh.sharding}]} {
  // CHECK: %max = shard.all_reduce %t on @m grid_axes = [0] reduction =  max : tensor<8x16xf32> -> tensor<8x16xf32>
  // MESH: %max = "mesh.all_reduce"(%t) <{mesh = @m, mesh_axes = array<i16: 0>, reduction = #mesh<partial max>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %max = mesh.all_reduce %t on @m mesh_axes = [0] reduction = max : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: %given = shard.all_reduce %t on @m grid_axes = [1] reduction =  min : tensor<8x16xf32> -> tensor<8x16xf32>
  %given = mesh.all_reduce %t on @m {mesh_axes = array<i16: 1>, reduction = #mesh<partial min>} : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: %generic = shard.all_reduce %t on @m grid_axes = [1] reduction =  min {note} : tensor<8x16xf32> -> tensor<8x16xf32>
  %generic = "mesh.all_reduce"(%t) <{mesh = @m, mesh_axes = array<i16: 1>, reduction = #mesh.partial<min>}> {note} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: %got = shard.get_sharding %t : tensor<8x16xf32> -> !shard.sharding
  // MESH: %got = "mesh.get_sharding"(%t) : (tensor<8x16xf32>) -> !mesh.sharding
  %got = mesh.get_sharding %t : tensor<8x16xf32> -> !mesh.sharding
  return %got : !mesh.sharding
}

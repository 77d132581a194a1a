// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Forms that the examples do not have: attributes in full, shapes of shards, sharding values.

// CHECK: mesh.mesh @m(shape = 2x4)
// GENERIC: "mesh.mesh"() <{sym_name = "m", shape = array<i64: 2, 4>}> : () -> ()
mesh.mesh @m(shape = 2x4)

// CHECK: func.func @forms(%s: !mesh.sharding, %i: index, %t: tensor<8x16xf32>) -> !mesh.sharding attributes {axes = #mesh<axisarray{{\[\[}}0, 1], []]>, kind = #mesh.partial<max>, spot = #mesh.shard<@m, {{\[\[}}0]], partial = min[1]>} {
func.func @forms(%s: !mesh.sharding, %i: index, %t: tensor<8x16xf32>) -> !mesh.sharding attributes {axes = #mesh.axisarray<[[0, 1], []]>, kind = #mesh.partial<max>, spot = #mesh.shard<@m, [[0]], partial = min[1]>} {
  // CHECK: %shape:2 = mesh.shard_shape 8x? %s %i : index, index
  // GENERIC: "mesh.shard_shape"(%s, %i) <{shape = array<i64: 8, -9223372036854775808>}> : (!mesh.sharding, index) -> (index, index)
  %shape:2 = mesh.shard_shape 8x? %s %i : index, index
  // GENERIC: "mesh.all_reduce"(%t) <{mesh = @m, mesh_axes = array<i16: 0>, reduction = #mesh.partial<max>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: mesh.all_reduce %t on @m mesh_axes = [0] reduction = <max> : tensor<8x16xf32> -> tensor<8x16xf32>
  %max = mesh.all_reduce %t on @m mesh_axes = [0] reduction = max : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: mesh.all_reduce %t on @m mesh_axes = [1] reduction = <min> : tensor<8x16xf32> -> tensor<8x16xf32>
  %given = mesh.all_reduce %t on @m {mesh_axes = array<i16: 1>, reduction = #mesh<partial min>} : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: %got = mesh.get_sharding %t : tensor<8x16xf32> -> !mesh.sharding
  %got = mesh.get_sharding %t : tensor<8x16xf32> -> !mesh.sharding
  return %got : !mesh.sharding
}

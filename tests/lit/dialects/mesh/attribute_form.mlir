// RUN: mesh-opt %s | filecheck %s --check-prefix=MESH
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s --check-prefix=MESH
// RUN: mesh-opt %s --convert-mesh-to-shard | filecheck %s --check-prefix=SHARD

// The sharding as an attribute of mesh.shard, as LLVM 19 prints it.

mesh.mesh @m(shape = 2x4)

// SHARD-LABEL: func.func @attributes
func.func @attributes(%t: tensor<8x16xf32>, %r: tensor<f32>) -> tensor<8x16xf32> {
  // MESH: %rows = mesh.shard %t to <@m, {{\[\[}}0]]> : tensor<8x16xf32>
  // SHARD: %[[S0:.*]] = shard.sharding @m split_axes = {{\[\[}}0]] : !shard.sharding
  // SHARD-NEXT: %rows = shard.shard %t to %[[S0]] : tensor<8x16xf32>
  %rows = mesh.shard %t to <@m, [[0]]> : tensor<8x16xf32>
  // MESH: %columns = mesh.shard %rows to <@m, {{\[\[}}], [1]], partial = sum[0]> annotate_for_users : tensor<8x16xf32>
  // SHARD-NEXT: %[[S1:.*]] = shard.sharding @m split_axes = {{\[\[}}], [1]] partial = sum[0] : !shard.sharding
  // SHARD-NEXT: %columns = shard.shard %rows to %[[S1]] annotate_for_users : tensor<8x16xf32>
  %columns = mesh.shard %rows to <@m, [[], [1]], partial = sum[0]> annotate_for_users : tensor<8x16xf32>
  // MESH: %nothing = mesh.shard %r to <@m, {{\[\[\]\]}}> {note} : tensor<f32>
  // SHARD-NEXT: %[[S2:.*]] = shard.sharding @m split_axes = {{\[\[\]\]}} : !shard.sharding
  // SHARD-NEXT: %nothing = shard.shard %r to %[[S2]] {note} : tensor<f32>
  %nothing = mesh.shard %r to <@m, []> {note} : tensor<f32>
  return %columns : tensor<8x16xf32>
}

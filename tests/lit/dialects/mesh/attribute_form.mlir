// RUN: mesh-opt %s | filecheck %s

// The sharding as an attribute of mesh.shard, as LLVM 19 prints it.

mesh.mesh @m(shape = 2x4)

// CHECK-LABEL: func.func @attributes
func.func @attributes(%t: tensor<8x16xf32>, %r: tensor<f32>) -> tensor<8x16xf32> {
  // CHECK: %[[S0:.*]] = shard.sharding @m split_axes = {{\[\[}}0]] : !shard.sharding
  // CHECK-NEXT: %rows = shard.shard %t to %[[S0]] : tensor<8x16xf32>
  %rows = mesh.shard %t to <@m, [[0]]> : tensor<8x16xf32>
  // CHECK-NEXT: %[[S1:.*]] = shard.sharding @m split_axes = {{\[\[}}], [1]] partial = sum[0] : !shard.sharding
  // CHECK-NEXT: %columns = shard.shard %rows to %[[S1]] annotate_for_users : tensor<8x16xf32>
  %columns = "mesh.shard"(%rows) <{annotate_for_users, shard = #mesh.shard<@m, [[], [1]], partial = sum[0]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: %[[S3:.*]] = shard.sharding @m split_axes = {{\[\[}}], [1]] partial = sum[0] : !shard.sharding
  // CHECK-NEXT: %more = shard.shard %rows to %[[S3]] annotate_for_users : tensor<8x16xf32>
  %more = mesh.shard %rows to <@m, [[], [1]], partial = sum[0]> annotate_for_users : tensor<8x16xf32>
  // CHECK-NEXT: %[[S2:.*]] = shard.sharding @m split_axes = {{\[\[\]\]}} : !shard.sharding
  // CHECK-NEXT: %nothing = shard.shard %r to %[[S2]] {note} : tensor<f32>
  %nothing = mesh.shard %r to <@m, []> {note} : tensor<f32>
  return %columns : tensor<8x16xf32>
}

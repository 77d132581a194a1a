// RUN: mesh-opt %s --split-input-file | filecheck %s
// RUN: mesh-opt %s --split-input-file --convert-shard-to-mesh | mesh-opt --split-input-file | filecheck %s

// The examples of the mesh dialect's reference, made well-formed: shardings and annotations.

// CHECK: shard.grid @mesh0(shape = 2x2x4)
mesh.mesh @mesh0(shape = 2x2x4)
// CHECK: shard.grid @mesh1d_4(shape = 4)
mesh.mesh @mesh1d_4(shape = 4)
func.func @shardings(%arg0: tensor<4x8xf32>, %arg1: tensor<4x14xf32>) {
  // CHECK: %sharding0 = shard.sharding @mesh0 split_axes = {{\[\[}}{{\]\]}} : !shard.sharding
  %sharding0 = mesh.sharding @mesh0 split_axes = [[]] : !mesh.sharding
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}0], [{{\]\]}} partial = sum[1] : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[0], []] partial = sum[1] : !mesh.sharding
  // CHECK: %sharding3 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} partial = max[1] : !shard.sharding
  %sharding3 = mesh.sharding @mesh0 split_axes = [[0]] partial = max[1] : !mesh.sharding
  // CHECK: %sharded0 = shard.shard %arg0 to %sharding3 : tensor<4x8xf32>
  %sharded0 = mesh.shard %arg0 to %sharding3 : tensor<4x8xf32>
  // CHECK: %halo_sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} halo_sizes = [1, 2] : !shard.sharding
  %halo_sharding = mesh.sharding @mesh0 split_axes = [[0]] halo_sizes = [1, 2] : !mesh.sharding
  // CHECK: %sharded1 = shard.shard %arg0 to %halo_sharding : tensor<4x8xf32>
  %sharded1 = mesh.shard %arg0 to %halo_sharding : tensor<4x8xf32>
  // CHECK: %sharding4 = shard.sharding @mesh1d_4 split_axes = {{\[\[}}], [0{{\]\]}} sharded_dims_offsets = [0, 2, 5, 9, 14] : !shard.sharding
  %sharding4 = mesh.sharding @mesh1d_4 split_axes = [[], [0]] sharded_dims_offsets = [0, 2, 5, 9, 14] : !mesh.sharding
  // CHECK: %sharded2 = shard.shard %arg1 to %sharding4 : tensor<4x14xf32>
  %sharded2 = mesh.shard %arg1 to %sharding4 : tensor<4x14xf32>
  return
}

// -----

// A 3d tensor with its first two dimensions in shards of 24 and 8 by 20 and 12.

// CHECK: shard.grid @mesh0(shape = 2x2)
mesh.mesh @mesh0(shape = 2x2)
func.func @two_offsets(%t: tensor<32x32x32xf32>) {
  // CHECK: %sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0], [1{{\]\]}} sharded_dims_offsets = [0, 24, 32, 0, 20, 32] : !shard.sharding
  %sharding = mesh.sharding @mesh0 split_axes = [[0], [1]] sharded_dims_offsets = [0, 24, 32, 0, 20, 32] : !mesh.sharding
  // CHECK: %sharded = shard.shard %t to %sharding : tensor<32x32x32xf32>
  %sharded = mesh.shard %t to %sharding : tensor<32x32x32xf32>
  return
}

// -----

// CHECK: shard.grid @mesh0(shape = 2x2x4)
mesh.mesh @mesh0(shape = 2x2x4)
func.func @only_result_annotated(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding : tensor<4x8xf32>
  return
}
func.func @only_operand_annotated(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding annotate_for_users : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding annotate_for_users : tensor<4x8xf32>
  return
}
func.func @two_operands_annotated(%arg0: tensor<4x8xf32>, %arg1: tensor<16x8xf32>) {
  // CHECK: %sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding annotate_for_users : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding annotate_for_users : tensor<4x8xf32>
  // CHECK: %b = shard.shard %arg1 to %sharding annotate_for_users : tensor<16x8xf32>
  %b = mesh.shard %arg1 to %sharding annotate_for_users : tensor<16x8xf32>
  return
}
func.func @both_result_and_multi_operands_annotated(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %sharding = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding : tensor<4x8xf32>
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}1{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[1]] : !mesh.sharding
  // CHECK: %b = shard.shard %a to %sharding1 annotate_for_users : tensor<4x8xf32>
  %b = mesh.shard %a to %sharding1 annotate_for_users : tensor<4x8xf32>
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}2{{\]\]}} : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[2]] : !mesh.sharding
  // CHECK: %c = shard.shard %a to %sharding2 annotate_for_users : tensor<4x8xf32>
  %c = mesh.shard %a to %sharding2 annotate_for_users : tensor<4x8xf32>
  return %b, %c : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Of these the reference says that their meaning is undefined; they are read and kept.

// CHECK: shard.grid @mesh0(shape = 2x2x4)
mesh.mesh @mesh0(shape = 2x2x4)
func.func @annotate_on_same_result_with_different_sharding(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}1{{\]\]}} : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[1]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding1 : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding1 : tensor<4x8xf32>
  // CHECK: %b = shard.shard %a to %sharding2 : tensor<4x8xf32>
  %b = mesh.shard %a to %sharding2 : tensor<4x8xf32>
  return
}
func.func @annotate_on_same_result_same_value_with_different_sharding(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}1{{\]\]}} : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[1]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding1 : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding1 : tensor<4x8xf32>
  // CHECK: %b = shard.shard %arg0 to %sharding2 : tensor<4x8xf32>
  %b = mesh.shard %arg0 to %sharding2 : tensor<4x8xf32>
  return
}
func.func @annotate_on_same_operand_with_different_sharding(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}1{{\]\]}} : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[1]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding1 annotate_for_users : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding1 annotate_for_users : tensor<4x8xf32>
  // CHECK: %b = shard.shard %a to %sharding2 annotate_for_users : tensor<4x8xf32>
  %b = mesh.shard %a to %sharding2 annotate_for_users : tensor<4x8xf32>
  return
}
func.func @result_annotated_after_operand(%arg0: tensor<4x8xf32>) {
  // CHECK: %sharding1 = shard.sharding @mesh0 split_axes = {{\[\[}}0{{\]\]}} : !shard.sharding
  %sharding1 = mesh.sharding @mesh0 split_axes = [[0]] : !mesh.sharding
  // CHECK: %sharding2 = shard.sharding @mesh0 split_axes = {{\[\[}}1{{\]\]}} : !shard.sharding
  %sharding2 = mesh.sharding @mesh0 split_axes = [[1]] : !mesh.sharding
  // CHECK: %a = shard.shard %arg0 to %sharding1 annotate_for_users : tensor<4x8xf32>
  %a = mesh.shard %arg0 to %sharding1 annotate_for_users : tensor<4x8xf32>
  // CHECK: %b = shard.shard %a to %sharding2 : tensor<4x8xf32>
  %b = mesh.shard %a to %sharding2 : tensor<4x8xf32>
  return
}

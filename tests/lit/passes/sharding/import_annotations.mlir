// Passes on shardings take programs of `mesh` and `sdy`, and write them as `shard` first.
// RUN: mesh-opt %s --split-input-file --mesh-spmdization | filecheck %s --check-prefixes=ALL,PARTITION
// RUN: mesh-opt %s --split-input-file --shard-partition | filecheck %s --check-prefixes=ALL,PARTITION
// RUN: mesh-opt %s --split-input-file --sharding-propagation | filecheck %s --check-prefixes=ALL,ANNOTATE
// RUN: mesh-opt %s --split-input-file --shard-complete | filecheck %s --check-prefixes=ALL,ANNOTATE
// RUN: mesh-opt %s --split-input-file --strip-annotations | filecheck %s --check-prefixes=ALL,STRIP
// RUN: mesh-opt %s --split-input-file --shard-simplify --shard-lower-all-slice --shard-lower-process-multi-index | filecheck %s --check-prefix=LOWER
// RUN: mesh-opt %s --split-input-file --form-dispatches | filecheck %s --check-prefix=DISPATCH
// RUN: mesh-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(spmd))' | filecheck %s --check-prefixes=ALL,PARTITION
// RUN: mesh-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(shard-simplify,shard-lower-all-slice,shard-lower-process-multi-index))' | filecheck %s --check-prefix=LOWER

// ALL: shard.grid @m(shape = 2)
// ALL-LABEL: func.func @attribute_form
// PARTITION-SAME: (%a: tensor<1xi8> {shard.boundary
// PARTITION-NEXT: tosa.abs %a : (tensor<1xi8>) -> tensor<1xi8>
// ANNOTATE: shard.shard %a to
// ANNOTATE: shard.shard %n to
// STRIP-NEXT: tosa.abs %a
// STRIP-NEXT: return
mesh.mesh @m(shape = 2)
func.func @attribute_form(%a: tensor<2xi8>) -> tensor<2xi8> {
  %0 = mesh.shard %a to <@m, [[0]]> : tensor<2xi8>
  %n = tosa.abs %0 : (tensor<2xi8>) -> tensor<2xi8>
  %1 = mesh.shard %n to <@m, [[0]]> annotate_for_users : tensor<2xi8>
  return %1 : tensor<2xi8>
}

// -----

// The only annotation is an attribute of an argument, and the mesh is written there.

// ALL: shard.grid @mesh(shape = 2)
// ALL-LABEL: func.func @argument
// PARTITION-SAME: (%a: tensor<1xi8> {shard.boundary
// ANNOTATE: shard.shard %a to
// STRIP-NEXT: tosa.abs %a
func.func @argument(%a: tensor<2xi8> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}) -> tensor<2xi8> {
  %n = tosa.abs %a : (tensor<2xi8>) -> tensor<2xi8>
  return %n : tensor<2xi8>
}

// -----

// ALL: shard.grid @m(shape = 2)
// ALL-LABEL: func.func @result
// PARTITION: tosa.abs {{.*}} : (tensor<1xi8>) -> tensor<1xi8>
// ANNOTATE: shard.shard %n to
// STRIP: tosa.abs %a
sdy.mesh @m = <["x"=2]>
func.func @result(%a: tensor<2xi8>) -> tensor<2xi8> {
  %n = tosa.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<2xi8>) -> tensor<2xi8>
  return %n : tensor<2xi8>
}

// -----

// What was gathered and is sliced again is as it was; coordinates and slices are arithmetic.

// LOWER: shard.grid @m(shape = 2)
// LOWER-LABEL: func.func @collectives
// LOWER-NEXT: shard.process_linear_index on @m : index
// LOWER-NEXT: tensor.extract_slice %a[%proc_linear_idx] [1] [1]
// LOWER-NEXT: shard.process_linear_index on @m : index
// LOWER-NEXT: return

// A collective is a dispatch of its own, in which all processes take part.

// DISPATCH: shard.grid @m(shape = 2)
// DISPATCH: func.func @collectives_dispatch_0
// DISPATCH: shard.all_gather
// DISPATCH: func.func @collectives_dispatch_1
// DISPATCH: shard.all_slice
mesh.mesh @m(shape = 2)
func.func @collectives(%a: tensor<2xf32>) -> (tensor<1xf32>, index) {
  %0 = mesh.all_gather %a on @m mesh_axes = [0] gather_axis = 0 : tensor<2xf32> -> tensor<4xf32>
  %1 = mesh.all_slice %0 on @m mesh_axes = [0] slice_axis = 0 : tensor<4xf32> -> tensor<2xf32>
  %2 = mesh.all_slice %1 on @m mesh_axes = [0] slice_axis = 0 : tensor<2xf32> -> tensor<1xf32>
  %i = mesh.process_multi_index on @m axes = [0] : index
  return %2, %i : tensor<1xf32>, index
}

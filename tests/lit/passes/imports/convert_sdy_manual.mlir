// RUN: mesh-opt %s --split-input-file --convert-stablehlo-to-linalg --convert-sdy-to-shard | filecheck %s
// RUN: mesh-opt %s --split-input-file -p spmd | filecheck %s --check-prefix=SPMD

// A manual computation: slices, its body with whole tensors, and gathers. Nothing of that is left
// after partitioning but the body.

// CHECK: shard.grid @mesh(shape = 2x4) {shard.axis_names = ["x", "y"]}
// CHECK-LABEL: func.func @product
// CHECK: [[A:%[a-z0-9_]+]] = shard.shard %a to {{.*}} annotate_for_users : tensor<8x16xf32>
// CHECK: [[A0:%[a-z0-9_]+]] = shard.all_slice [[A]] on @mesh grid_axes = [0] slice_axis = 0 {shard.manual} : tensor<8x16xf32> -> tensor<4x16xf32>
// CHECK: [[A1:%[a-z0-9_]+]] = shard.all_slice [[A0]] on @mesh grid_axes = [1] slice_axis = 1 {shard.manual} : tensor<4x16xf32> -> tensor<4x4xf32>
// CHECK: [[WHOLE:%[a-z0-9_]+]] = shard.sharding @mesh split_axes = {{\[\[\]\]}}
// CHECK: shard.shard [[A1]] to [[WHOLE]] : tensor<4x4xf32>
// CHECK: shard.all_reduce {{.*}} on @processes grid_axes = [1] {shard.manual}
// CHECK: [[R:%[a-z0-9_]+]] = shard.all_gather {{.*}} on @mesh grid_axes = [0] gather_axis = 0 {shard.manual} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK: shard.sharding @mesh split_axes = {{\[\[0\]\]}}
// CHECK: shard.shard [[R]] to

// SPMD-LABEL: func.func @product(%a: tensor<4x4xf32>
// SPMD-SAME: %b: tensor<4x4xf32>
// SPMD-NOT: shard.all_slice
// SPMD-NOT: shard.all_gather
// SPMD: shard.all_reduce {{.*}} on @processes grid_axes = [1] : tensor<4x4xf32> -> tensor<4x4xf32>
// SPMD-NOT: shard.all_slice
// SPMD-NOT: shard.all_gather
// SPMD: return
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @product(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%c: tensor<4x4xf32>, %d: tensor<4x4xf32>) {
    %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %2 : tensor<4x4xf32>
  } : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Axes that are not manual are left to propagation and to constraints, which keep manual ones off.

// CHECK-LABEL: func.func @some
// CHECK: shard.all_slice {{.*}} on @mesh grid_axes = [0] slice_axis = 0 {shard.manual = array<i64: 0>} : tensor<2x4x16xf32> -> tensor<1x4x16xf32>
// CHECK-NEXT: tensor.collapse_shape
// CHECK-NEXT: shard.sharding @mesh split_axes = {{\[\[\], \[1\]\]}}
// CHECK-NEXT: shard.shard {{.*}} annotate_for_users {shard.open_dimensions = array<i64: 0, 1>, shard.replicated_axes = array<i64: 0>} : tensor<4x16xf32>
// SPMD-LABEL: func.func @some(%a: tensor<4x4xf32>
// SPMD: arith.addf {{.*}} : tensor<4x4xf32>
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @some(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
    %1 = sdy.sharding_constraint %b <@mesh, [{?}, {"y", ?}]> : tensor<4x16xf32>
    %2 = arith.addf %1, %1 : tensor<4x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{?}, {?}]> : tensor<4x16xf32>
    sdy.return %3 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// A free axis may split a dimension further that a manual axis splits.

// SPMD-LABEL: func.func @further(%a: tensor<1x16xf32>
// SPMD-NOT: shard.all_
// SPMD: return
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @further(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x16xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
    %1 = arith.addf %b, %b : tensor<4x16xf32>
    sdy.return %1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// A free axis splits the body, its collectives and what enters whole along the manual axis.

// CHECK-LABEL: func.func @free
// CHECK: shard.all_slice %{{.*}} on @mesh grid_axes = [0] slice_axis = 0 {shard.manual = array<i64: 0>} : tensor<2x4x8xf32> -> tensor<1x4x8xf32>
// CHECK: shard.shard %{{.*}} annotate_for_users {shard.open_dimensions = array<i64: 0, 1>, shard.replicated_axes = array<i64: 0>} : tensor<8x8xf32>
// CHECK-NOT: shard.shard
// CHECK: shard.all_reduce {{.*}} {shard.manual = array<i64: 0>}
// SPMD-LABEL: func.func @free(%a: tensor<4x8xf32>
// SPMD-SAME: %b: tensor<8x2xf32>
// SPMD-NOT: shard.all_gather
// SPMD: shard.all_reduce {{.*}} grid_axes = [0] : tensor<4x2xf32> -> tensor<4x2xf32>
// SPMD-NEXT: return
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @free(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={"x"} (%c: tensor<4x8xf32>, %d: tensor<8x8xf32>) {
    %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Shardy's own collectives say how a value is to lie; a data-flow edge, too, if it says anything.
// What is on JAX's empty mesh is whole on each device of the other.

// CHECK-NOT: sdy.
// CHECK-LABEL: func.func @collectives
// CHECK: shard.sharding @mesh split_axes = {{\[\[\]\]}}
// CHECK-NEXT: shard.shard %a to {{.*}} annotate_for_users
// CHECK: shard.sharding @mesh split_axes = {{\[\[0\], \[1\]\]}}
// CHECK-NEXT: shard.shard {{.*}} annotate_for_users
// CHECK: shard.sharding @mesh split_axes = {{\[\[0\]\]}}
// CHECK-NEXT: shard.shard {{.*}} annotate_for_users {shard.open_dimensions = array<i64: 1>}
// CHECK: shard.sharding @mesh split_axes = {{\[\[\]\]}}
// CHECK-NEXT: shard.shard
sdy.mesh @empty_mesh = <[]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @collectives(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.reduce_scatter [{}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %2 = sdy.data_flow_edge %1 : tensor<8x8xf32>
  %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"x"}, {?}]> : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %3 <@empty_mesh, [{}, {}]> : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// -----

// What a manual computation calls is for one device, too, and is inlined.

// CHECK-LABEL: func.func @calls
// CHECK: shard.process_linear_index on @processes {shard.manual}
// CHECK-NOT: func.func private @number
// SPMD-LABEL: func.func @calls
// SPMD: shard.process_linear_index on @processes : index
sdy.mesh @mesh = <["x"=2]>
func.func @calls(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<1xi32>) {
    %1 = func.call @number(%b) : (tensor<1xi32>) -> tensor<1xi32>
    sdy.return %1 : tensor<1xi32>
  } : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func private @number(%a: tensor<1xi32>) -> tensor<1xi32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<ui32>) -> tensor<i32>
  %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
  %3 = stablehlo.add %a, %2 : tensor<1xi32>
  return %3 : tensor<1xi32>
}

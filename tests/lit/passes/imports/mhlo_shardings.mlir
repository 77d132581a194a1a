// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-opt %s --split-input-file --verify-diagnostics -p spmd | filecheck %s --check-prefix=SPMD

// The strings of GSPMD speak of parts of the device number: of all that are named a mesh is made.

// CHECK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=4]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {}]>}
// CHECK-SAME: %w: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {"axis_0"}]>}
// CHECK-SAME: %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}
// CHECK-SAME: %n: tensor<4xf32>)
// CHECK-SAME: {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"axis_0", "axis_1"}, {}]>}
// CHECK: sdy.sharding_constraint {{.*}} <@mesh, [{"axis_1"}, {?}]> : tensor<8x4xf32>
// SPMD: shard.grid @mesh(shape = 2x4)
// SPMD: func.func @main(%x: tensor<2x16xf32> {{.*}}, %w: tensor<4x2xf32> {{.*}}) -> (tensor<1x4xf32>
func.func @main(
    %x: tensor<8x16xf32> {mhlo.sharding = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
    %w: tensor<16x4xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"},
    %b: tensor<4xf32> {mhlo.sharding = "{replicated}"},
    %n: tensor<4xf32> {mhlo.sharding = ""})
    -> (tensor<8x4xf32> {jax.result_info = "result", mhlo.sharding = "{devices=[8,1]<=[8]}"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{'func.func' op has argument 0 with mhlo.sharding = "{maximal device=0}": it is on a single device, which a grid cannot express}}
func.func @alone(%x: tensor<8xf32> {mhlo.sharding = "{maximal device=0}"}) {
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  return
}

// -----

// What lies between the changes of shape is a manual computation.

// CHECK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=4]>
// CHECK-LABEL: func.func @manual
// CHECK: %[[W:.*]] = sdy.sharding_constraint %w <@mesh, [{"axis_1"}, {}]>
// CHECK: %[[R:.*]] = sdy.manual_computation(%x, %[[W]])
// CHECK-SAME: in_shardings=[<@mesh, [{"axis_0"}, {"axis_1"}]>, <@mesh, [{"axis_1"}, {}]>]
// CHECK-SAME: out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0", "axis_1"}
// CHECK-SAME: (%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x6xf32>)
// CHECK: shard.all_reduce {{.*}} grid_axes = [1]
// CHECK-NEXT: sdy.return
// CHECK: func.return %[[R]] : tensor<8x6xf32>
// SPMD: func.func @manual(%x: tensor<4x4xf32> {{.*}}, %w: tensor<4x6xf32> {{.*}}) -> (tensor<4x6xf32>
// SPMD: shard.all_reduce {{.*}} grid_axes = [1]
// SPMD-NEXT: return
func.func @manual(%x: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}, %w: tensor<16x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8x16xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.custom_call @Sharding(%w) {mhlo.sharding = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : (tensor<16x6xf32>) -> tensor<16x6xf32>
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<16x6xf32>) -> tensor<4x6xf32>
  %3 = call @body(%0, %2) : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = stablehlo.custom_call @Sharding(%3) {mhlo.sharding = "{manual}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = stablehlo.custom_call @SPMDShardToFullShape(%4) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return %5 : tensor<8x6xf32>
}
func.func private @body(%x: tensor<4x4xf32>, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// Along one axis of two, of what is only made inside.

// CHECK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=4]>
// CHECK-LABEL: func.func @along
// CHECK: sdy.manual_computation(%x) in_shardings=[<@mesh, [{"axis_1"}]>] out_shardings=[<@mesh, [{"axis_1"}]>] manual_axes={"axis_1"}
// CHECK: sdy.sharding_constraint {{.*}} <@mesh, [{"axis_0"}]>
func.func @along(%x: tensor<16xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}) -> tensor<16xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<16xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %one : tensor<4xf32>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{devices=[2,4]<=[8] last_tile_dims={manual}}"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// -----

// One inside of another one, along the axis that is free there.

// CHECK-LABEL: func.func @nested
// CHECK: sdy.manual_computation(%x) in_shardings=[<@mesh, [{"axis_0"}, {}]>] out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0"}
// CHECK: %[[P:.*]] = sdy.sharding_constraint {{.*}} <@mesh, [{}, {"axis_1"}]>
// CHECK: sdy.manual_computation(%[[P]]) in_shardings=[<@mesh, [{}, {"axis_1"}]>] out_shardings=[<@mesh, [{}, {"axis_1"}]>] manual_axes={"axis_1"}
// SPMD: func.func @nested(%x: tensor<4x16xf32> {{.*}}) -> (tensor<4x16xf32>
// SPMD: shard.all_slice {{.*}} grid_axes = [1] slice_axis = 2 : tensor<1x4x16xf32> -> tensor<1x4x4xf32>
// SPMD: shard.all_gather {{.*}} grid_axes = [1] gather_axis = 2 : tensor<1x4x4xf32> -> tensor<1x4x16xf32>
func.func @nested(%x: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.negate %2 : tensor<4x4xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<4x4xf32>) -> tensor<4x16xf32>
  %5 = stablehlo.add %0, %4 : tensor<4x16xf32>
  %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x16xf32>) -> tensor<8x16xf32>
  return %6 : tensor<8x16xf32>
}

// -----

func.func @unentered(%x: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @+1 {{is in a manual computation and reads a whole tensor, which can only enter by @SPMDFullToShardShape}}
  %1 = stablehlo.negate %0 : tensor<4x16xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// -----

func.func @unplaced(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{takes a tensor without a sharding into a manual computation, expected stablehlo.custom_call @Sharding}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @mixed(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}, %w: tensor<4xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error @+1 {{is in a manual computation and reads a whole tensor, which can only enter by @SPMDFullToShardShape}}
  %1 = stablehlo.add %0, %w : tensor<4xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

func.func @whole(%x: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8xf32> {
  // expected-error @+1 {{belongs to a manual computation, but the number of devices is unknown: set mhlo.num_partitions on the module}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @nowhere(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error @+1 {{has no mhlo.sharding, expected a sharding of the whole tensor or of its shards}}
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// expected-error @+1 {{has mhlo.sharding = "{devices=[4]<=[4]}" for 4 devices, but another sharding is for 2}}
func.func @counts(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}, %y: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) {
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{is one of several shardings that split 6 devices at 2 and at 3; no mesh has both}}
func.func @digits(%x: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}, %y: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}) {
  %0 = stablehlo.add %x, %y : tensor<6x6xf32>
  return
}

// -----

// The members of a tuple have shardings of their own, or one for all; an empty tuple has no member.

// CHECK-LABEL: func.func @tuples
// CHECK-SAME: %t: tensor<8xf32> {a.note, sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}
// CHECK-SAME: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"axis_1"}]>}
// CHECK-SAME: %s: tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}
// CHECK-SAME: -> (tensor<8xf32> {b.note, sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
// SPMD: func.func @tuples(%t: tensor<4xf32> {{.*}}, {{.*}}: tensor<4x2xf32> {{.*}}, %s: tensor<1xi32>
func.func @tuples(
    %e: tuple<> {a.note, mhlo.sharding = "{}"},
    %t: tuple<tensor<8xf32>, tuple<tensor<4x4xf32>>> {a.note,
        mhlo.sharding = "{{devices=[2,2]<=[4] last_tile_dim_replicate}, {devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={replicated}}}"},
    %s: tensor<2xi32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"})
    -> (tuple<> {b.note}, tuple<tensor<8xf32>, tuple<tensor<4x4xf32>>> {b.note, mhlo.sharding = "{replicated}"}) {
  return %e, %t : tuple<>, tuple<tensor<8xf32>, tuple<tensor<4x4xf32>>>
}

// -----

// expected-error @+1 {{has mhlo.sharding = "{{replicated}}": it has 1 shardings for 2 members}}
func.func @too_few(%t: tuple<tensor<8xf32>, tensor<4xf32>> {mhlo.sharding = "{{replicated}}"}) {
  return
}

// -----

// Of other operations the strings become annotations of the results, but not in a manual computation.

// CHECK: sdy.mesh @mesh = <["axis_0"=2]>
// CHECK-LABEL: func.func @operations
// CHECK: math.tanh
// CHECK: %y = sdy.sharding_constraint %{{.*}} <@mesh, [{"axis_0"}]> : tensor<8xf32>
// CHECK-NOT: sharding
// SPMD: func.func @operations(%x: tensor<4xf32>
func.func @operations(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.tanh %x {mhlo.sharding = "{devices=[2]<=[2]}"} : tensor<8xf32>
  %z = stablehlo.cosine %y {mhlo.sharding = "{manual}"} : tensor<8xf32>
  return %z : tensor<8xf32>
}

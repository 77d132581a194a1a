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

// expected-error @+1 {{'func.func' op has argument 0 with mhlo.sharding = "{maximal device=0}": it is on one device alone, which a grid cannot express}}
func.func @alone(%x: tensor<8xf32> {mhlo.sharding = "{maximal device=0}"}) {
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  return
}

// -----

func.func @manual(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) {
  // expected-error @+1 {{it is of a manual computation of the old partitioner; lower the program with Shardy}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{has mhlo.sharding = "{devices=[4]<=[4]}" for 4 devices, elsewhere there are 2}}
func.func @counts(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}, %y: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) {
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{is one of several shardings that split 6 devices at 2 and at 3, which no mesh has both}}
func.func @digits(%x: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}, %y: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}) {
  %0 = stablehlo.add %x, %y : tensor<6x6xf32>
  return
}

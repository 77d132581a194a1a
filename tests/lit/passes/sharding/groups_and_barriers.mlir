// RUN: mesh-opt %s --sharding-propagation | filecheck %s
// RUN: mesh-opt %s -p spmd | filecheck %s --check-prefix=SPMD

// What Shardy's groups tie and its barriers keep apart.

sdy.mesh @m = <["a"=2, "b"=2]>

// `%q` has no other relation to `%x`. After propagation nothing is open.
// CHECK-LABEL: func.func @group
// CHECK-NOT: shard.group
// CHECK-NOT: shard.open_dimensions
// SPMD-LABEL: func.func @group
// SPMD-SAME: %x: tensor<4x8xf32> {{{.*}}}, %y: tensor<4x8xf32>
func.func @group(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %y: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = math.tanh %x : tensor<8x8xf32>
  %q = math.exp %y : tensor<8x8xf32>
  sdy.sharding_group %p group_id=3 : tensor<8x8xf32>
  sdy.sharding_group %q group_id=3 : tensor<8x8xf32>
  return %p, %q : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @none
// CHECK-NOT: shard.allowed_direction
// SPMD-LABEL: func.func @none
// SPMD: shard.all_gather %x
// SPMD: math.exp %{{.*}} : tensor<8x8xf32>
func.func @none(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %p = sdy.propagation_barrier %x allowed_direction=NONE : tensor<8x8xf32>
  %q = math.exp %p : tensor<8x8xf32>
  return %q : tensor<8x8xf32>
}

// `%x` could be split along "b" as well, but only the users learn of "a".
// SPMD-LABEL: func.func @forward
// SPMD-SAME: %x: tensor<4x8xf32>
// SPMD: math.exp %{{.*}} : tensor<4x4xf32>
func.func @forward(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {?}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b"}]>}) {
  %p = sdy.propagation_barrier %x allowed_direction=FORWARD : tensor<8x8xf32>
  %q = math.exp %p : tensor<8x8xf32>
  return %q : tensor<8x8xf32>
}

// The other way round: `%x` is split, too, and the result not along "a".
// SPMD-LABEL: func.func @backward
// SPMD-SAME: %x: tensor<4x4xf32>
// SPMD: math.exp %{{.*}} : tensor<8x4xf32>
func.func @backward(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {?}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b"}]>}) {
  %p = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8x8xf32>
  %q = math.exp %p : tensor<8x8xf32>
  return %q : tensor<8x8xf32>
}

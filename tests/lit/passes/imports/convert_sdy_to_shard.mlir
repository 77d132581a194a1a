// RUN: mesh-opt %s --split-input-file --convert-sdy-to-shard | filecheck %s

// Arguments are annotated as they come, results as they are used.

// CHECK: shard.grid @mesh(shape = 2x4) {shard.axis_names = ["dp", "tp"]}
// CHECK-LABEL: func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x16xf32> {mylib.kept}) -> tensor<8x16xf32>
// CHECK: [[S:%[a-z0-9_]+]] = shard.sharding @mesh split_axes = {{\[\[0\]\]}}
// CHECK-NEXT: [[X:%[a-z0-9_]+]] = shard.shard %x to [[S]] : tensor<8x16xf32>
// CHECK: shard.shard %w to {{.*}} {shard.dimension_priorities = array<i64: 0, 1>, shard.open_dimensions = array<i64: 0>}
// CHECK: shard.shard [[X]] to {{.*}} annotate_for_users
// CHECK: %t = math.tanh
// CHECK: [[T:%[a-z0-9_]+]] = shard.shard %t to {{.*}} annotate_for_users
// CHECK: return [[T]]
sdy.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>},
             %w: tensor<16x16xf32> {mylib.kept, sdy.sharding = #sdy.sharding<@mesh, [{?}, {"tp"}p1]>})
    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %c = sdy.sharding_constraint %x <@mesh, [{"dp"}, {"tp"}]> : tensor<8x16xf32>
  %t = math.tanh %c : tensor<8x16xf32>
  return %t : tensor<8x16xf32>
}

// -----

// Half an axis is an axis of a finer grid.

// CHECK: shard.grid @mesh(shape = 2x2x3) {shard.axis_names = ["a:(1)2", "a:(2)2", "b"]}
// CHECK: shard.sharding @mesh split_axes = {{\[\[1\], \[2, 0\]\]}}
sdy.mesh @mesh = <["a"=4, "b"=3]>
func.func @parts(%x: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(2)2}, {"b", "a":(1)2}]>}) {
  return
}

// -----

// A pending sum stays pending.

// CHECK: shard.sharding @mesh split_axes = {{\[\[\]\]}} partial = sum[0]
sdy.mesh @mesh = <["a"=4]>
func.func @pending(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}) {
  return
}

// -----

// Casts that only change the sign of integers.

// CHECK: tensor.bitcast %x : tensor<8xi8> to tensor<8xui8>
func.func @signs(%x: tensor<8xi8>) -> tensor<8xui8> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<8xi8> to tensor<8xui8>
  return %0 : tensor<8xui8>
}

// -----

// A named computation is inlined between its shardings.

// CHECK-LABEL: func.func @named(%a: tensor<8x4xf32>)
// CHECK-NEXT: [[IN:%[a-z0-9_]+]] = shard.sharding @m split_axes = {{\[\[0\]\]}}
// CHECK-NEXT: [[A:%[a-z0-9_]+]] = shard.shard %a to [[IN]] annotate_for_users
// CHECK-NEXT: %d = math.tanh [[A]]
// CHECK-NEXT: [[OUT:%[a-z0-9_]+]] = shard.sharding @m split_axes = {{\[\[0\], \[1\]\]}}
// CHECK-NEXT: [[D:%[a-z0-9_]+]] = shard.shard %d to [[OUT]] : tensor<8x4xf32>
// CHECK-NEXT: return [[D]]
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @named(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {"y"}]>] (%c: tensor<8x4xf32>) {
    %d = math.tanh %c : tensor<8x4xf32>
    sdy.return %d : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// What Shardy's import makes: constants of their own, calls and named computations without shardings.

// CHECK-LABEL: func.func private @callee
// CHECK-NEXT: return %x
func.func private @callee(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = sdy.func_data_flow_edge %x : tensor<8xf32>
  return %e : tensor<8xf32>
}
// CHECK-LABEL: func.func @imported
// CHECK-NEXT: [[R:%[a-z0-9_]+]] = func.call @callee(%x)
// CHECK-NEXT: %t = math.tanh [[R]]
// CHECK-NEXT: return %t
func.func @imported(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = call @callee(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %e = sdy.func_data_flow_edge %r : tensor<8xf32>
  %n = sdy.named_computation<"part">(%e) (%y: tensor<8xf32>) {
    %t = math.tanh %y : tensor<8xf32>
    sdy.return %t : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %n : tensor<8xf32>
}

// -----

// Members of a group and operands of barriers get open annotations. Without a mesh nothing is split.

// CHECK-LABEL: func.func @tied
// CHECK: shard.shard %{{.*}} {shard.group = 7 : i64, shard.open_dimensions = array<i64: 0>} : tensor<8xf32>
// CHECK: shard.shard %{{.*}} annotate_for_users {shard.allowed_direction = "FORWARD", shard.open_dimensions = array<i64: 0>} : tensor<8xf32>
sdy.mesh @m = <["x"=2]>
func.func @tied(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=7 : tensor<8xf32>
  %b = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @without_mesh
// CHECK-NEXT: return %a
func.func @without_mesh(%a: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=7 : tensor<8xf32>
  %b = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<8xf32>
  return %b : tensor<8xf32>
}

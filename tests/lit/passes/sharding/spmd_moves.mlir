// RUN: mesh-opt %s --split-input-file --spmd | filecheck %s

// Rows are sorted whole: devices exchange them, once, in the type that they have.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @sort(
// CHECK-NOT: shard.all_gather
// CHECK: shard.all_to_all %{{.*}} on @mesh grid_axes = [1] split_axis = 0 concat_axis = 1 : tensor<8x16xf32> -> tensor<2x64xf32>
// CHECK-NOT: shard.all_
// CHECK: func.return
func.func @sort(%rows: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<8x64xf32> {
  %0 = "stablehlo.sort"(%rows) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// Long rows are merged in loops, which run on the parts that the rows were exchanged to.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @long_sort(
// CHECK-NOT: shard.all_gather
// CHECK: shard.all_to_all
// CHECK-NOT: shard.all_
// CHECK: scf.for {{.*}} -> (tensor<1x300xi64>)
// CHECK-NOT: shard.all_
// CHECK: func.return
func.func @long_sort(%rows: tensor<4x300xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<4x300xf32> {
  %0 = "stablehlo.sort"(%rows) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x300xf32>) -> tensor<4x300xf32>
  return %0 : tensor<4x300xf32>
}

// -----

// What is rotated is sent once, also where one of the two slices has fewer elements than there are
// devices.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @rotate(
// CHECK: shard.send {{.*}} : (tensor<3xf32>, index) -> tensor<3xf32>
// CHECK-NOT: shard.send
// CHECK-NOT: shard.all_gather
// CHECK: func.return
func.func @rotate(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<64xf32> {
  %0 = stablehlo.slice %a [61:64] : (tensor<64xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %a [0:61] : (tensor<64xf32>) -> tensor<61xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<61xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// So is a whole shard, which slices and the join would each move.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @rotate_shards(
// CHECK-NOT: shard.update_halo
// CHECK: shard.send {{.*}} : (tensor<3xf32>, index) -> tensor<3xf32>
// CHECK-NOT: shard.send
// CHECK-NOT: shard.all_gather
// CHECK: func.return
func.func @rotate_shards(%a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<12xf32> {
  %0 = stablehlo.slice %a [3:12] : (tensor<12xf32>) -> tensor<9xf32>
  %1 = stablehlo.slice %a [0:3] : (tensor<12xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<9xf32>, tensor<3xf32>) -> tensor<12xf32>
  return %2 : tensor<12xf32>
}

// -----

// By how much this one rotates is known at run time only: the tensor is gathered, not its copies.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @rotate_by(
// CHECK-NOT: shard.send
// CHECK: shard.all_gather {{.*}} : tensor<16xf32> -> tensor<64xf32>
// CHECK-NOT: shard.send
// CHECK-NOT: shard.all_gather
// CHECK: func.return
func.func @rotate_by(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %by: tensor<i32>) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %1 = stablehlo.dynamic_slice %0, %by, sizes = [64] : (tensor<128xf32>, tensor<i32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// The largest elements of a row are searched for in one copy of it, and read from that copy.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @top_k(
// CHECK: shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1 : tensor<3x64xf32> -> tensor<3x256xf32>
// CHECK-NOT: shard.all_
// CHECK: func.return
func.func @top_k(%rows: tensor<3x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<3x4xf32>, tensor<3x4xi32>) {
  %0:2 = chlo.top_k(%rows, k = 4) : tensor<3x256xf32> -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xi32>
}

// -----

// So are the first elements by a comparator.

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func private @before(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}
// CHECK-LABEL: func.func @approximate_top_k(
// CHECK: shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1 : tensor<3x64xf32> -> tensor<3x256xf32>
// CHECK-NOT: shard.all_
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @approximate_top_k(%rows: tensor<3x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<3x4xf32>, tensor<3x4xi32>) {
  %places = stablehlo.iota dim = 1 : tensor<3x256xi32>
  %last = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%rows, %places, %last, %none) {called_computations = [@before], mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 4 : i64}} : (tensor<3x256xf32>, tensor<3x256xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xi32>
}

// -----

// A split result does not split the loops of a sort: runs and merged numbers are never exchanged.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @split_sort(
// CHECK: shard.all_gather %{{.*}} on @mesh{{.*}} : tensor<128xf32> -> tensor<512xf32>
// CHECK-NOT: shard.all_gather
// CHECK: func.return
func.func @split_sort(%rows: tensor<512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = "stablehlo.sort"(%rows) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<512xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// -----

// Where only the first elements are kept, the others are not sent.

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @first_of_sort(
// CHECK: shard.all_gather %{{.*}} on @mesh{{.*}} : tensor<128xf32> -> tensor<512xf32>
// CHECK-NOT: shard.{{all_gather|send|all_reduce}}
// CHECK: func.return
func.func @first_of_sort(%rows: tensor<512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, tensor<100xi32>) {
  %0:2 = chlo.top_k(%rows, k = 100) : tensor<512xf32> -> (tensor<100xf32>, tensor<100xi32>)
  return %0#0, %0#1 : tensor<100xf32>, tensor<100xi32>
}

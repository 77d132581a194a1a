// RUN: mesh-opt %s --spmd | filecheck %s

shard.grid @g(shape = 2x4)

// A table that is split by rows is read where the rows are: zero for those of others, and a sum.

// CHECK-DAG: #map = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #map1 = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @f(%t: tensor<16x4xf32> {shard.boundary = {global_type = tensor<64x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}1], []]>}}, %i: tensor<4xindex> {shard.boundary = {global_type = tensor<8xindex>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0]]>}}) -> (tensor<4x4xf32> {shard.boundary = {global_type = tensor<8x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %0 = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT:  %proc_linear_idx = shard.process_multi_index on @g axes = [1] : index
// CHECK-NEXT:  %c16 = arith.constant 16 : index
// CHECK-NEXT:  %1 = arith.muli %proc_linear_idx, %c16 : index
// CHECK-NEXT:  %cst = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:  %c0 = arith.constant 0 : index
// CHECK-NEXT:  %r = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<4xindex>) outs(%0 : tensor<4x4xf32>) {
// CHECK-NEXT:  ^bb0(%a: index, %c: f32):
// CHECK-NEXT:  %j = linalg.index 1 : index
// CHECK-NEXT:  %2 = arith.subi %a, %1 : index
// CHECK-NEXT:  %3 = arith.cmpi ult, %2, %c16 : index
// CHECK-NEXT:  %4 = arith.select %3, %2, %c0 : index
// CHECK-NEXT:  %m = tensor.extract %t[%4, %j] : tensor<16x4xf32>
// CHECK-NEXT:  %m_1 = arith.select %3, %m, %cst : f32
// CHECK-NEXT:  linalg.yield %m_1 : f32
// CHECK-NEXT:  } -> tensor<4x4xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %r on @g grid_axes = [1] : tensor<4x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  %x = math.exp %all_reduce : tensor<4x4xf32>
// CHECK-NEXT:  func.return %x : tensor<4x4xf32>
func.func @f(%t: tensor<64x4xf32>, %i: tensor<8xindex>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %v = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %ts = shard.shard %t to %v annotate_for_users : tensor<64x4xf32>
  %is = shard.shard %i to %s annotate_for_users : tensor<8xindex>
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b)->(a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel","parallel"]} ins(%is : tensor<8xindex>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: index, %c: f32):
    %j = linalg.index 1 : index
    %m = tensor.extract %ts[%a, %j] : tensor<64x4xf32>
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %x = math.exp %r : tensor<8x4xf32>
  return %x : tensor<8x4xf32>
}

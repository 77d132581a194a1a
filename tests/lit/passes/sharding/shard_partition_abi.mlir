// RUN: mesh-opt %s --shard-partition='abi=global' | filecheck %s

shard.grid @g(shape = 2)

// A public function keeps its type: what it is given is sliced, and what it returns gathered.
// A private one takes and returns shards.

// CHECK-LABEL: func.func private @inner(%x: tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> (tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %y = math.exp %x : tensor<2x8xf32>
// CHECK-NEXT:  func.return %y : tensor<2x8xf32>
func.func private @inner(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<4x8xf32>
  %y = math.exp %x0 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @outer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:  %all_slice = shard.all_slice %x on @g grid_axes = [0] slice_axis = 0 : tensor<4x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:  %y = func.call @inner(%all_slice) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %y on @g grid_axes = [0] gather_axis = 0 : tensor<2x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:  func.return %all_gather : tensor<4x8xf32>
func.func @outer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<4x8xf32>
  %y = call @inner(%x0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

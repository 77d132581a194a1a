// RUN: mesh-opt %s --shard-partition --allow-unregistered-dialect | filecheck %s

shard.grid @g(shape = 2)

// An operation that nobody knows runs whole, with what its regions read.

// CHECK-LABEL: func.func @unknown(%x: tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> tensor<4x4xf32> {
// CHECK-NEXT:  %all_gather = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<2x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  %r = "other.op"(%all_gather) ({
// CHECK-NEXT:  ^bb0(%a: tensor<4x4xf32>):
// CHECK-NEXT:  "other.yield"(%all_gather, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
// CHECK-NEXT:  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:  func.return %r : tensor<4x4xf32>
func.func @unknown(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %z = shard.shard %x to %s : tensor<4x4xf32>
  %r = "other.op"(%z) ({
  ^bb0(%a: tensor<4x4xf32>):
    %q = shard.shard %z to %s : tensor<4x4xf32>
    "other.yield"(%q, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Blocks that control does not reach are dropped.

// CHECK-LABEL: func.func @blocks(%x: tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %p: i1) -> (tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  cf.br ^bb1(%x : tensor<2x4xf32>)
// CHECK-NEXT:  ^bb1(%y: tensor<2x4xf32>):
// CHECK-NEXT:  %w = math.exp %y : tensor<2x4xf32>
// CHECK-NEXT:  cf.cond_br %p, ^bb1(%w : tensor<2x4xf32>), ^bb2
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:  func.return %w : tensor<2x4xf32>
func.func @blocks(%x: tensor<4x4xf32>, %p: i1) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %z = shard.shard %x to %s : tensor<4x4xf32>
  cf.br ^a(%z : tensor<4x4xf32>)
^a(%y: tensor<4x4xf32>):
  %y0 = shard.shard %y to %s annotate_for_users : tensor<4x4xf32>
  %w = math.exp %y0 : tensor<4x4xf32>
  cf.cond_br %p, ^a(%w : tensor<4x4xf32>), ^b
^b:
  return %w : tensor<4x4xf32>
^dead:
  return %z : tensor<4x4xf32>
}

// A function need not return.

// CHECK-LABEL: func.func @no_return(%x: tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %all_gather = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<2x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  "other.exit"(%all_gather) : (tensor<4x4xf32>) -> ()
func.func @no_return(%x: tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %z = shard.shard %x to %s : tensor<4x4xf32>
  "other.exit"(%z) : (tensor<4x4xf32>) -> ()
}

// A dimension that a tensor does not have is left for the program to fail at.

// CHECK-LABEL: func.func @no_such_dimension
// CHECK:       %d = tensor.dim %{{.*}}, %{{.*}} : tensor<?x8xf32>
// CHECK-NEXT:  tensor.empty(%d) : tensor<?x4xf32>
func.func @no_such_dimension(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %z = shard.shard %x to %s : tensor<?x8xf32>
  %c2 = arith.constant 2 : index
  %d = tensor.dim %z, %c2 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %y = shard.shard %e to %s : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

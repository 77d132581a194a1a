// RUN: mesh-opt %s --shard-partition --split-input-file --verify-diagnostics

shard.grid @two(shape = 2)
shard.grid @three(shape = 3)

func.func @grids(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %a = shard.sharding @two split_axes = [[0]] : !shard.sharding
  %b = shard.sharding @three split_axes = [[0]] : !shard.sharding
  // expected-error@+1 {{'shard.shard' op is on grid @two but needed on grid @three: expected grids with the same number of devices}}
  %x0 = shard.shard %x to %a : tensor<6x4xf32>
  %y = math.absf %x0 : tensor<6x4xf32>
  %y0 = shard.shard %y to %b : tensor<6x4xf32>
  return %y0 : tensor<6x4xf32>
}

// -----

shard.grid @g(shape = 2)

func.func @offsets(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %a = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 5] : !shard.sharding
  // expected-error@+1 {{'shard.shard' op offsets of dimension 0 end at 5, expected its size, 6}}
  %x0 = shard.shard %x to %a : tensor<6x4xf32>
  return %x0 : tensor<6x4xf32>
}

// -----

shard.grid @g(shape = 2)

// expected-error@+1 {{'func.func' op has a sharding as a block argument, expected a shard.sharding}}
func.func @loose(%x: tensor<6x4xf32>, %a: !shard.sharding) -> tensor<6x4xf32> {
  %x0 = shard.shard %x to %a : tensor<6x4xf32>
  return %x0 : tensor<6x4xf32>
}

// -----

shard.grid @g(shape = 2)

func.func @half_done(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows : tensor<4x4xf32>
  // expected-error@+1 {{'shard.all_reduce' op belongs to the program of one device, but the enclosing function still has annotations}}
  %y = shard.all_reduce %x0 on @g grid_axes = [0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

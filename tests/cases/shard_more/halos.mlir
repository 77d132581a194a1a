// Halo widening, then narrowed, then dropped.
// Collectives: none.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 2] : !shard.sharding
  %h2 = shard.sharding @g split_axes = [[0]] halo_sizes = [0, 1] : !shard.sharding
  %a = shard.shard %x to %s : tensor<16x4xf32>
  %b = shard.shard %a to %h annotate_for_users : tensor<16x4xf32>
  %c = shard.shard %b to %h2 : tensor<16x4xf32>
  %d = shard.shard %c to %s annotate_for_users : tensor<16x4xf32>
  return %d : tensor<16x4xf32>
}

// -----

// Halo as result boundary.
// Collectives: 1 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 2] : !shard.sharding
  %a = shard.shard %x to %s : tensor<16x4xf32>
  %b = shard.shard %a to %h annotate_for_users : tensor<16x4xf32>
  return %b : tensor<16x4xf32>
}

// -----

// Halo to replicated, and to other dim.
// Collectives: 2 all_gather, 2 all_to_all, 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %h = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [1, 2, 0, 1] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0, 1]] : !shard.sharding
  %a = shard.shard %x to %h : tensor<8x8xf32>
  %b = shard.shard %a to %r annotate_for_users : tensor<8x8xf32>
  %c = shard.shard %a to %t annotate_for_users : tensor<8x8xf32>
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %n = tosa.negate %c, %zp, %zp : (tensor<8x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x8xf32>
  return %b, %n : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Halo kept through an elementwise op.
// Collectives: none.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %a = shard.shard %x to %h annotate_for_users : tensor<16x4xf32>
  %y = tosa.tanh %a : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %b = shard.shard %y to %h : tensor<16x4xf32>
  %z = tosa.abs %b : (tensor<16x4xf32>) -> tensor<16x4xf32>
  return %z : tensor<16x4xf32>
}

// -----

// Two dimensional halos on uneven sizes.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<7x9xf32>) -> tensor<7x9xf32> {
  %h = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [1, 1, 2, 0] : !shard.sharding
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<7x9xf32>
  %b = math.absf %a : tensor<7x9xf32>
  %c = shard.shard %b to %s : tensor<7x9xf32>
  %d = shard.shard %c to %h annotate_for_users : tensor<7x9xf32>
  return %d : tensor<7x9xf32>
}

// -----

// Conv_1d on a halo-annotated input.
// Collectives: 1 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<18xf32>, %k: tensor<3xf32>) -> tensor<16xf32> {
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [0, 2] : !shard.sharding
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<18xf32>
  %xh = shard.shard %xs to %h annotate_for_users : tensor<18xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %o = linalg.conv_1d ins(%xh, %k : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  return %o : tensor<16xf32>
}

// -----

// Change of halo sizes both larger and smaller.
// Collectives: 2 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [2, 0] : !shard.sharding
  %k = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 2] : !shard.sharding
  %a = shard.shard %x to %h : tensor<16x4xf32>
  %b = shard.shard %a to %k annotate_for_users : tensor<16x4xf32>
  return %b : tensor<16x4xf32>
}

// -----

// Halo plus another split axis, then reshard that axis.
// Collectives: 1 all_slice, 2 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %k = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [1, 1, 0, 2] : !shard.sharding
  %a = shard.shard %x to %h : tensor<8x8xf32>
  %b = shard.shard %a to %k annotate_for_users : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// Halo split over two axes.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %s = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %k = shard.sharding @g split_axes = [[0, 1]] halo_sizes = [2, 3] : !shard.sharding
  %a = shard.shard %x to %s : tensor<16xf32>
  %b = shard.shard %a to %k annotate_for_users : tensor<16xf32>
  return %b : tensor<16xf32>
}

// -----

// Halo annotation written on the result of matmul.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %sa = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %as = shard.shard %a to %sa annotate_for_users : tensor<4x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = linalg.matmul ins(%as, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %os = shard.shard %o to %h : tensor<4x8xf32>
  %t = math.tanh %os : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// -----

// Halo of a constant and of a fill.
// Collectives: 1 all_slice, 1 update_halo.
shard.grid @g(shape = 2)
func.func @f() -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %h = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %c = arith.constant dense<[[1.0,2.0],[3.0,4.0],[5.0,6.0],[7.0,8.0]]> : tensor<4x2xf32>
  %z = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %a = shard.shard %c to %h annotate_for_users : tensor<4x2xf32>
  %b = shard.shard %f to %h annotate_for_users : tensor<4x2xf32>
  return %a, %b : tensor<4x2xf32>, tensor<4x2xf32>
}

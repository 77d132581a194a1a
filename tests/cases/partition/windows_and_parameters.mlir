shard.grid @g(shape = 2x2)
func.func @dynamic_window(%x: tensor<?x3xf32>, %w: tensor<2xf32>) -> tensor<?x3xf32> {
  %s = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x3xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %m = arith.subi %n, %c1 : index
  %z = arith.constant 0.5 : f32
  %e = tensor.empty(%m) : tensor<?x3xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i+k,j)>, affine_map<(i,j,k)->(k)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} ins(%xs, %w : tensor<?x3xf32>, tensor<2xf32>) outs(%f : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<?x3xf32>
  %rs = shard.shard %r to %s : tensor<?x3xf32>
  return %rs : tensor<?x3xf32>
}
func.func @reversed_window(%x: tensor<8x3xf32>, %w: tensor<3xf32>, %o: tensor<6x3xf32>) -> tensor<6x3xf32> {
  %s = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i-k+2,j)>, affine_map<(i,j,k)->(k)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} ins(%xs, %w : tensor<8x3xf32>, tensor<3xf32>) outs(%o : tensor<6x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x3xf32>
  %rs = shard.shard %r to %s : tensor<6x3xf32>
  return %rs : tensor<6x3xf32>
}
func.func @tosa_conv(%x: tensor<2x6x6x4xf32>, %w: tensor<4x3x3x4xf32>, %b: tensor<4xf32>, %z: tensor<1xf32>) -> tensor<2x4x4x4xf32> {
  %s = shard.sharding @g split_axes = [[0], [], [], [1]] : !shard.sharding
  %c = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 0,0,0,0>, stride = array<i64: 1,1>, dilation = array<i64: 1,1>} : (tensor<2x6x6x4xf32>, tensor<4x3x3x4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4x4xf32>
  %cs = shard.shard %c to %s : tensor<2x4x4x4xf32>
  return %cs : tensor<2x4x4x4xf32>
}
func.func @two_reductions(%x: tensor<4x8x6xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[], [0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8x6xf32>
  %r = linalg.reduce { arith.addf } ins(%xs : tensor<4x8x6xf32>) outs(%o : tensor<4xf32>) dimensions = [1, 2]
  return %r : tensor<4xf32>
}
func.func @pack(%x: tensor<8x6xf32>) -> tensor<4x6x2xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x6xf32>
  %e = tensor.empty() : tensor<4x6x2xf32>
  %p = linalg.pack %xs inner_dims_pos = [0] inner_tiles = [2] into %e : tensor<8x6xf32> -> tensor<4x6x2xf32>
  return %p : tensor<4x6x2xf32>
}
func.func @halo_result(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %h = shard.sharding @g split_axes = [[], [0]] halo_sizes = [1, 2] : !shard.sharding
  %k = shard.sharding @g split_axes = [[1], [0]] halo_sizes = [2, 0, 1, 1] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<8x16xf32>
  %xh = shard.shard %xs to %h annotate_for_users : tensor<8x16xf32>
  %y = math.absf %xh : tensor<8x16xf32>
  %yk = shard.shard %y to %k annotate_for_users : tensor<8x16xf32>
  return %xh, %yk : tensor<8x16xf32>, tensor<8x16xf32>
}
func.func @forall(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %row = tensor.extract_slice %xs[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %a = math.absf %row : tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return %r : tensor<4x8xf32>
}
func.func @rescaled(%x: tensor<4x8xi32>, %m: tensor<8xi32>) -> tensor<4x8xi8> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xi32>
  %mul = "tosa.const"() <{values = dense<[1073741824, 1073741825, 1073741826, 1073741827, 1273741824, 1073741924, 1074741824, 1073941824]> : tensor<8xi32>}> : () -> tensor<8xi32>
  %sh = "tosa.const"() <{values = dense<[29,30,31,30,29,30,31,30]> : tensor<8xi8>}> : () -> tensor<8xi8>
  %z0 = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %z1 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r = tosa.rescale %xs, %mul, %sh, %z0, %z1 {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<4x8xi32>, tensor<8xi32>, tensor<8xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4x8xi8>
  return %r : tensor<4x8xi8>
}

// Tosa reduce/transpose/reshape/concat.
// Collectives: 1 all_gather, 1 all_reduce, 2 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8x1xf32>, tensor<16x2xf32>, tensor<8x8xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %t = tosa.transpose %xs {perms = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = tosa.reduce_sum %t {axis = 1 : i32} : (tensor<8x4xf32>) -> tensor<8x1xf32>
  %sh = tosa.const_shape {values = dense<[16, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %q = tosa.reshape %xs, %sh : (tensor<4x8xf32>, !tosa.shape<2>) -> tensor<16x2xf32>
  %c = tosa.concat %xs, %y {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %r, %q, %c : tensor<8x1xf32>, tensor<16x2xf32>, tensor<8x8xf32>
}

// -----

// Tosa conv2d and pooling.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<2x8x8x4xf32>, %w: tensor<6x3x3x4xf32>, %b: tensor<6xf32>) -> (tensor<2x8x8x6xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x8x8x4xf32>
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %c = tosa.conv2d %xs, %w, %b, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<2x8x8x4xf32>, tensor<6x3x3x4xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x8x8x6xf32>
  %m = tosa.max_pool2d %xs {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32>
  %a = tosa.avg_pool2d %xs, %zp, %zp {acc_type = f32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x8x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4x4xf32>
  return %c, %m, %a : tensor<2x8x8x6xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>
}

// -----

// Pooling nchw.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<2x4x8x8xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x6x6xf32>) {
  %s = shard.sharding @g split_axes = [[0], [], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x4x8x8xf32>
  %z = arith.constant 0xFF800000 : f32
  %z0 = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %o = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%xs, %w : tensor<2x4x8x8xf32>, tensor<2x2xf32>) outs(%f : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %w3 = tensor.empty() : tensor<3x3xf32>
  %e2 = tensor.empty() : tensor<2x4x6x6xf32>
  %f2 = linalg.fill ins(%z0 : f32) outs(%e2 : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o2 = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%xs, %w3 : tensor<2x4x8x8xf32>, tensor<3x3xf32>) outs(%f2 : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %o, %o2 : tensor<2x4x4x4xf32>, tensor<2x4x6x6xf32>
}

// -----

// Depthwise conv, channels split, and nhwc pooling.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<2x6x6x4xf32>, %k: tensor<3x3x4xf32>) -> tensor<2x4x4x4xf32> {
  %s = shard.sharding @g split_axes = [[0], [], [], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x6x6x4xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %o = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%xs, %k : tensor<2x6x6x4xf32>, tensor<3x3x4xf32>) outs(%f : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %o : tensor<2x4x4x4xf32>
}

// -----

// Depthwise multiplier, grouped conv, dilated.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x2xf32>, %y: tensor<2x2x3x8x8xf32>, %w: tensor<2x4x3x3x3xf32>) -> (tensor<2x5x5x4x2xf32>, tensor<2x2x4x6x6xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x9x9x4xf32>
  %ys = shard.shard %y to %s annotate_for_users : tensor<2x2x3x8x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5x4x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x4x2xf32>) -> tensor<2x5x5x4x2xf32>
  %o = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<2> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%xs, %k : tensor<2x9x9x4xf32>, tensor<3x3x4x2xf32>) outs(%f : tensor<2x5x5x4x2xf32>) -> tensor<2x5x5x4x2xf32>
  %e2 = tensor.empty() : tensor<2x2x4x6x6xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<2x2x4x6x6xf32>) -> tensor<2x2x4x6x6xf32>
  %o2 = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%ys, %w : tensor<2x2x3x8x8xf32>, tensor<2x4x3x3x3xf32>) outs(%f2 : tensor<2x2x4x6x6xf32>) -> tensor<2x2x4x6x6xf32>
  return %o, %o2 : tensor<2x5x5x4x2xf32>, tensor<2x2x4x6x6xf32>
}

// -----

// More of tosa.
// Collectives: 1 send.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<2x8x4xf32>, %w: tensor<2x4x6xf32>) -> (tensor<2x8x6xf32>, tensor<4x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x2xf32>, tensor<2x8xi32>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x8x4xf32>
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.matmul %xs, %w, %zp, %zp : (tensor<2x8x4xf32>, tensor<2x4x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x8x6xf32>
  %mu = tosa.const_shape {values = dense<[2, 1, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %t = tosa.tile %xs, %mu : (tensor<2x8x4xf32>, !tosa.shape<3>) -> tensor<4x8x4xf32>
  %rv = tosa.reverse %xs {axis = 1 : i32} : (tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %st = tosa.const_shape {values = dense<[0, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sz = tosa.const_shape {values = dense<[2, 4, 2]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sl = tosa.slice %xs, %st, %sz : (tensor<2x8x4xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<2x4x2xf32>
  %am = tosa.argmax %xs {axis = 2 : i32} : (tensor<2x8x4xf32>) -> tensor<2x8xi32>
  return %m, %t, %rv, %sl, %am : tensor<2x8x6xf32>, tensor<4x8x4xf32>, tensor<2x8x4xf32>, tensor<2x4x2xf32>, tensor<2x8xi32>
}

// -----

// Convolutions of one and three dimensions, an uneven batch.
// Collectives: 1 update_halo.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<3x2x9xf32>, %w: tensor<4x2x3xf32>, %y: tensor<1x6x6x6x2xf32>, %v: tensor<3x3x3x2x3xf32>) -> (tensor<3x4x4xf32>, tensor<1x4x4x4x3xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<3x2x9xf32>
  %ys = shard.shard %y to %t annotate_for_users : tensor<1x6x6x6x2xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %o = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%xs, %w : tensor<3x2x9xf32>, tensor<4x2x3xf32>) outs(%f : tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %e2 = tensor.empty() : tensor<1x4x4x4x3xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
  %o2 = linalg.conv_3d_ndhwc_dhwcf {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%ys, %v : tensor<1x6x6x6x2xf32>, tensor<3x3x3x2x3xf32>) outs(%f2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
  return %o, %o2 : tensor<3x4x4xf32>, tensor<1x4x4x4x3xf32>
}

// -----

// Attention with heads and queries split; a product of floats whose shift nobody reads.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%q: tensor<4x6x8xf32>, %k: tensor<4x6x8xf32>, %v: tensor<4x6x8xf32>) -> tensor<4x6x8xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %qs = shard.shard %q to %s annotate_for_users : tensor<4x6x8xf32>
  %kt = tosa.transpose %k {perms = array<i32: 0, 2, 1>} : (tensor<4x6x8xf32>) -> tensor<4x8x6xf32>
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %sc = tosa.matmul %qs, %kt, %zp, %zp : (tensor<4x6x8xf32>, tensor<4x8x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x6x6xf32>
  %m = tosa.reduce_max %sc {axis = 2 : i32} : (tensor<4x6x6xf32>) -> tensor<4x6x1xf32>
  %d = tosa.sub %sc, %m : (tensor<4x6x6xf32>, tensor<4x6x1xf32>) -> tensor<4x6x6xf32>
  %e = tosa.exp %d : (tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  %sm = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<4x6x6xf32>) -> tensor<4x6x1xf32>
  %r = tosa.reciprocal %sm : (tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %sh = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %p = tosa.mul %e, %r, %sh : (tensor<4x6x6xf32>, tensor<4x6x1xf32>, tensor<1xi8>) -> tensor<4x6x6xf32>
  %o = tosa.matmul %p, %v, %zp, %zp : (tensor<4x6x6xf32>, tensor<4x6x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x6x8xf32>
  return %o : tensor<4x6x8xf32>
}

// -----

// A variable is whole on each device, what is added to it is split.
// Collectives: 1 all_gather, 1 all_slice.
shard.grid @g(shape = 4)
tosa.variable @state = dense<7.0> : tensor<8x4xf32>
func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x4xf32>
  %v = tosa.variable_read @state : tensor<8x4xf32>
  %r = tosa.add %v, %a : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  tosa.variable_write @state, %r : tensor<8x4xf32>
  %w = tosa.variable_read @state : tensor<8x4xf32>
  return %w : tensor<8x4xf32>
}

// -----

// A loop of tosa is split; its condition is the same on each device.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 4)
func.func @f(%n: tensor<i32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x4xf32>
  %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %m, %r = tosa.while_loop (%i = %n, %y = %a) : (tensor<i32>, tensor<8x4xf32>) -> (tensor<i32>, tensor<8x4xf32>) {
    %more = tosa.greater %one, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %y: tensor<8x4xf32>):
    %j = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %t = tosa.reduce_sum %y {axis = 0 : i32} : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %z = tosa.sub %y, %t : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
    tosa.yield %j, %z : tensor<i32>, tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}

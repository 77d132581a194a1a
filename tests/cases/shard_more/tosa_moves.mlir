// Slices, padding and reversals of tosa along split dimensions.
// Collectives: 2 send, 2 update_halo.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x6xi32>) -> (tensor<6x4xi32>, tensor<11x8xi32>, tensor<8x6xi32>, tensor<8x6xi32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x6xi32>
  %b = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %n = tosa.const_shape {values = dense<[6, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %sl = tosa.slice %xs, %b, %n : (tensor<8x6xi32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<6x4xi32>
  %p = tosa.const_shape {values = dense<[1, 2, 0, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() {values = dense<7> : tensor<1xi32>} : () -> tensor<1xi32>
  %pd = tosa.pad %xs, %p, %v : (tensor<8x6xi32>, !tosa.shape<4>, tensor<1xi32>) -> tensor<11x8xi32>
  %r0 = tosa.reverse %xs {axis = 0 : i32} : (tensor<8x6xi32>) -> tensor<8x6xi32>
  %r1 = tosa.reverse %xs {axis = 1 : i32} : (tensor<8x6xi32>) -> tensor<8x6xi32>
  return %sl, %pd, %r0, %r1 : tensor<6x4xi32>, tensor<11x8xi32>, tensor<8x6xi32>, tensor<8x6xi32>
}

// -----

// The same of nine columns on four processes.
// Collectives: 1 all_gather, 3 send.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<2x9xf32>) -> (tensor<2x5xf32>, tensor<3x14xf32>, tensor<2x9xf32>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<2x9xf32>
  %b = tosa.const_shape {values = dense<[0, 3]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %n = tosa.const_shape {values = dense<[2, 5]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %sl = tosa.slice %xs, %b, %n : (tensor<2x9xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x5xf32>
  %p = tosa.const_shape {values = dense<[1, 0, 5, 0]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() {values = dense<0.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %pd = tosa.pad %xs, %p, %v : (tensor<2x9xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<3x14xf32>
  %r1 = tosa.reverse %xs {axis = 1 : i32} : (tensor<2x9xf32>) -> tensor<2x9xf32>
  return %sl, %pd, %r1 : tensor<2x5xf32>, tensor<3x14xf32>, tensor<2x9xf32>
}

// -----

// An unknown number of rows.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x9xf32>, tensor<?x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x8xf32>
  %p = tosa.const_shape {values = dense<[0, 0, 1, 0]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() {values = dense<0.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %pd = tosa.pad %xs, %p, %v : (tensor<?x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<?x9xf32>
  %sl = tensor.extract_slice %xs[0, 2] [4, 4] [1, 1] : tensor<?x8xf32> to tensor<4x4xf32>
  %sc = tensor.cast %sl : tensor<4x4xf32> to tensor<?x4xf32>
  %r0 = tosa.reverse %xs {axis = 0 : i32} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %sc, %pd, %r0 : tensor<?x4xf32>, tensor<?x9xf32>, tensor<?x8xf32>
}

// -----

// What moves, cuts and looks up elements, of seven rows on two processes.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<7x4xf32>, %ix: tensor<7x3xi32>, %b: tensor<7x4x2xf32>, %w: tensor<7x2x3xf32>) -> (tensor<7x8xf32>, tensor<4x7xf32>, tensor<7x4xf32>, tensor<7xi32>, tensor<7x1xf32>, tensor<7x2x2xf32>, tensor<7x3x2xf32>, tensor<7x4x3xf32>, tensor<7x8xf32>, tensor<7x6xf32>, tensor<7x2xf32>, tensor<7x4xi32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<7x4xf32>
  %bs = shard.shard %b to %s annotate_for_users : tensor<7x4x2xf32>
  %m = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %t = tosa.tile %xs, %m : (tensor<7x4xf32>, !tosa.shape<2>) -> tensor<7x8xf32>
  %tr = tosa.transpose %xs {perms = array<i32: 1, 0>} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %rv = tosa.reverse %xs {axis = 1 : i32} : (tensor<7x4xf32>) -> tensor<7x4xf32>
  %am = tosa.argmax %xs {axis = 1 : i32} : (tensor<7x4xf32>) -> tensor<7xi32>
  %rs = tosa.reduce_sum %xs {axis = 1 : i32} : (tensor<7x4xf32>) -> tensor<7x1xf32>
  %sh = tosa.const_shape {values = dense<[7, 2, 2]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %rh = tosa.reshape %xs, %sh : (tensor<7x4xf32>, !tosa.shape<3>) -> tensor<7x2x2xf32>
  %im = "tosa.const"() {values = dense<3> : tensor<7x3xi32>} : () -> tensor<7x3xi32>
  %i3 = tosa.minimum %ix, %im : (tensor<7x3xi32>, tensor<7x3xi32>) -> tensor<7x3xi32>
  %i0 = "tosa.const"() {values = dense<0> : tensor<7x3xi32>} : () -> tensor<7x3xi32>
  %i4 = tosa.maximum %i3, %i0 : (tensor<7x3xi32>, tensor<7x3xi32>) -> tensor<7x3xi32>
  %ga = tosa.gather %bs, %i4 : (tensor<7x4x2xf32>, tensor<7x3xi32>) -> tensor<7x3x2xf32>
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %mm = tosa.matmul %bs, %w, %zp, %zp : (tensor<7x4x2xf32>, tensor<7x2x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<7x4x3xf32>
  %co = tosa.concat %xs, %xs {axis = 1 : i32} : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x8xf32>
  %p = tosa.const_shape {values = dense<[0, 0, 1, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %pd = tosa.pad %xs, %p, %zp : (tensor<7x4xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<7x6xf32>
  %st = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %sz = tosa.const_shape {values = dense<[7, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %sl = tosa.slice %xs, %st, %sz : (tensor<7x4xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<7x2xf32>
  %ca = tosa.cast %xs : (tensor<7x4xf32>) -> tensor<7x4xi32>
  return %t, %tr, %rv, %am, %rs, %rh, %ga, %mm, %co, %pd, %sl, %ca : tensor<7x8xf32>, tensor<4x7xf32>, tensor<7x4xf32>, tensor<7xi32>, tensor<7x1xf32>, tensor<7x2x2xf32>, tensor<7x3x2xf32>, tensor<7x4x3xf32>, tensor<7x8xf32>, tensor<7x6xf32>, tensor<7x2xf32>, tensor<7x4xi32>
}

// -----

// The same of an unknown number of rows.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x4xf32>, %b: tensor<?x4x2xf32>, %y: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<?xi32>, tensor<?x2x2xf32>, tensor<?x4x2xf32>, tensor<?x8xf32>, tensor<?x6xf32>, tensor<?x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x4xf32>
  %bs = shard.shard %b to %s annotate_for_users : tensor<?x4x2xf32>
  %m = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %t = tosa.tile %xs, %m : (tensor<?x4xf32>, !tosa.shape<2>) -> tensor<?x8xf32>
  %am = tosa.argmax %xs {axis = 1 : i32} : (tensor<?x4xf32>) -> tensor<?xi32>
  %sh = tosa.const_shape {values = dense<[-1, 2, 2]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %rh = tosa.reshape %xs, %sh : (tensor<?x4xf32>, !tosa.shape<3>) -> tensor<?x2x2xf32>
  %rr = tosa.argmax %bs {axis = 2 : i32} : (tensor<?x4x2xf32>) -> tensor<?x4xi32>
  %ga = tosa.gather %bs, %rr : (tensor<?x4x2xf32>, tensor<?x4xi32>) -> tensor<?x4x2xf32>
  %co = tosa.concat %xs, %xs {axis = 1 : i32} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %p = tosa.const_shape {values = dense<[0, 0, 1, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %pd = tosa.pad %xs, %p, %zp : (tensor<?x4xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<?x6xf32>
  %c2 = tosa.concat %xs, %y {axis = 0 : i32} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %t, %am, %rh, %ga, %co, %pd, %c2 : tensor<?x8xf32>, tensor<?xi32>, tensor<?x2x2xf32>, tensor<?x4x2xf32>, tensor<?x8xf32>, tensor<?x6xf32>, tensor<?x4xf32>
}

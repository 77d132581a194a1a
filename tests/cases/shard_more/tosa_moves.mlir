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

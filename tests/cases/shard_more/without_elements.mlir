// A dimension without elements: nothing can be sliced at its offset 0, and sums of nothing are sent to nobody.
// Collectives: none.
shard.grid @g(shape = 4)
func.func @rows(%x: tensor<6x0xf32>) -> tensor<6x0xf32> {
  %s = shard.sharding @g split_axes = [[]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<6x0xf32>
  %b = shard.shard %a to %t annotate_for_users : tensor<6x0xf32>
  return %b : tensor<6x0xf32>
}
func.func @moved(%x: tensor<8x0xf32>) -> (tensor<6x0xf32>, tensor<12x0xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x0xf32>
  %zero = arith.constant 0 : index
  %e = tensor.extract_slice %a[1, %zero] [6, 0] [1, 1] : tensor<8x0xf32> to tensor<6x0xf32>
  %b = shard.shard %e to %s : tensor<6x0xf32>
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %a low[2, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<8x0xf32> to tensor<12x0xf32>
  return %b, %p : tensor<6x0xf32>, tensor<12x0xf32>
}
func.func @written(%x: tensor<6x0xf32>, %y: tensor<2x0xf32>) -> tensor<6x0xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<6x0xf32>
  %zero = arith.constant 0 : index
  %c = tensor.insert_slice %y into %a[1, %zero] [2, 0] [1, 1] : tensor<2x0xf32> into tensor<6x0xf32>
  %r = shard.shard %c to %s annotate_for_users : tensor<6x0xf32>
  return %r : tensor<6x0xf32>
}
func.func @summed(%x: tensor<0x8xf32>) -> tensor<0xf32> {
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %b = shard.shard %x to %t : tensor<0x8xf32>
  %c = arith.constant dense<0.0> : tensor<0xf32>
  %r = linalg.reduce ins(%b : tensor<0x8xf32>) outs(%c : tensor<0xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %q = arith.addf %in, %out : f32
      linalg.yield %q : f32
    }
  return %r : tensor<0xf32>
}

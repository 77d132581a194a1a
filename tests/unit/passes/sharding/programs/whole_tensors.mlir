shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %i: tensor<2xindex>, %k: index) -> (tensor<4x4xf32>, f32, tensor<8x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x4xf32>
  %a = math.tanh %xs : tensor<4x4xf32>
  %e = tensor.extract %a[%k, %k] : tensor<4x4xf32>
  %c = tensor.concat dim(0) %a, %xs : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %q = tensor.insert %e into %a[%k, %k] : tensor<4x4xf32>
  return %q, %e, %c : tensor<4x4xf32>, f32, tensor<8x4xf32>
}

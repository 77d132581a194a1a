shard.grid @g(shape = 2x4)
func.func @f(%t: tensor<64x4xf32>, %i: tensor<8xindex>) -> tensor<8x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %v = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %ts = shard.shard %t to %v annotate_for_users : tensor<64x4xf32>
  %is = shard.shard %i to %s annotate_for_users : tensor<8xindex>
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b)->(a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel","parallel"]} ins(%is : tensor<8xindex>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: index, %c: f32):
    %j = linalg.index 1 : index
    %m = tensor.extract %ts[%a, %j] : tensor<64x4xf32>
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %x = math.exp %r : tensor<8x4xf32>
  return %x : tensor<8x4xf32>
}

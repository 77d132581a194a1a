// Captured table in generic (embedding), table split by columns.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%t: tensor<4x8xf32>, %ids: tensor<6xindex>) -> tensor<6x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %u = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %ts = shard.shard %t to %s annotate_for_users : tensor<4x8xf32>
  %is = shard.shard %ids to %u annotate_for_users : tensor<6xindex>
  %e = tensor.empty() : tensor<6x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%is : tensor<6xindex>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%i: index, %b: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %ts[%i, %j] : tensor<4x8xf32>
    linalg.yield %v : f32
  } -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// -----

// Tensor.gather.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%t: tensor<4x8xf32>, %ids: tensor<6x1xindex>) -> tensor<6x1x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %is = shard.shard %ids to %s annotate_for_users : tensor<6x1xindex>
  %r = tensor.gather %t[%is] gather_dims([0]) : (tensor<4x8xf32>, tensor<6x1xindex>) -> tensor<6x1x8xf32>
  return %r : tensor<6x1x8xf32>
}

// -----

// A table split by rows and columns: columns as the loop over them, rows summed.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2x2)
func.func @f(%t: tensor<16x4xf32>, %ids: tensor<4xindex>) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %ts = shard.shard %t to %s annotate_for_users : tensor<16x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xindex>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: index, %b: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %ts[%i, %j] : tensor<16x4xf32>
    linalg.yield %v : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// Indices that the body reads, too, split with the batch.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%t: tensor<4x4xf32>, %ids: tensor<6xindex>) -> tensor<6x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %c = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %is = shard.shard %ids to %s annotate_for_users : tensor<6xindex>
  %ts = shard.shard %t to %c annotate_for_users : tensor<4x4xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x4xf32>) {
  ^bb0(%b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = tensor.extract %is[%i] : tensor<6xindex>
    %v = tensor.extract %ts[%k, %j] : tensor<4x4xf32>
    linalg.yield %v : f32
  } -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// -----

// A diagonal: both dimensions are read along one loop, and one of them is split like it.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%t: tensor<6x8xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>], iterator_types = ["parallel"]} outs(%e : tensor<6xf32>) {
  ^bb0(%b: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %t[%i, %i] : tensor<6x8xf32>
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %q = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %a = shard.shard %r to %q : tensor<6xf32>
  return %a : tensor<6xf32>
}

// -----

// A diagonal: the rows or the columns of the table are read along the loop, not both.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<4x6xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %a[%i, %i] : tensor<4x6xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %t = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %y = shard.shard %r to %t : tensor<4xf32>
  return %y : tensor<4xf32>
}

shard.grid @g(shape = 2)
shard.grid @h(shape = 2x1)
func.func @f(%x: tensor<?x4xf32>, %y: tensor<7x4xf32>, %t: tensor<8x3xf32>) -> (tensor<?x4xf32>, tensor<7x4xf32>, index, tensor<7x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %q = shard.sharding @h split_axes = [[], [0, 1]] : !shard.sharding
  %p = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%d) : tensor<?x4xf32>
  %a = linalg.exp ins(%xs : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %b = linalg.add ins(%a, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %bp = shard.shard %b to %p annotate_for_users : tensor<?x4xf32>
  %ys = shard.shard %y to %s annotate_for_users : tensor<7x4xf32>
  %y2 = math.absf %ys : tensor<7x4xf32>
  %yq = shard.shard %y2 to %q annotate_for_users : tensor<7x4xf32>
  %y3 = math.sqrt %yq : tensor<7x4xf32>
  %g = tensor.generate %d {
  ^bb0(%i: index, %j: index):
    %k = arith.addi %i, %j : index
    %l = arith.index_cast %k : index to i32
    %m = arith.sitofp %l : i32 to f32
    tensor.yield %m : f32
  } : tensor<?x4xf32>
  %gs = shard.shard %g to %s annotate_for_users : tensor<?x4xf32>
  %b2 = linalg.add ins(%bp, %gs : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %pt = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %ts = shard.shard %t to %s annotate_for_users : tensor<8x3xf32>
  %z = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<8x8xf32>
  %f3 = linalg.fill ins(%z : f32) outs(%e3 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %tt = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>] ins(%ts, %t : tensor<8x3xf32>, tensor<8x3xf32>) outs(%f3 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %ttp = shard.shard %tt to %s annotate_for_users : tensor<8x8xf32>
  %e4 = tensor.empty() : tensor<4x4xf32>
  %f4 = linalg.fill ins(%z : f32) outs(%e4 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %win = tensor.empty() : tensor<2x2xf32>
  %po = linalg.generic {indexing_maps = [affine_map<(a,b,i,j)->(a*2+i,b*2+j)>, affine_map<(a,b,i,j)->(i,j)>, affine_map<(a,b,i,j)->(a,b)>], iterator_types = ["parallel","parallel","reduction","reduction"]} ins(%ttp, %win : tensor<8x8xf32>, tensor<2x2xf32>) outs(%f4 : tensor<4x4xf32>) {
  ^bb0(%a1: f32, %w1: f32, %o1: f32):
     %r = arith.maximumf %a1, %o1 : f32
     linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %pos = shard.shard %po to %s : tensor<4x4xf32>
  return %b2, %y3, %d, %y2, %pos : tensor<?x4xf32>, tensor<7x4xf32>, index, tensor<7x4xf32>, tensor<4x4xf32>
}

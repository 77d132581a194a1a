shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x6xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %xs) -> (tensor<4x6xf32>) {
    %e = tensor.empty() : tensor<4x6xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    %m = linalg.matmul ins(%a, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
    %t = math.tanh %m : tensor<4x6xf32>
    scf.yield %t : tensor<4x6xf32>
  }
  %u = arith.addf %r, %x : tensor<4x6xf32>
  return %u : tensor<4x6xf32>
}

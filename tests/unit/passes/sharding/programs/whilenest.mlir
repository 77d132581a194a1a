shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>, %n: index) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x6xf32>
  %ws = shard.shard %w to %t : tensor<6x6xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %xs) -> (tensor<4x6xf32>) {
    %p = arith.cmpi eq, %i, %c0 : index
    %k = scf.if %p -> (tensor<4x6xf32>) {
      %e = tensor.empty() : tensor<4x6xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      %m = linalg.matmul ins(%a, %ws : tensor<4x6xf32>, tensor<6x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
      scf.yield %m : tensor<4x6xf32>
    } else {
      %c = arith.constant dense<2.0> : tensor<4x6xf32>
      %m = arith.mulf %a, %c : tensor<4x6xf32>
      scf.yield %m : tensor<4x6xf32>
    }
    scf.yield %k : tensor<4x6xf32>
  }
  return %r : tensor<4x6xf32>
}

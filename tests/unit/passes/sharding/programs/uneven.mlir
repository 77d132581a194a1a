shard.grid @g(shape = 3)
func.func @f(%x: tensor<7x5xf32>, %w: tensor<5x5xf32>, %b: tensor<7xf32>) -> tensor<7xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %t : tensor<7x5xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x5xf32>
  %o = linalg.fill ins(%z : f32) outs(%e : tensor<7x5xf32>) -> tensor<7x5xf32>
  %r = linalg.matmul ins(%xs, %w : tensor<7x5xf32>, tensor<5x5xf32>) outs(%o : tensor<7x5xf32>) -> tensor<7x5xf32>
  %rs = shard.shard %r to %s : tensor<7x5xf32>
  %q = linalg.reduce ins(%rs : tensor<7x5xf32>) outs(%b : tensor<7xf32>) dimensions = [1]
    (%a: f32, %c: f32) {
      %d = arith.addf %a, %c : f32
      linalg.yield %d : f32
    }
  return %q : tensor<7xf32>
}

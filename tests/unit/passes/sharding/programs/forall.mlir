shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x6xf32>) {
    %sl = tensor.extract_slice %xs[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<1x6xf32>
    %y = math.tanh %sl : tensor<1x6xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%i, 0] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<4x6xf32>
    }
  }
  %q = arith.addf %r, %x : tensor<4x6xf32>
  return %q : tensor<4x6xf32>
}

shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %p: i1, %n: i32) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %k = arith.constant dense<1.0> : tensor<4x4xf32>
  %r = scf.if %p -> (tensor<4x4xf32>) {
    %m = arith.addf %xs, %k : tensor<4x4xf32>
    scf.yield %m : tensor<4x4xf32>
  } else {
    scf.yield %k : tensor<4x4xf32>
  }
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %w:2 = scf.while (%i = %n, %a = %r) : (i32, tensor<4x4xf32>) -> (i32, tensor<4x4xf32>) {
    %c = arith.cmpi sgt, %i, %c0 : i32
    scf.condition(%c) %i, %a : i32, tensor<4x4xf32>
  } do {
  ^bb0(%j: i32, %b: tensor<4x4xf32>):
    %d = arith.subi %j, %c1 : i32
    %q = arith.mulf %b, %k : tensor<4x4xf32>
    scf.yield %d, %q : i32, tensor<4x4xf32>
  }
  return %w#1 : tensor<4x4xf32>
}

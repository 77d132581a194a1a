shard.grid @g(shape = 2)
func.func private @relu(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %m = arith.maximumf %x, %z : tensor<4x4xf32>
  return %m, %y : tensor<4x4xf32>, tensor<4xf32>
}
func.func private @rec(%x: tensor<4x4xf32>, %n: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c = arith.cmpi sgt, %n, %c0 : i32
  %r = scf.if %c -> (tensor<4x4xf32>) {
    %d = arith.subi %n, %c1 : i32
    %k = func.call @rec(%x, %d) : (tensor<4x4xf32>, i32) -> tensor<4x4xf32>
    %q = arith.addf %k, %x : tensor<4x4xf32>
    scf.yield %q : tensor<4x4xf32>
  } else {
    scf.yield %x : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
func.func @f(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x4xf32>
  %r:2 = func.call @relu(%xs, %y) : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %r2:2 = func.call @relu(%r#0, %r#1) : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %c3 = arith.constant 3 : i32
  %q = func.call @rec(%r2#0, %c3) : (tensor<4x4xf32>, i32) -> tensor<4x4xf32>
  return %q, %r2#1 : tensor<4x4xf32>, tensor<4xf32>
}

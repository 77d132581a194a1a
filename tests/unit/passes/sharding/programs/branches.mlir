shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %n: i32) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%x, %n : tensor<4x4xf32>, i32)
^head(%a: tensor<4x4xf32>, %i: i32):
  %c = arith.cmpi sgt, %i, %c0 : i32
  cf.cond_br %c, ^body(%a : tensor<4x4xf32>), ^exit
^body(%b: tensor<4x4xf32>):
  %m = math.tanh %b : tensor<4x4xf32>
  %ms = shard.shard %m to %s : tensor<4x4xf32>
  %d = arith.subi %i, %c1 : i32
  cf.br ^head(%ms, %d : tensor<4x4xf32>, i32)
^exit:
  %q = arith.addf %a, %x : tensor<4x4xf32>
  return %q : tensor<4x4xf32>
}

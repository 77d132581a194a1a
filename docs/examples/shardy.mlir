sdy.mesh @mesh = <["data"=2, "model"=4]>

func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}) -> tensor<8x16xf32> {
  %y = sdy.sharding_constraint %x <@mesh, [{"data"}, {"model":(1)2}]> : tensor<8x16xf32>
  %z = arith.addf %y, %y : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

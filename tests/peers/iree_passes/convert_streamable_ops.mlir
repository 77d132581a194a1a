// builtin.module(iree-abi-convert-streamable-ops)
util.func private @calc_dims(tensor<?xf32>, index) -> index
util.func private @calc(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {iree.abi.streamable, iree.abi.result_dims = @calc_dims}
util.func public @main(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %4 = util.call @calc(%x, %n) : (tensor<?xf32>, index) -> tensor<?xf32>
  util.return %4 : tensor<?xf32>
}
// -----
util.func private @static(%a: tensor<4xf32>, %b: i32) -> %a attributes {iree.abi.streamable, iree.reflection = {x = "y"}}
util.func public @main(%y: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
  %0 = util.call @static(%y, %i) : (tensor<4xf32>, i32) -> %y
  util.return %0 : tensor<4xf32>
}

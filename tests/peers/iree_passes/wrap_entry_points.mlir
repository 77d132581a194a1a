// builtin.module(iree-abi-wrap-entry-points)
// A function of several blocks.
util.func public @choice(%input: tensor<8xf32>, %is_copied: i1) -> tensor<8xf32> {
  cf.cond_br %is_copied, ^copy, ^end(%input : tensor<8xf32>)
^copy:
  %0 = flow.tensor.clone %input : tensor<8xf32>
  cf.br ^end(%0 : tensor<8xf32>)
^end(%output: tensor<8xf32>):
  util.return %output : tensor<8xf32>
}
// -----
// A function may choose its own model, and the text that describes it.
util.func public @fenced(%x: tensor<4xf32>) -> tensor<4xf32> attributes {iree.abi.model = "coarse-fences"} {
  util.return %x : tensor<4xf32>
}
// -----
util.func public @described(%x: tensor<4xf32>) -> tensor<4xf32> attributes {iree.abi.declaration = "four numbers"} {
  util.return %x : tensor<4xf32>
}
// -----
util.func public @consumed(%x: tensor<4xf32> {iree.abi.consume}) -> tensor<4xf32> {
  util.return %x : tensor<4xf32>
}
// -----
// Of functions of others without tensor results, those with side effects are waited for.
util.func private @effects(%x: tensor<4xf32>) -> i32 attributes {iree.abi.model = "coarse-fences"}
util.func private @pure(%x: tensor<4xf32>) -> i32 attributes {iree.abi.model = "coarse-fences", nosideeffects}
util.func private @call_both(%x: tensor<4xf32>) -> (i32, i32) {
  %0 = util.call @effects(%x) : (tensor<4xf32>) -> i32
  %1 = util.call @pure(%x) : (tensor<4xf32>) -> i32
  util.return %0, %1 : i32, i32
}

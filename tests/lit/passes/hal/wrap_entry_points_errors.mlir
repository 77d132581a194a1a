// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-abi-wrap-entry-points

// expected-error @+1 {{stores result #0 in argument #0, expected type !hal.buffer, found tensor<4xf32>}}
util.func public @output(%a: tensor<4xf32> {iree.abi.output = 0 : index}) -> tensor<4xf32> {
  util.return %a : tensor<4xf32>
}

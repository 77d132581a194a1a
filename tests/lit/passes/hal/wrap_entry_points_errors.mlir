// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-abi-wrap-entry-points

// expected-error @+1 {{stores result #0 in argument #0, expected a tensor or !hal.buffer, found i32}}
util.func public @output(%a: i32 {iree.abi.output = 0 : index}, %x: tensor<4xf32>) -> tensor<4xf32> {
  util.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has iree.abi.model = "fences", expected 'sync' or 'coarse-fences'}}
util.func public @model(%x: tensor<4xf32>) -> tensor<4xf32> attributes {iree.abi.model = "fences"} {
  util.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{takes or returns tensor<*xf32>, but only ranked tensors can be buffer views}}
util.func public @unranked(%x: tensor<*xf32>) {
  util.return
}

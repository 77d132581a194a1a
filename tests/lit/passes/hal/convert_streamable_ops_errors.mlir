// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-abi-convert-streamable-ops

// expected-error @+1 {{has a result #0 of type tensor<?xf32>, whose 1 dynamic sizes are not given}}
util.func private @unknown(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {iree.abi.streamable}

// -----

// expected-error @+1 {{has a result #0 of type tensor<?x?xf32>, whose 2 dynamic sizes are not given}}
util.func private @too_few(%a: tensor<?xf32>, %n: index) -> (tensor<?x?xf32> {iree.abi.dims = [1]}) attributes {iree.abi.streamable}

// -----

// expected-error @+1 {{has no argument #0 of type index, which `iree.abi.dims` names}}
util.func private @no_size(%a: i32) -> (tensor<?xf32> {iree.abi.dims = [0]}) attributes {iree.abi.streamable}

// -----

// expected-error @+1 {{names @missing for its sizes, which is no function}}
util.func private @computed(%a: tensor<?xf32>) -> tensor<?xf32> attributes {iree.abi.streamable, iree.abi.result_dims = @missing}
util.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = util.call @computed(%a) : (tensor<?xf32>) -> tensor<?xf32>
  util.return %0 : tensor<?xf32>
}

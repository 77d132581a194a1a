// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-to-stream

util.func public @computes(%a: !hal.buffer_view) -> !hal.buffer_view {
  %0 = hal.tensor.import %a : !hal.buffer_view -> tensor<4xf32>
  // expected-error @+1 {{it has no form in the stream dialect}}
  %1 = math.exp %0 : tensor<4xf32>
  %2 = hal.tensor.export %1 : tensor<4xf32> -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}

// -----

// expected-error @+1 {{its sizes must be known when it is defined}}
util.global private mutable @w : tensor<?xf32>

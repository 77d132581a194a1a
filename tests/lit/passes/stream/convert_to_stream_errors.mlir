// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-to-stream

util.func public @computes(%a: !hal.buffer_view) -> !hal.buffer_view {
  %0 = hal.tensor.import %a : !hal.buffer_view -> tensor<4xf32>
  // expected-error @+1 {{has no form in the stream dialect}}
  %1 = math.exp %0 : tensor<4xf32>
  %2 = hal.tensor.export %1 : tensor<4xf32> -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}

// -----

// expected-error @+1 {{expected static sizes: the global has an initial value, or the program queries sizes that operations do not list}}
util.global private mutable @w : tensor<?xf32>
util.func public @asks() -> index {
  %c0 = arith.constant 0 : index
  %0 = util.global.load @w : tensor<?xf32>
  %1 = tensor.dim %0, %c0 : tensor<?xf32>
  util.return %1 : index
}

// -----

#e = #iree_encoding.testing<>
util.func public @view(%x: tensor<8x4xf32, #e>) -> tensor<8x8xi16, #e> {
  // expected-error @+1 {{an encoding says in which order the elements of one type are: decode the tensor first}}
  %0 = iree_tensor_ext.bitcast %x : tensor<8x4xf32, #e> -> tensor<8x8xi16, #e>
  util.return %0 : tensor<8x8xi16, #e>
}

// -----

tosa.variable @state = dense<1.0> : tensor<2xf32>
func.func @variable() -> tensor<2xf32> {
  // expected-error @+1 {{has no form in the stream dialect: run variables-to-util, which makes globals of variables}}
  %r = tosa.variable_read @state : tensor<2xf32>
  return %r : tensor<2xf32>
}

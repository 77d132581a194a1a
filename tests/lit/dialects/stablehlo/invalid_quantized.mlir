// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected operand 0 to have elements that are floats or complex numbers or quantised numbers}}
  %0 = stablehlo.tanh %a : tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  return
}

// -----

func.func @stored(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{beside !quant.uniform<i8:f32, 0.5>, got !quant.uniform<i16:f32, 0.5>}}
  %0 = stablehlo.abs %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i16:f32, 0.5>>
  return
}

// -----

func.func @slices(%a: tensor<3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected a scale for each of 3 slices in dimension 0}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<3xf32>
  return
}

// -----

func.func @transposed(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected the axis of the scales to be permuted}}
  %0 = stablehlo.transpose %a, dims = [0, 1] : (tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  return
}

// -----

func.func @reshaped(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{expected the same scales of operand and result}}
  %0 = stablehlo.reshape %a : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @reshaped_axis(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected as many slices before the axis of the scales}}
  %0 = stablehlo.reshape %a : (tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  return
}

// -----

func.func @broadcast(%a: tensor<1x!quant.uniform<i8:f32:0, {0.1}>>) {
  // expected-error @+1 {{expected the same scales of operand and result}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<1x!quant.uniform<i8:f32:0, {0.1}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  return
}

// -----

func.func @broadcast_axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected the axis of the scales to be mapped}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  return
}

// -----

func.func @expressed(%a: tensor<2xf64>) {
  // expected-error @+1 {{expected numbers that stand for f64}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf64>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @factors(%a: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x2xf32>) {
  // expected-error @+1 {{expected a quantised rhs, lhs and result both quantised or neither}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @zero_point(%a: tensor<2x2xf32>, %b: tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>) {
  // expected-error @+1 {{expected zero points of rhs to be 0}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x2xf32>
  return
}

// -----

func.func @contracted(%a: tensor<2x2xf32>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected scales of rhs along another dimension}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x2xf32>
  return
}

// -----

func.func @features(%a: tensor<2x2xf32>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{expected scales along the dimension of the output features}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x2xf32>
  return
}

// -----

func.func @sum(%a: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %b: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{expected a result with scales along the axis of the operands}}
  %0 = stablehlo.add %a, %b : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  return
}

// -----

func.func @body(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %z: tensor<!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{expected argument 0 of the body to have elements that}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<f32>
  return
}

// -----

func.func @real(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{expected numbers that stand for f32}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf64>
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Operands and attributes of kinds that tosa does not have.

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op reduce axis must not be negative}}
  %r = tosa.reduce_sum %x {axis = -1 : i32} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op attribute 'axis' failed to satisfy constraint: expected numbers of type i32, found 1 : i64}}
  %r = tosa.reduce_sum %x {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.transpose' op attribute 'perms' failed to satisfy constraint: expected numbers of type i32, found array<i64: 1, 0>}}
  %r = tosa.transpose %x {perms = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'tosa.exp' op expected a ranked tensor, but got 'f32'}}
  %r = tosa.exp %f : (f32) -> f32
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.clamp' op requires attribute 'max_val'}}
  %r = tosa.clamp %x {min_val = 0.0 : f32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{expected one of PROPAGATE, IGNORE}}
  %r = tosa.clamp %x {min_val = 0.0 : f32, max_val = 1.0 : f32, nan_mode = FOO} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tosa.concat' op expected at least one operand}}
  %r = tosa.concat {axis = 0 : i32} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.exp' op expected 1 results, but found 2}}
  %r:2 = tosa.exp %x : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @f(%p: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'tosa.max_pool2d' op expected 4 numbers in 'pad', got 2}}
  %r = tosa.max_pool2d %p {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @f(%p: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'tosa.max_pool2d' op expected positive strides and dilations and no negative padding}}
  %r = tosa.max_pool2d %p {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 0, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @f(%p: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'tosa.max_pool2d' op expect all kernel values to be >= 1, got 0, 2}}
  %r = tosa.max_pool2d %p {kernel = array<i64: 0, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'tosa.reshape' op operand #1 must be a tosa shape, but got 'tensor<4x4xf32>'}}
  %r = tosa.reshape %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{'tosa.matmul' op expected operands of rank 3, got 2 and 2}}
  %r = tosa.matmul %x, %x, %s, %s : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi32>, %s: tensor<2xi8>) {
  // expected-error @+1 {{'tosa.mul' op operand #2 must be a tensor of one element, but got 'tensor<2xi8>'}}
  %r = tosa.mul %x, %x, %s : (tensor<4xi32>, tensor<4xi32>, tensor<2xi8>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi32>, %m: tensor<1xi32>, %s: tensor<1xi8>, %z: tensor<2xi32>, %y: tensor<1xi8>) {
  // expected-error @+1 {{'tosa.rescale' op operand #3 must be a tensor of one element, but got 'tensor<2xi32>'}}
  %r = tosa.rescale %x, %m, %s, %z, %y {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<2xi32>, tensor<1xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @zero_point(%x: tensor<4xf32>, %z: tensor<1xi8>, %o: tensor<1xf32>) {
  // expected-error @+1 {{expect a tensor and its zero point to have same element type, got 'f32' and 'i8'}}
  %r = tosa.negate %x, %z, %o : (tensor<4xf32>, tensor<1xi8>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @zero_point_of_rank_0(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{operand #1 must be a tensor of one element, but got 'tensor<f32>'}}
  %r = tosa.negate %x, %z, %z : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @accumulator(%x: tensor<1x4x4x2xi8>, %z: tensor<1xi8>) {
  // expected-error @+1 {{accumulator type for i8 tensor is not i32}}
  %r = tosa.avg_pool2d %x, %z, %z {acc_type = f32, kernel = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x2xi8>
  return
}

// -----

func.func @accumulator_of_halves(%x: tensor<1x4x4x2xbf16>, %w: tensor<3x1x1x2xbf16>, %b: tensor<3xbf16>, %z: tensor<1xbf16>) {
  // expected-error @+1 {{accumulator type for bf16 tensor is not f32}}
  %r = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f16, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xbf16>, tensor<3x1x1x2xbf16>, tensor<3xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1x4x4x3xbf16>
  return
}

// -----

func.func @factors(%x: tensor<1x4x4x2xf32>, %w: tensor<3x1x1x2xi8>, %b: tensor<3xf32>, %z: tensor<1xf32>, %v: tensor<1xi8>) {
  // expected-error @+1 {{expect both input and weight to be float or not together, got 'f32' and 'i8'}}
  %r = tosa.conv2d %x, %w, %b, %z, %v {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xi8>, tensor<3xf32>, tensor<1xf32>, tensor<1xi8>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @bias(%x: tensor<1x4x4x2xf32>, %w: tensor<3x1x1x2xf32>, %b: tensor<3xf16>, %z: tensor<1xf32>) {
  // expected-error @+1 {{expect both bias and result to have same element type, got 'f16' and 'f32'}}
  %r = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xf32>, tensor<3xf16>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @maximum(%x: tensor<1x4x4x2xf32>) {
  // expected-error @+1 {{expect input and output to have same element type, got 'f32' and 'i8'}}
  %r = tosa.max_pool2d %x {kernel = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xi8>
  return
}

// -----

func.func @nan(%x: tensor<4xf32>) {
  // expected-error @+1 {{min/max attributes should not be 'NaN'}}
  %r = tosa.clamp %x {min_val = 0x7FC00000 : f32, max_val = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @product(%x: tensor<4xf32>, %s: tensor<1xi8>) {
  // expected-error @+1 {{requires the same element type for all operands and results}}
  %r = tosa.mul %x, %x, %s : (tensor<4xf32>, tensor<4xf32>, tensor<1xi8>) -> tensor<4xi32>
  return
}

// -----

func.func @table(%x: tensor<4xi8>, %t: tensor<1x256xi8>) {
  // expected-error @+1 {{operand #1 must have rank 1, got 'tensor<1x256xi8>'}}
  %r = tosa.table %x, %t : (tensor<4xi8>, tensor<1x256xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @multiplier(%x: tensor<2x3xi8>, %m: tensor<1xi32>, %s: tensor<1xi8>, %z: tensor<1xi8>) {
  // expected-error @+1 {{expect shape of { 3 } for multiplier input, got { 1 }}}
  %r = tosa.rescale %x, %m, %s, %z, %z {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<2x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3xi8>
  return
}

// -----

func.func @wide_multiplier(%x: tensor<2x3xi8>, %m: tensor<1xi32>, %s: tensor<1xi8>, %z: tensor<1xi8>) {
  // expected-error @+1 {{expect i16 elements of the multiplier, got 'tensor<1xi32>'}}
  %r = tosa.rescale %x, %m, %s, %z, %z {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false} : (tensor<2x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3xi8>
  return
}

// -----

func.func @rescaled(%x: tensor<2x3xi8>, %m: tensor<1xi32>, %s: tensor<1xi8>, %z: tensor<1xi8>) {
  // expected-error @+1 {{expected output and output_zp to both be integer of the same bitwidth, but got 'i16' vs. 'i8'}}
  %r = tosa.rescale %x, %m, %s, %z, %z {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<2x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3xi16>
  return
}

// -----

func.func @number_for_flag(%x: tensor<1x4x8xf32>) {
  // expected-error @+1 {{attribute 'inverse' failed to satisfy constraint}}
  %r, %i = tosa.fft2d %x, %x {inverse = 0 : i32} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @gathered(%x: tensor<2x5x3xf32>, %i: tensor<2x4xi32>) {
  // expected-error @+1 {{expect input and output to have same element type, got 'f32' and 'i32'}}
  %r = tosa.gather %x, %i : (tensor<2x5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xi32>
  return
}

// -----

func.func @scattered(%x: tensor<2x5x3xf32>, %i: tensor<2x4xi32>, %u: tensor<2x3x3xf32>) {
  // expected-error @+1 {{requires indices of shape '2, 3', got '2, 4'}}
  %r = tosa.scatter %x, %i, %u : (tensor<2x5x3xf32>, tensor<2x4xi32>, tensor<2x3x3xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @constant() {
  // expected-error @+1 {{expected same attr/result element types}}
  %r = "tosa.const"() {values = dense<1> : tensor<1xi32>} : () -> tensor<1xf32>
  return
}

// -----

func.func @condition(%i: tensor<i32>) {
  // expected-error @+1 {{'cond_graph' result must be a boolean tensor, got 'tensor<i32>'}}
  %r = tosa.while_loop (%x = %i) : (tensor<i32>) -> tensor<i32> {
    tosa.yield %x : tensor<i32>
  } do {
  ^bb0(%y: tensor<i32>):
    tosa.yield %y : tensor<i32>
  }
  return
}

// -----

func.func @height(%x: tensor<1x5x4x2xf32>, %w: tensor<3x2x2x2xf32>, %b: tensor<3xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{calculated output height did not match expected: calculated=6, expected=5}}
  %r = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x5x4x2xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x5x5x3xf32>
  return
}

// -----

func.func @out_pad(%x: tensor<1x5x4x2xf32>, %w: tensor<3x2x2x2xf32>, %b: tensor<3xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{expected out_pad > -2, but got [-2, 0]}}
  %r = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: -2, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x5x4x2xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x5x4x2xf32>, %w: tensor<3x2x2x2xf32>, %b: tensor<3xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{expect all stride values to be >= 1, got [1, 0]}}
  %r = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 0>} : (tensor<1x5x4x2xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x5x3xf32>
  return
}

// -----

func.func @bias(%x: tensor<1x4x4x2xf32>, %w: tensor<1x1x2x3xf32>, %b: tensor<5xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{bias channels expected to be equal to output channels (6) or 1, got 5}}
  %r = tosa.depthwise_conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<1x1x2x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x6xf32>
  return
}

// -----

func.func @power_of_two(%x: tensor<1x4x6xf32>) {
  // expected-error @+1 {{expected width to be a power of two, got 6}}
  %r, %i = tosa.rfft2d %x : (tensor<1x4x6xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @half(%x: tensor<1x4x8xf32>) {
  // expected-error @+1 {{expected output shape '1, 4, 5', got '1, 4, 8'}}
  %r, %i = tosa.rfft2d %x : (tensor<1x4x8xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @imaginary(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf16>) {
  // expected-error @+1 {{expect all operands and results to have same element type, got 'f32' and 'f16'}}
  %r, %i = tosa.fft2d %x, %y {inverse = false} : (tensor<1x4x8xf32>, tensor<1x4x8xf16>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @two_unknown(%x: tensor<4x6xf32>) {
  %s = tosa.const_shape {values = dense<[-1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // expected-error @+1 {{expected sizes and at most one target dimension to be -1, got '?, ?'}}
  %r = tosa.reshape %x, %s : (tensor<4x6xf32>, !tosa.shape<2>) -> tensor<?x?xf32>
  return
}

// -----

func.func @padding(%x: tensor<4xf32>, %v: tensor<1xf32>) {
  %s = tosa.const_shape {values = dense<[-2, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // expected-error @+1 {{invalid padding values at dimension 0}}
  %r = tosa.pad %x, %s, %v : (tensor<4xf32>, !tosa.shape<2>, tensor<1xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @multiples(%x: tensor<4xf32>) {
  %s = tosa.const_shape {values = dense<[0]> : tensor<1xindex>} : () -> !tosa.shape<1>
  // expected-error @+1 {{expect element of 'multiples' to be positive integer or -1.}}
  %r = tosa.tile %x, %s : (tensor<4xf32>, !tosa.shape<1>) -> tensor<?xf32>
  return
}

// -----

func.func @width(%x: tensor<1x4x4x2xf32>) {
  %s = tosa.const_shape {values = dense<[2, 1, 2, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<[1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // expected-error @+1 {{calculated output width did not match expected: calculated=8, expected=7}}
  %r = tosa.resize %x, %s, %o, %b {mode = BILINEAR} : (tensor<1x4x4x2xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x7x2xf32>
  return
}

// -----

func.func @shape_of_integers() {
  // expected-error @+1 {{expected index elements as 'values'}}
  %s = tosa.const_shape {values = dense<[2]> : tensor<1xi32>} : () -> !tosa.shape<1>
  return
}

// -----

func.func @ranks(%a: !tosa.shape<2>, %b: !tosa.shape<3>) {
  // expected-error @+1 {{expected a result of rank 5, got 4}}
  %s = tosa.concat_shape %a, %b : (!tosa.shape<2>, !tosa.shape<3>) -> !tosa.shape<4>
  return
}

// -----

func.func @axis(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expect axis to be in the range [0, 2), got 2}}
  %s = tosa.dim %x {axis = 2 : i32} : (tensor<4x6xf32>) -> !tosa.shape<1>
  return
}

// -----

func.func @truth(%x: tensor<4xi8>) {
  // expected-error @+1 {{operand #0 must be a tensor of i1 values, but got 'tensor<4xi8>'}}
  %0 = tosa.logical_not %x : (tensor<4xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @truths(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be a tensor of i1 values, but got 'tensor<4xi32>'}}
  %0 = tosa.logical_xor %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @division(%x: tensor<4xi8>) {
  // expected-error @+1 {{operand #0 must be a tensor of i32 or i64 values, but got 'tensor<4xi8>'}}
  %0 = tosa.intdiv %x, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return
}

// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Shapes and attributes that tosa operations cannot have. MLIR 22 lets some of them pass.

func.func @f(%x: tensor<2x4x6xf32>, %y: tensor<4x6xf32>) {
  // expected-error @+1 {{'tosa.add' op operands don't have matching ranks: 3 and 2}}
  %r = tosa.add %x, %y : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %w: tensor<2x3x6xf32>) {
  // expected-error @+1 {{'tosa.add' op operands don't have broadcast-compatible shapes: '2x4x6' and '2x3x6'}}
  %r = tosa.add %x, %w : (tensor<2x4x6xf32>, tensor<2x3x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %i: tensor<2x4x6xi32>) {
  // expected-error @+1 {{'tosa.add' op requires the same element type for all operands and results}}
  %r = tosa.add %x, %i : (tensor<2x4x6xf32>, tensor<2x4x6xi32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.add' op result type '2x4x5' not broadcast compatible with broadcasted operands's shapes '2x4x6'}}
  %r = tosa.add %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.add' op expected 2 operands, but found 1}}
  %r = tosa.add %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.add' op expected 2 operands, but found 3}}
  %r = tosa.add %x, %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.abs' op requires the same shape for all operands and results}}
  %r = tosa.abs %x : (tensor<2x4x6xf32>) -> tensor<2x4x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.abs' op requires the same element type for all operands and results}}
  %r = tosa.abs %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xi32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.equal' op result #0 must be a tensor of i1 values, but got 'tensor<2x4x6xf32>'}}
  %r = tosa.equal %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op expect input tensor rank (3) to be larger than reduce axis (3)}}
  %r = tosa.reduce_sum %x {axis = 3 : i32} : (tensor<2x4x6xf32>) -> tensor<2x1x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op expect reduced dimension size to be 1, got 4}}
  %r = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op expected output shape '2, 1, 6', got '1, 1, 6'}}
  %r = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<1x1x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op expect output tensor rank to be equal to input tensor rank}}
  %r = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reduce_sum' op requires attribute 'axis'}}
  %r = tosa.reduce_sum %x : (tensor<2x4x6xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.transpose' op expected valid permutation indices, got [0, 2, 2]}}
  %r = tosa.transpose %x {perms = array<i32: 0, 2, 2>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.transpose' op expected output tensor dim 1 to match input dim 1 with value of 4}}
  %r = tosa.transpose %x {perms = array<i32: 0, 1, 2>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.transpose' op expected perms attribute to have size 3 (input rank) but got size 2}}
  %r = tosa.transpose %x {perms = array<i32: 0, 1>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{'tosa.matmul' op expected operands N x H x C and N x C x W, got '2x4x6' and '2x4x6'}}
  %r = tosa.matmul %x, %x, %z, %z : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %t: tensor<2x6x4xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{'tosa.matmul' op expected output shape '2, 4, 4', got '2, 4, 6'}}
  %r = tosa.matmul %x, %t, %z, %z : (tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %t: tensor<2x6x4xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{'tosa.matmul' op operand #2 must be a tensor of one element, but got 'tensor<2x4x6xf32>'}}
  %r = tosa.matmul %x, %t, %x, %z : (tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<2x4x6xf32>, tensor<1xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.concat' op requires sum of axis dimensions of input1 equal to output axis dimension, got 8 and 7}}
  %r = tosa.concat %x, %x {axis = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x7x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %t: tensor<2x6x4xf32>) {
  // expected-error @+1 {{'tosa.concat' op expect all operand shapes to have the same sizes on non-axis dimensions, but got 4 vs 6 at index 2 on operands 0 and 1}}
  %r = tosa.concat %x, %t {axis = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x6x4xf32>) -> tensor<2x10x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  %c = tosa.const_shape {values = dense<[8, 5]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // expected-error @+1 {{'tosa.reshape' op cannot reshape 48 elements into 40}}
  %r = tosa.reshape %x, %c : (tensor<2x4x6xf32>, !tosa.shape<2>) -> tensor<8x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  %c = tosa.const_shape {values = dense<[8, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // expected-error @+1 {{'tosa.reshape' op new shape is inconsistent with result shape: '8, 6' and '6, 8'}}
  %r = tosa.reshape %x, %c : (tensor<2x4x6xf32>, !tosa.shape<2>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tosa.const_shape' op expect number of elements in attribute values (2) to be equal to the rank (3) for the result shape type}}
  %c = tosa.const_shape {values = dense<[8, 6]> : tensor<2xindex>} : () -> !tosa.shape<3>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  %c = tosa.const_shape {values = dense<[0, 1, 3]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %d = tosa.const_shape {values = dense<[2, 2, 6]> : tensor<3xindex>} : () -> !tosa.shape<3>
  // expected-error @+1 {{'tosa.slice' op slice runs out of bounds of input dimension 2: 3 + 6 > 6}}
  %r = tosa.slice %x, %c, %d : (tensor<2x4x6xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<2x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  %c = tosa.const_shape {values = dense<[0, 1, 0]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %d = tosa.const_shape {values = dense<[2, 2, 6]> : tensor<3xindex>} : () -> !tosa.shape<3>
  // expected-error @+1 {{'tosa.slice' op expected output shape '2, 2, 6', got '2, 3, 6'}}
  %r = tosa.slice %x, %c, %d : (tensor<2x4x6xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<2x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %z: tensor<1xf32>) {
  %c = tosa.const_shape {values = dense<[0, 1, 0, 0, 0, 0]> : tensor<6xindex>} : () -> !tosa.shape<6>
  // expected-error @+1 {{'tosa.pad' op mismatch in output shape at dimension 0: expected 2 + 0 + 1 = 3, but got 2}}
  %r = tosa.pad %x, %c, %z : (tensor<2x4x6xf32>, !tosa.shape<6>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %z: tensor<1xf32>) {
  %c = tosa.const_shape {values = dense<[0, 1, 0, 0]> : tensor<4xindex>} : () -> !tosa.shape<4>
  // expected-error @+1 {{'tosa.pad' op padding tensor must have 3 * 2 = 6 elements, but got 4}}
  %r = tosa.pad %x, %c, %z : (tensor<2x4x6xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<3x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  %c = tosa.const_shape {values = dense<[1, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  // expected-error @+1 {{'tosa.tile' op expected output shape '2, 8, 6', got '2, 4, 6'}}
  %r = tosa.tile %x, %c : (tensor<2x4x6xf32>, !tosa.shape<3>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %idx: tensor<2x5xi32>) {
  // expected-error @+1 {{'tosa.gather' op requires output dimension 2 to have size 6, got 7}}
  %r = tosa.gather %x, %idx : (tensor<2x4x6xf32>, tensor<2x5xi32>) -> tensor<2x5x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.clamp' op expected min_val <= max_val, got min_val=3.000000e+00 : f32, max_val=1.000000e+00 : f32}}
  %r = tosa.clamp %x {min_val = 3.0 : f32, max_val = 1.0 : f32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.clamp' op min/max attributes types are incompatible with input/output element types: 3 : i32 is not of type f32}}
  %r = tosa.clamp %x {min_val = 3 : i32, max_val = 10 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.reverse' op expect input tensor rank (3) to be larger than reverse axis (4)}}
  %r = tosa.reverse %x {axis = 4 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.select' op operand #0 must be a tensor of i1 values, but got 'tensor<2x4x6xf32>'}}
  %r = tosa.select %x, %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @f(%z: tensor<1xf32>, %im: tensor<1x8x8x3xf32>, %k: tensor<5x3x3x3xf32>, %bias: tensor<5xf32>) {
  // expected-error @+1 {{'tosa.conv2d' op calculated output height did not match expected: calculated=6, expected=7}}
  %r = tosa.conv2d %im, %k, %bias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x7x6x5xf32>
  return
}

// -----

func.func @f(%z: tensor<1xf32>, %im: tensor<1x8x8x3xf32>, %k: tensor<5x3x3x3xf32>, %bias: tensor<5xf32>) {
  // expected-error @+1 {{'tosa.conv2d' op expected input_height - 1 + pads - (kernel_height - 1) * dilation to be wholly divisible by its stride, got (8 - 1 + 0 + 0 - (3 - 1) * 1) / 2}}
  %r = tosa.conv2d %im, %k, %bias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 1>} : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x6x5xf32>
  return
}

// -----

func.func @f(%im: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'tosa.max_pool2d' op expected input_height - 1 + pads - (kernel_height - 1) * dilation to be wholly divisible by its stride, got (8 - 1 + 0 + 0 - (3 - 1) * 1) / 2}}
  %r = tosa.max_pool2d %im {kernel = array<i64: 3, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @f(%im: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'tosa.max_pool2d' op expected output shape '1, 4, 4, 3', got '1, 4, 4, 4'}}
  %r = tosa.max_pool2d %im {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.argmax' op expected output shape '2, 6', got '2, 4, 6'}}
  %r = tosa.argmax %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xi32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>) {
  // expected-error @+1 {{'tosa.cast' op requires the same shape for all operands and results}}
  %r = tosa.cast %x : (tensor<2x4x6xf32>) -> tensor<2x4x7xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tosa.const' op failed to verify that all of {values, output} have same shape: 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "tosa.const"() {values = dense<1.0> : tensor<2xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x6xf32>, %z: tensor<1xf32>) {
  // expected-error @+1 {{'tosa.mul' op operand #2 must be a tensor of i8 values, but got 'tensor<1xf32>'}}
  %r = tosa.mul %x, %x, %z : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @const_of_another_kind() {
  // expected-error @+1 {{expected dense or dense_resource as 'values', but got '3 : i64'}}
  %0 = "tosa.const"() <{values = 3 : i64}> : () -> tensor<1xi64>
  func.return
}

// -----

func.func @f(%x: tensor<2xi32>) {
  %0 = tosa.exp %x : (tensor<2xi32>) -> tensor<2xi32>
  // expected-error @+1 {{'tosa.sin' op operand #0 must be tosa-conformant tensor of floating-point values, but got 'tensor<2xi32>'}}
  %1 = tosa.sin %0 : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2xindex>) {
  // expected-error @+1 {{'tosa.exp' op operand #0 must be tosa-conformant tensor of number values, but got 'tensor<2xindex>'}}
  %0 = tosa.exp %x : (tensor<2xindex>) -> tensor<2xindex>
  return
}

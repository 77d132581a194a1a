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

func.func @f(%x: tensor<4x4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'tosa.matmul' op expected operands of rank 3, got 2 and 2}}
  %r = tosa.matmul %x, %x, %s, %s : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
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

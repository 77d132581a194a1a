// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Shapes that tensor operations cannot have. xDSL lets most of them pass.

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.extract_slice' op slice along dimension 1 runs out-of-bounds: 9 >= 8}}
  %r = tensor.extract_slice %x[0, 2] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.extract_slice' op expected type to be of shape (2, 4) or a rank-reduced version, found (2, 5) (size mismatch)}}
  %r = tensor.extract_slice %x[0, 2] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.extract_slice' op expected 2 offsets, sizes and strides, found 1, 2 and 2}}
  %r = tensor.extract_slice %x[0] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.extract_slice' op expected element type to be 'f32', found 'i32'}}
  %r = tensor.extract_slice %x[0, 2] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x4xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %e1: tensor<3x8xf32>) {
  // expected-error @+1 {{'tensor.insert_slice' op expected type to be of shape (2, 8) or a rank-reduced version, found (3, 8) (size mismatch)}}
  %r = tensor.insert_slice %e1 into %x[0, 0] [2, 8] [1, 1] : tensor<3x8xf32> into tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %e1: tensor<3x8xf32>) {
  // expected-error @+1 {{'tensor.insert_slice' op slice along dimension 0 runs out-of-bounds: 4 >= 4}}
  %r = tensor.insert_slice %e1 into %x[2, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.expand_shape' op expected dimension 1 of collapsed type to be static value of 10}}
  %r = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 5] : tensor<4x8xf32> into tensor<4x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.expand_shape' op expected collapsed rank (2) to equal the number of reassociation maps (1).}}
  %r = tensor.expand_shape %x [[0, 1]] output_shape [4, 8] : tensor<4x8xf32> into tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.collapse_shape' op expected collapsed rank (1) to equal the number of reassociation maps (2).}}
  %r = tensor.collapse_shape %x [[0], [1]] : tensor<4x8xf32> into tensor<32xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.collapse_shape' op expected dimension 0 of collapsed type to be static value of 32}}
  %r = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<31xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{All inner arrays must be contiguous: [[1 : i64, 0 : i64]]}}
  %r = tensor.collapse_shape %x [[1, 0]] : tensor<4x8xf32> into tensor<32xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %v: f32) {
  // expected-error @+1 {{'tensor.pad' op specified type 'tensor<4x11xf32>' does not match the inferred shape (4, 10)}}
  %r = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%a: index, %b: index):
   tensor.yield %v : f32
  } : tensor<4x8xf32> to tensor<4x11xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %v: f32) {
  // expected-error @+1 {{'tensor.pad' op expected the block to have 2 arguments, got 1}}
  %r = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%a: index):
   tensor.yield %v : f32
  } : tensor<4x8xf32> to tensor<4x10xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @+1 {{'tensor.pad' op expected yield type to match shape element type: 'index' is not 'f32'}}
  %r = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%a: index, %b: index):
   tensor.yield %i : index
  } : tensor<4x8xf32> to tensor<4x10xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %v: f32) {
  // expected-error @+1 {{'tensor.pad' op expected amounts and a result for the 2 dimensions of the source, found 1, 2 and 2}}
  %r = tensor.pad %x low[0] high[0, 1] {
  ^bb0(%a: index, %b: index):
   tensor.yield %v : f32
  } : tensor<4x8xf32> to tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.concat' op result type tensor<9x8xf32> does not match inferred shape (8, 8) static sizes}}
  %r = tensor.concat dim(0) %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.concat' op concatenation dim must be less than the tensor rank}}
  %r = tensor.concat dim(2) %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %e1: tensor<3x8xf32>) {
  // expected-error @+1 {{'tensor.concat' op static concatenation size mismatch along non-concatenated dimension 0}}
  %r = tensor.concat dim(1) %x, %e1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @+1 {{'tensor.extract' op incorrect number of indices for extract: has 1, expected 2}}
  %r = tensor.extract %x[%i] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index, %v: f32) {
  // expected-error @+1 {{'tensor.insert' op incorrect number of indices for insert: has 1, expected 2}}
  %r = tensor.insert %v into %x[%i] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @+1 {{expects different type than prior uses: 'f32' vs 'index'}}
  %r = tensor.insert %i into %x[%i, %i] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{'tensor.from_elements' op number of operands and types do not match: got 2 operands for 3 elements}}
  %r = tensor.from_elements %v, %v : tensor<3xf32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{expects different type than prior uses: 'i32' vs 'f32'}}
  %r = tensor.from_elements %v, %v : tensor<2xi32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{expects different type than prior uses: 'i32' vs 'f32'}}
  %r = tensor.splat %v : tensor<4x8xi32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{'tensor.splat' op number of dynamic sizes must equal number of unknown dimensions in result tensor}}
  %r = tensor.splat %v : tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.cast' op source and destination constant dimensions should match}}
  %r = tensor.cast %x : tensor<4x8xf32> to tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.cast' op operand type 'tensor<4x8xf32>' and result type 'tensor<4x8xi32>' are cast incompatible}}
  %r = tensor.cast %x : tensor<4x8xf32> to tensor<4x8xi32>
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'tensor.empty' op incorrect number of dynamic sizes, has 1, expected 0}}
  %r = tensor.empty(%i) : tensor<4x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tensor.empty' op incorrect number of dynamic sizes, has 0, expected 1}}
  %r = tensor.empty() : tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %c = arith.constant dense<[4, 2]> : tensor<2xindex>
  // expected-error @+1 {{'tensor.reshape' op source and destination tensor should have the same number of elements: 32 and 40}}
  %r = tensor.reshape %x(%c) : (tensor<4x8xf32>, tensor<2xindex>) -> tensor<8x5xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'bufferization.alloc_tensor' op incorrect number of dynamic sizes, has 0, expected 1}}
  %r = bufferization.alloc_tensor() : tensor<?x8xf32>
  return
}

// -----

func.func @f(%e1: tensor<3x8xf32>) {
  // expected-error @+1 {{expects different type than prior uses: 'tensor<4x8xf32>' vs 'tensor<3x8xf32>'}}
  %r = bufferization.alloc_tensor() copy(%e1) : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.collapse_shape' op expected sizes of 1 around rank 0, found (4, 8)}}
  %r = tensor.collapse_shape %x [] : tensor<4x8xf32> into tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.expand_shape' op expected output shape dim 1 to be 4, found 2}}
  %r = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x4x2xf32>
  return
}

// -----

func.func @reshaped_count(%a: tensor<8xf32>, %s: tensor<2xindex>) {
  // expected-error @+1 {{source and destination tensor should have the same number of elements: 8 and 6}}
  %0 = tensor.reshape %a(%s) : (tensor<8xf32>, tensor<2xindex>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reshaped_rank(%a: tensor<8xf32>, %s: tensor<3xindex>) {
  // expected-error @+1 {{length of shape operand differs from the result's tensor rank: 3 and 2}}
  %0 = tensor.reshape %a(%s) : (tensor<8xf32>, tensor<3xindex>) -> tensor<2x?xf32>
  return
}

// -----

func.func @reshaped_dynamically(%a: tensor<8xf32>, %s: tensor<?xindex>) {
  // expected-error @+1 {{cannot use shape operand with dynamic length to reshape to statically-ranked tensor type}}
  %0 = tensor.reshape %a(%s) : (tensor<8xf32>, tensor<?xindex>) -> tensor<2x?xf32>
  return
}

// -----

func.func @expanded_dynamically(%a: tensor<8xf32>, %i: index) {
  // expected-error @+1 {{expected dimension 0 of collapsed type to be dynamic since one or more of the corresponding dimensions in the expanded type is dynamic}}
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [2, %i] : tensor<8xf32> into tensor<2x?xf32>
  return
}

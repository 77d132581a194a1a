// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected `ragged_dim` to be less than 2}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(5) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<5>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected result rank to be 3}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x?xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<2x2xi32>, %n: index) {
  // expected-error @+1 {{expected `column_lengths` to be of rank 1}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<2x2xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected result type to have an encoding attribute}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x?x4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{`ragged_dim` value of 1 and `raggedRow` value in the sparse encoding 0}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(1) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{invalid to have static dimensions for `column_lengths`}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) num_ragged_rows(%n) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<?x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{invalid to have static value for dimension 0 of result}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) num_ragged_rows(%n) : (tensor<8x4xf32>, tensor<?xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{expected shape of `column_lengths` to be static and greater than 1}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<?xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected shape of dimension 0 of result, i.e. the `ragged_dim`, to be static and equal to 3}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<5x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected dimension 1 of result, i.e. `ragged_dim` + 1, to be dynamic}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x3x4xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<8x4xf32>, %l: tensor<4xi32>, %n: index) {
  // expected-error @+1 {{expected shape of dimension 2 of result to match the shape of dimension 1 of source, but got 5 and 4}}
  %0 = iree_tensor_ext.cast_to_ragged_shape %a ragged_dim(0) column_lengths(%l) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<3x?x5xf32, #iree_tensor_ext.ragged_shape<0>>
  func.return
}

// -----

func.func @f(%a: tensor<3x?x4xf32>, %n: index) {
  // expected-error @+1 {{expected source type to have a ragged tensor encoding}}
  %0 = iree_tensor_ext.linearize_ragged_dims %a : tensor<3x?x4xf32> -> tensor<?x4xf32>{%n}
  func.return
}

// -----

func.func @f(%a: tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>, %n: index) {
  // expected-error @+1 {{expected result rank to be 2}}
  %0 = iree_tensor_ext.linearize_ragged_dims %a : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>> -> tensor<?xf32>{%n}
  func.return
}

// -----

func.func @f(%a: tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<2>>, %n: index) {
  // expected-error @+1 {{the source has no dimensions 2 and 3}}
  %0 = iree_tensor_ext.linearize_ragged_dims %a : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<2>> -> tensor<3x?xf32>{%n}
  func.return
}

// -----

func.func @f(%a: tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>, %n: index) {
  // expected-error @+1 {{expected result type to have no encoding}}
  %0 = iree_tensor_ext.linearize_ragged_dims %a : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>> -> tensor<?x4xf32, #iree_tensor_ext.ragged_shape<0>>{%n}
  func.return
}

// -----

func.func @f(%a: tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>, %n: index) {
  // expected-error @+1 {{expected source dimension 2 with size 4 to be preserved in result dimension 1 but got size 5}}
  %0 = iree_tensor_ext.linearize_ragged_dims %a : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>> -> tensor<?x5xf32>{%n}
  func.return
}

// -----

func.func @f(%a: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x4xf32>>, %t: tensor<3x4xf32>) {
  // expected-error @+1 {{expected type to be of shape (1, 4) or a rank-reduced version, found (3, 4)}}
  iree_tensor_ext.dispatch.tensor.store %t, %a, offsets = [0, 0], sizes = [1, 4], strides = [1, 1] : tensor<3x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x4xf32>>
  func.return
}

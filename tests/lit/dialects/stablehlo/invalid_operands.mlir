// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @vector_as_start(%a: tensor<4xf32>, %i: tensor<1xi32>) {
  // expected-error @+1 {{expected operand 1 to have rank 0, got tensor<1xi32>}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xf32>, tensor<1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @two_types_of_starts(%a: tensor<4x4xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @+1 {{requires the same element type, got i32 and i64}}
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @how_many_sizes(%a: tensor<4xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{expected operand 1 to have rank 1 and a known shape, got tensor<?xi32>}}
  %0 = stablehlo.dynamic_reshape %a, %n : (tensor<4xf32>, tensor<?xi32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @unknown_result(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected result 0 to have a known shape, got tensor<?xf32>}}
  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @wide_integer(%a: tensor<4xi128>) {
  // expected-error @+1 {{expected operand 0 to have elements that are}}
  %0 = stablehlo.add %a, %a : tensor<4xi128>
  return
}

// -----

func.func @sign_of_unsigned(%a: tensor<4xui8>) {
  // expected-error @+1 {{expected operand 0 to have elements that are signed integers or floats}}
  %0 = stablehlo.sign %a : tensor<4xui8>
  return
}

// -----

func.func @erf_of_integers(%a: tensor<4xi32>) {
  // expected-error @+1 {{expected operand 0 to have elements that are floats, got tensor<4xi32>}}
  %0 = chlo.erf %a : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @no_exponent(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 'exponent_bits' to be an i32 of at least 1, got 0 : i32}}
  %0 = stablehlo.reduce_precision %a, format = e0m3 : tensor<4xf32>
  return
}

// -----

func.func @unsorted(%a: tensor<2x4x9xi32>, %i: tensor<5x2xi32>) {
  // expected-error @+1 {{expected collapsed_slice_dims to be sorted, got [1, 0]}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<2x4x9xi32>, tensor<5x2xi32>) -> tensor<5x8xi32>
  return
}

// -----

func.func @batches(%a: tensor<2x4xi32>, %i: tensor<3x1xi32>) {
  // expected-error @+1 {{expected batching dimensions of the same sizes in operand and indices, got [2] and [3]}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x4xi32>, tensor<3x1xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @members(%a: tensor<f32>) {
  // expected-error @+1 {{expected a tuple of (tensor<f32>), got tuple<tensor<i32>>}}
  %0 = "stablehlo.tuple"(%a) : (tensor<f32>) -> tuple<tensor<i32>>
  return
}

// -----

func.func @typed_ffi(%a: tensor<f32>) {
  // expected-error @+1 {{expected 'backend_config' of version 4 to be a dictionary, got "x"}}
  %0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = "x"} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @hint(%a: tensor<1xf32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{expected known dimensions of the operand to be in [0, 1), got 3}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [1] {known_expanding_dimensions = array<i64: 3>} : (tensor<1xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @contracted(%a: tensor<11x5xf32>, %b: tensor<3x2x7xf32>, %n: tensor<3xi64>) {
  // expected-error @+1 {{expected dimensions [1] of lhs and [1] of rhs to have the same sizes, got (5,) and (2,)}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x2x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @matrices(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{expected 2 matrices, one for each group, got 3}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<2xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @like(%a: tensor<2xi64>) {
  // expected-error @+1 {{expected a value of type i32, got 3.200000e+00 : f32}}
  %0 = "chlo.constant_like"(%a) {value = 3.2 : f32} : (tensor<2xi64>) -> tensor<2xi32>
  return
}

// -----

func.func @broadcast(%a: tensor<4xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{expected result 0 to have shape 2, 4, got 2, 5}}
  %0 = "chlo.broadcast_add"(%a, %b) {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @no_list(%t: !stablehlo.token) {
  // expected-error @+1 {{expected a layout to be a list of numbers, got 0 : i64}}
  %0:2 = "stablehlo.infeed"(%t) {layout = [0]} : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
  return
}

// -----

func.func @no_number(%t: !stablehlo.token) {
  // expected-error @+1 {{expected a layout to be a list of numbers, got ["a"]}}
  %0:2 = "stablehlo.infeed"(%t) {layout = [["a"]]} : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
  return
}

// -----

func.func @no_tensor(%a: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{expected operand 1 to be a tensor, got index}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, index) -> tensor<2xf32>
  return
}

// -----

func.func @shifted_floats(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected operand 0 to have elements that are integers, got tensor<4xf32>}}
  %0 = chlo.broadcast_shift_left %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rooted(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected the body to return 1 values, got 2}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @results(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a result for each of 1 operands, got 2}}
  %0:2 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @word(%a: tensor<4xf32>) {
  // expected-error @+1 {{stablehlo.comparison_direction}}
  %0 = "stablehlo.compare"(%a, %a) <{comparison_direction = "LESS"}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @factors(%a: tensor<1x8x3xi32>, %k: tensor<3x3x4xf32>) {
  // expected-error @+1 {{requires the same element type, got i32 and f32}}
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3xi32>, tensor<3x3x4xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @window_twice(%a: tensor<1x8x3xf32>, %k: tensor<3x3x4xf32>) {
  // expected-error @+1 {{found stride twice}}
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x3x4xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @padding(%a: tensor<1x8x3xf32>, %k: tensor<3x3x4xf32>, %p: tensor<2x2xi32>) {
  // expected-error @+1 {{expected 1 pairs of padding, got tensor<2x2xi32>}}
  %0 = stablehlo.dynamic_conv(%a, %k, %p) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x3x4xf32>, tensor<2x2xi32>) -> tensor<1x?x4xf32>
  return
}

// -----

func.func @spectrum(%a: tensor<8xf32>) {
  // expected-error @+1 {{expected complex numbers of f32, got complex<f64>}}
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f64>>
  return
}

// -----

func.func @signal(%a: tensor<5xcomplex<f32>>) {
  // expected-error @+1 {{expected complex numbers of complex<f32>, got complex<f32>}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @slice_sizes(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expected 2 slice sizes, got tensor<3xi32>}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @parts(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @+1 {{requires the same element type, got f32 and f64}}
  %0 = stablehlo.complex %a, %b : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @quantised(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected result 0 to have elements that are quantised numbers or numbers quantised along an axis}}
  %0 = stablehlo.uniform_quantize %a : tensor<4xf32>
  return
}

// -----

func.func @kept(%a: tensor<4x2xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{expected result 0 to have shape 4, ?, got 3, ?}}
  %0 = stablehlo.set_dimension_size %a, %n, dim = 1 : (tensor<4x2xf32>, tensor<i32>) -> tensor<3x?xf32>
  return
}

// -----

// expected-error @+1 {{expected a bound or '?' for each dynamic size}}
func.func @bounds(%a: tensor<?xf32, #stablehlo.bounds<3, 4>>)

// -----

// expected-error @+1 {{expected a bound or '?' for each dynamic size}}
func.func @bound_of_known_size(%a: tensor<3xf32, #stablehlo.bounds<3>>)

// -----

func.func @called(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected symbols in 'called_computations', got "f"}}
  %0 = stablehlo.custom_call @f(%a) {called_computations = ["f"]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layout(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a permutation of 1 dimensions, got dense<0> : tensor<1xi64>}}
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<0> : tensor<1xi64>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected an operand below 1 in an alias, got 1}}
  %0 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected an alias of one type, got tensor<4xf32> and tensor<5xf32>}}
  %0:2 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @alias_member(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a tuple with an element 0, got tensor<4xf32>}}
  %0 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @narrow_dimensions(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'permutation' must be}}
  %0 = "stablehlo.transpose"(%a) <{permutation = array<i32: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @narrow_dimension() {
  // expected-error @+1 {{attribute 'iota_dimension' must be}}
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i32}> : () -> tensor<2xf32>
  return
}

// -----

func.func @other_length(%a: tensor<3x9xcomplex<f32>>) {
  // expected-error @+1 {{expected lengths 9, got 8}}
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
  return
}
